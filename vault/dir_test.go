package vault

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"stowage/farm"
)

func newDir(t *testing.T) (*directory, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vault")
	must(t, os.Mkdir(path, 0o700))
	return &directory{path: path, level: 1}, path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v (hint: %s)", err, farm.Hint(err))
	}
}

func bytesOf(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// kept is a whole set with one part of 300,000 bytes.
func kept(t *testing.T, v Vault, set string) Manifest {
	t.Helper()
	p, err := v.Put(t.Context(), set, "base.xb", bytesOf(pattern(300_000)))
	must(t, err)
	m := Manifest{FormatVersion: Format, Set: set, Parts: []Part{p}, About: []byte(`{"gtid":"0-1-42"}`)}
	must(t, v.Seal(t.Context(), m, map[string]string{"RESTORE.txt": "zstd -dc base.xb.zst | mbstream -x\n"}))
	return m
}

func TestPlainToolsReadADirectory(t *testing.T) {
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip("NOT TESTED: zstd is not installed")
	}
	v, path := newDir(t)
	kept(t, v, "shop1/full")
	out, err := exec.Command("sh", "-ec", "cd "+path+"/shop1/full && sha256sum --strict -c SHA256SUMS >&2 && zstd -q -t base.xb.zst && zstd -dc base.xb.zst").Output()
	if must(t, err); !bytes.Equal(out, pattern(300_000)) {
		t.Errorf("zstd gives %d bytes", len(out))
	}
	must(t, filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		must(t, err)
		if info, _ := d.Info(); info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %s", p, info.Mode())
		}
		return nil
	}))
}

func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: a full disk; to mount a small one needs root")
	}
	v, path := newDir(t)
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, "size=4m,mode=700"); err != nil {
		t.Skipf("NOT TESTED: a full disk: %v", err)
	}
	defer func() { must(t, unix.Unmount(path, 0)) }()
	m := kept(t, v, "shop1/before")
	random := make([]byte, 20<<20)
	f, err := os.Open("/dev/urandom")
	must(t, err)
	_, err = io.ReadFull(f, random)
	must(t, errors.Join(err, f.Close()))
	before, err := v.Free(t.Context())
	must(t, err)
	for range 2 {
		_, err = v.Put(t.Context(), "shop1/full", "base.xb", func(w io.Writer) error {
			for at := 0; at < len(random); at += 1 << 20 {
				if _, err := w.Write(random[at : at+1<<20]); err != nil {
					return err
				}
			}
			return nil
		})
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(farm.Hint(err), "remove old backups") {
			t.Errorf("got %v, hint %q", err, farm.Hint(err))
		}
	}
	if after, _ := v.Free(t.Context()); after < before-64<<10 {
		t.Errorf("%d bytes were free, and %d are after a part that did not fit", before, after)
	}
	must(t, v.Drop(t.Context(), "shop1/full"))
	must(t, v.Check(t.Context(), m.Set))
	kept(t, v, "shop1/full")

	// So full that the manifest does not fit: no set, and the next attempt ends well.
	p, err := v.Put(t.Context(), "shop1/third", "base.xb", bytesOf(pattern(1000)))
	must(t, err)
	fill, err := os.Create(filepath.Join(path, "fill"))
	must(t, err)
	_, err = io.Copy(fill, bytes.NewReader(random))
	if must(t, fill.Close()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	third := Manifest{FormatVersion: Format, Set: "shop1/third", Parts: []Part{p}}
	if err := v.Seal(t.Context(), third, nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("sealed on a full disk: %v", err)
	}
	sets, err := v.Sets(t.Context(), "")
	if must(t, err); len(sets) != 2 {
		t.Errorf("%d sets", len(sets))
	}
	must(t, os.Remove(fill.Name()))
	must(t, v.Seal(t.Context(), third, nil))
	must(t, v.Check(t.Context(), third.Set))
}

func TestDirectoryIsGone(t *testing.T) {
	v := &directory{path: filepath.Join(t.TempDir(), "not", "mounted"), level: 1}
	_, put := v.Put(t.Context(), "a/b", "base.xb", bytesOf([]byte{1}))
	_, sets := v.Sets(t.Context(), "")
	_, free := v.Free(t.Context())
	for what, err := range map[string]error{"put": put, "sets": sets, "free": free, "drop": v.Drop(t.Context(), "a/b"), "remove": v.Remove(t.Context(), "a/b"),
		"get": v.Get(t.Context(), "a/b", "base.xb", io.Discard), "check": v.Check(t.Context(), "a/b"), "seal": v.Seal(t.Context(), Manifest{FormatVersion: Format, Set: "a/b", Parts: []Part{{Name: "base.xb", File: "base.xb.zst", SHA256: strings.Repeat("0", 64)}}}, nil)} {
		if errors.Is(err, ErrNone) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(farm.Hint(err), "mount the file system") {
			t.Errorf("%s: %v, hint %q", what, err, farm.Hint(err))
		}
	}
	if _, err := os.Stat(filepath.Dir(v.path)); err == nil {
		t.Error("the directory was made, perhaps on the disk below a file system that is not mounted")
	}
}

// TestOthersFiles: what somebody else has prepared is neither followed, nor written over, nor removed.
func TestOthersFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("kept"), 0o600))
	for what, prepare := range map[string]func(path string) error{
		"a link for the instance": func(path string) error { return os.Symlink(filepath.Dir(secret), filepath.Join(path, "shop1")) },
		"a link for the set": func(path string) error {
			return errors.Join(os.Mkdir(filepath.Join(path, "shop1"), 0o700), os.Symlink(filepath.Dir(secret), filepath.Join(path, "shop1/full.partial")))
		},
		"a link for the part": func(path string) error {
			return errors.Join(os.MkdirAll(filepath.Join(path, "shop1/full.partial"), 0o700), os.Symlink(secret, filepath.Join(path, "shop1/full.partial/base.xb.zst")))
		},
		"a file for the set": func(path string) error {
			return errors.Join(os.Mkdir(filepath.Join(path, "shop1"), 0o700), os.WriteFile(filepath.Join(path, "shop1/full"), []byte("theirs"), 0o600))
		},
		"a directory for the set": func(path string) error { return os.MkdirAll(filepath.Join(path, "shop1/full"), 0o700) },
		"a directory for the part": func(path string) error {
			return os.MkdirAll(filepath.Join(path, "shop1/full.partial/base.xb.zst/theirs"), 0o700)
		},
		"a directory that all may write to": func(path string) error {
			return errors.Join(os.Mkdir(filepath.Join(path, "shop1"), 0o700), os.Chmod(filepath.Join(path, "shop1"), 0o777))
		},
		"a directory of somebody else's": func(path string) error {
			if os.Geteuid() != 0 {
				return os.Chmod(path, 0o500) // cannot be given away: refused in another way
			}
			return errors.Join(os.Mkdir(filepath.Join(path, "shop1"), 0o700), os.Chown(filepath.Join(path, "shop1"), 65534, 65534))
		},
		"a set for the instance": func(path string) error {
			return errors.Join(os.Mkdir(filepath.Join(path, "shop1"), 0o700), os.WriteFile(filepath.Join(path, "shop1/manifest.json"), []byte("{}"), 0o600))
		},
	} {
		v, path := newDir(t)
		must(t, prepare(path))
		before := listing(t, path)
		if p, err := v.Put(t.Context(), "shop1/full", "base.xb", bytesOf([]byte{1})); err == nil {
			t.Errorf("%s: a part was kept as %+v", what, p)
		}
		if after := listing(t, path); after != before {
			t.Errorf("%s: before\n%safterwards\n%s", what, before, after)
		}
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "kept" {
		t.Errorf("the file behind the link has %q, %v", got, err)
	}
}

func listing(t *testing.T, path string) string {
	t.Helper()
	var out strings.Builder
	must(t, filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		fmt.Fprintln(&out, strings.TrimPrefix(p, path), d.Type())
		return err
	}))
	return out.String()
}

// TestManifestsThatLie: whoever can write there can write sums that fit. What does not fit then is the parts.
func TestManifestsThatLie(t *testing.T) {
	for what, c := range map[string]struct {
		from, to string
		listed   bool // only reading the parts tells
	}{
		"shorter":         {`"raw_bytes": 300000`, `"raw_bytes": 299999`, true},
		"longer":          {`"raw_bytes": 300000`, `"raw_bytes": 300001`, true},
		"negative":        {`"raw_bytes": 300000`, `"raw_bytes": -1`, false},
		"too much":        {`"raw_bytes": 300000`, `"raw_bytes": 9999999999999999999`, false},
		"another set":     {`"set": "shop1/full"`, `"set": "shop2/full"`, false},
		"another file":    {`"file": "base.xb.zst"`, `"file": "../../x/base.xb.zst"`, false},
		"another name":    {`"name": "base.xb"`, `"name": "../base.xb"`, false},
		"newer":           {`"format_version": 1`, `"format_version": 2`, false},
		"deep":            {`{"gtid":"0-1-42"}`, strings.Repeat("[", 100) + strings.Repeat("]", 100), false},
		"no JSON":         {`{`, `x`, false},
		"no sum":          {`"sha256": "`, `"sha256": "x`, false},
		"more than it is": {`"bytes": `, `"bytes": 9`, true},
	} {
		v, path := newDir(t)
		kept(t, v, "shop1/full")
		kept(t, v, "shop3/full")
		dir := filepath.Join(path, "shop1/full")
		raw, err := os.ReadFile(filepath.Join(dir, manifestFile))
		must(t, err)
		short := strings.Replace(string(raw), "{\n    \"gtid\": \"0-1-42\"\n  }", `{"gtid":"0-1-42"}`, 1)
		lie := []byte(strings.Replace(short, c.from, c.to, 1))
		if bytes.Equal(raw, lie) || string(lie) == short {
			t.Fatalf("%s: nothing was changed in\n%s", what, raw)
		}
		sums, err := os.ReadFile(filepath.Join(dir, sumsFile))
		must(t, err)
		sums = bytes.Replace(sums, fmt.Appendf(nil, "%x", sha256.Sum256(raw)), fmt.Appendf(nil, "%x", sha256.Sum256(lie)), 1)
		must(t, os.WriteFile(filepath.Join(dir, manifestFile), lie, 0o600))
		must(t, os.WriteFile(filepath.Join(dir, sumsFile), sums, 0o600))
		sets, err := v.Sets(t.Context(), "")
		if c.listed && (err != nil || len(sets) != 2) || !c.listed && (!errors.Is(err, ErrDamaged) || len(sets) != 1 || sets[0].Set != "shop3/full") {
			t.Errorf("%s: %d sets, %v", what, len(sets), err)
		}
		for how, err := range map[string]error{"check": v.Check(t.Context(), "shop1/full"), "get": v.Get(t.Context(), "shop1/full", "base.xb", io.Discard)} {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %s says %v", what, how, err)
			}
		}
	}
}

// TestCutShort: what a kill leaves between two pieces of Seal or Remove is finished by the next.
func TestCutShort(t *testing.T) {
	v, path := newDir(t)
	m := kept(t, v, "shop1/full")
	whole, partial := filepath.Join(path, "shop1/full"), filepath.Join(path, "shop1/full.partial")
	none := func(what string) {
		t.Helper()
		if sets, err := v.Sets(t.Context(), ""); err != nil || len(sets) != 0 {
			t.Errorf("%s: %d sets, %v", what, len(sets), err)
		}
	}
	must(t, os.Rename(whole, partial))
	none("all was written, and not renamed")
	must(t, v.Seal(t.Context(), m, nil))
	must(t, v.Check(t.Context(), m.Set))

	must(t, os.Remove(filepath.Join(whole, manifestFile)))
	none("its manifest was removed")
	must(t, v.Remove(t.Context(), m.Set))
	if got := listing(t, path); got != " d---------\n/shop1 d---------\n" {
		t.Errorf("left:\n%s", got)
	}
	m = kept(t, v, "shop1/full")
	must(t, errors.Join(os.Remove(filepath.Join(whole, manifestFile)), os.Rename(whole, partial)))
	none("it was renamed")
	must(t, v.Remove(t.Context(), m.Set))
	if err := v.Remove(t.Context(), m.Set); !errors.Is(err, ErrNone) {
		t.Errorf("removed twice: %v", err)
	}
	if err := v.Get(context.Background(), m.Set, "base.xb", io.Discard); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}
