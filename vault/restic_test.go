package vault

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
)

// newRestic is a repository that does not exist yet, in a directory.
func newRestic(t *testing.T, at string) *Restic {
	t.Helper()
	if os.Getenv("STOWAGE_SERVERS") == "none" {
		t.Skip("SKIPPED: make check is to be quick")
	}
	if _, err := exec.LookPath("restic"); err != nil {
		t.Skip("NOT TESTED: restic is not installed (scripts/setup.sh test installs it)")
	}
	password := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(password, []byte("a test\n"), 0o600))
	v, err := Open(Place{Restic: at, PasswordFile: password})
	must(t, err)
	r := v.(*Restic)
	r.env = append(r.env, "RESTIC_CACHE_DIR="+t.TempDir())
	return r
}

// TestLocks: a lock of somebody who lives is waited for, one of a dead process is removed.
func TestLocks(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: each call of restic's takes a second")
	}
	t.Parallel()
	r := newRestic(t, filepath.Join(t.TempDir(), "repository"))
	kept(t, r, "shop1/full")
	if !r.Made() {
		t.Error("it does not say that it made the repository")
	}
	lock := func(hold time.Duration) *exec.Cmd { // a backup whose input stays open: its lock keeps forget away
		in, feed, err := os.Pipe()
		must(t, err)
		cmd := exec.Command(r.program, "backup", "-v", "--stdin", "--stdin-filename", "/other")
		watch := &startWatch{ready: make(chan struct{})}
		cmd.Env, cmd.Stdin, cmd.Stdout = r.env, in, watch
		must(t, cmd.Start())
		must(t, in.Close())
		<-watch.ready
		if hold > 0 {
			time.AfterFunc(hold, func() { _, _ = feed.WriteString("the end"); _ = feed.Close() })
		} else {
			t.Cleanup(func() { _ = feed.Close() })
		}
		return cmd
	}
	other := lock(3 * time.Second)
	must(t, r.Drop(t.Context(), "shop1/none")) // nothing to forget
	begin := time.Now()
	must(t, r.Remove(t.Context(), "shop1/full")) // waits for the other's end
	must(t, other.Wait())
	t.Logf("removed after %v", time.Since(begin).Round(time.Millisecond))

	kept(t, r, "shop1/full")
	other = lock(0)
	r.patience = 0
	if err := r.Remove(t.Context(), "shop1/full"); err == nil || !strings.Contains(farm.Hint(err), "restic unlock") {
		t.Errorf("removed beside a backup: %v, hint %q", err, farm.Hint(err))
	}
	if sets, err := r.Sets(t.Context(), ""); err != nil || len(sets) != 1 {
		t.Errorf("%d sets, %v", len(sets), err)
	}
	must(t, other.Process.Kill())
	_ = other.Wait()
	must(t, r.Remove(t.Context(), "shop1/full")) // its lock is one of a dead process now
	must(t, r.Prune(t.Context()))
}

func TestFullRepository(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: half a minute of restic")
	}
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: a full disk; to mount a small one needs root")
	}
	path := t.TempDir()
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, "size=12m,mode=700"); err != nil {
		t.Skipf("NOT TESTED: a full disk: %v", err)
	}
	defer func() { must(t, unix.Unmount(path, 0)) }()
	r := newRestic(t, filepath.Join(path, "repository"))
	kept(t, r, "shop1/before")
	random, err := os.Open("/dev/urandom")
	must(t, err)
	defer random.Close()
	_, err = r.Put(t.Context(), "shop1/full", "base.xb", func(w io.Writer) error { _, err := io.CopyN(w, random, 60<<20); return err })
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(farm.Hint(err), "more room") {
		t.Errorf("a full disk: %v, hint %q", err, farm.Hint(err))
	}
	fill, err := os.Create(filepath.Join(path, "fill"))
	must(t, err)
	_, err = io.Copy(fill, random)
	if must(t, fill.Close()); err == nil {
		t.Fatal("the disk is not full")
	}
	sets, err := r.Sets(t.Context(), "") // no lock can be written
	if must(t, err); len(sets) != 1 || sets[0].Set != "shop1/before" {
		t.Errorf("%+v", sets)
	}
	must(t, r.Check(t.Context(), "shop1/before"))
	must(t, os.Remove(fill.Name()))
	must(t, r.Drop(t.Context(), "shop1/full"))
	must(t, r.Prune(t.Context()))
	kept(t, r, "shop1/full")
}

// TestRepositoryIsNotMadeOverAnother: the file system is not mounted, the directory has something else, or config was lost.
func TestRepositoryIsNotMadeOverAnother(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: each call of restic's takes a second")
	}
	t.Parallel()
	dir := t.TempDir()
	gone := newRestic(t, filepath.Join(dir, "not mounted", "repository"))
	if _, err := gone.Put(t.Context(), "a/b", "base.xb", bytesOf([]byte{1})); err == nil || !strings.Contains(farm.Hint(err), "mount the file system") {
		t.Errorf("%v, hint %q", err, farm.Hint(err))
	}
	if _, err := gone.Free(t.Context()); err == nil {
		t.Error("a file system that is not mounted has room")
	}
	if _, err := gone.Sets(t.Context(), ""); err == nil {
		t.Error("a file system that is not mounted has no sets, and nobody says so")
	}
	r := newRestic(t, filepath.Join(dir, "repository"))
	kept(t, r, "a/b")
	must(t, os.Rename(filepath.Join(dir, "repository/config"), filepath.Join(dir, "config")))
	if _, err := r.Put(t.Context(), "a/c", "base.xb", bytesOf([]byte{1})); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a repository without config: %v", err)
	}
	must(t, os.Rename(filepath.Join(dir, "config"), filepath.Join(dir, "repository/config")))
	must(t, r.Check(t.Context(), "a/b"))
	if free, err := r.Free(t.Context()); err != nil || free <= 0 {
		t.Errorf("%d bytes are free, %v", free, err)
	}
	must(t, os.WriteFile(r.place.PasswordFile, []byte("another\n"), 0o600))
	if _, err := r.Free(t.Context()); err == nil || !strings.Contains(err.Error(), "wrong password") {
		t.Errorf("room with another password: %v", err)
	}
}

// TestTagsAreChangedByAPerson: the snapshot has another id then.
func TestTagsAreChangedByAPerson(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: half a minute of restic")
	}
	t.Parallel()
	r := newRestic(t, filepath.Join(t.TempDir(), "repository"))
	kept(t, r, "a/b")
	must(t, r.run(t.Context(), "tag", "--add", "keep-for-ever", "--tag", "part=base.xb"))
	var out bytes.Buffer
	must(t, r.Get(t.Context(), "a/b", "base.xb", &out))
	if !bytes.Equal(out.Bytes(), pattern(300_000)) {
		t.Errorf("%d bytes", out.Len())
	}
	must(t, r.run(t.Context(), "forget", "--tag", "part=base.xb", "--keep-last", "1", "--group-by", "host"))
	must(t, r.Check(t.Context(), "a/b"))
	all, err := r.snapshots(t.Context(), tagPart+"base.xb")
	must(t, err)
	must(t, r.run(t.Context(), "forget", all[0].ID))
	if err := r.Check(t.Context(), "a/b"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "a/b/base.xb") {
		t.Errorf("its snapshot is gone: %v", err)
	}
}

// TestSealNamesWhatIsThere: a part that restic has not saved is no part of a set, whatever Put was told; what it has saved is known by its id.
func TestSealNamesWhatIsThere(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: ten calls of restic's")
	}
	t.Parallel()
	v := newRestic(t, filepath.Join(t.TempDir(), "repository"))
	p, err := v.Put(t.Context(), "shop1/full", "base.xb", func(w io.Writer) error { _, err := w.Write([]byte("rows")); return err })
	must(t, err)
	for _, file := range []string{"", "AAAAAAAAAAAAAAAAAAAAAAAAAA", strings.Repeat("a", 64)} {
		lost := p
		lost.File = file
		err := v.Seal(t.Context(), Manifest{FormatVersion: Format, Set: "shop1/full", Parts: []Part{lost}}, nil)
		if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "has not been put") {
			t.Errorf("%q: %v", file, err)
		}
	}
	if all, err := v.Sets(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	must(t, v.Seal(t.Context(), Manifest{FormatVersion: Format, Set: "shop1/full", Parts: []Part{p}}, nil))
	all, err := v.Sets(t.Context(), "")
	must(t, err)
	if len(all) != 1 || !isSum(all[0].Parts[0].File) {
		t.Errorf("%+v", all)
	}
}

func TestWrongPassword(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: each call of restic's takes a second")
	}
	t.Parallel()
	at := filepath.Join(t.TempDir(), "repository")
	kept(t, newRestic(t, at), "a/b")
	other := newRestic(t, at)
	must(t, os.WriteFile(lookup(other.env, "RESTIC_PASSWORD_FILE"), []byte("another"), 0o600))
	_, err := other.Put(t.Context(), "a/c", "base.xb", bytesOf([]byte{1}))
	if err == nil || !strings.Contains(farm.Hint(err), "password") {
		t.Errorf("%v, hint %q", err, farm.Hint(err))
	}
}

func TestPlacesThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	password, empty, env := filepath.Join(dir, "password"), filepath.Join(dir, "empty"), filepath.Join(dir, "env")
	must(t, os.WriteFile(password, []byte("x"), 0o600))
	must(t, os.WriteFile(empty, []byte("\n"), 0o600))
	must(t, os.WriteFile(env, []byte("export A=b\n"), 0o600))
	for _, p := range []Place{
		{}, {Dir: "/a", Restic: "/b", PasswordFile: password}, {Dir: "a"}, {Dir: "/a/"}, {Dir: "/a/../b"}, {Dir: "/a", Level: 20}, {Dir: "/a", Level: -1}, {Dir: "/a", PasswordFile: password},
		{Restic: "/a"}, {Restic: "/a", PasswordFile: "password"}, {Restic: "/a", PasswordFile: empty}, {Restic: "/a", PasswordFile: filepath.Join(dir, "none")},
		{Restic: "a", PasswordFile: password}, {Restic: "-r", PasswordFile: password}, {Restic: "/a", PasswordFile: password, Level: 3}, {Restic: "/a", PasswordFile: password, EnvFile: env},
		{Restic: "rest:http://me:secret@host/", PasswordFile: password}, {Restic: "sftp:host", PasswordFile: password},
		{Restic: "sftp:-oProxyCommand=id:/x", PasswordFile: password}, {Restic: "sftp:a b:/x", PasswordFile: password}, {Restic: "sftp:me;id@host:/x", PasswordFile: password}, {Restic: "sftp://host:22;id//x", PasswordFile: password},
	} {
		_, err := Open(p)
		if !errors.Is(err, farm.ErrInput) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestEnvFile(t *testing.T) {
	env, err := parseEnv("# keys\n\nAWS_ACCESS_KEY_ID=abc\r\n_x1=a=b 'c' $d\nEMPTY=\n")
	if want := "AWS_ACCESS_KEY_ID=abc|_x1=a=b 'c' $d|EMPTY="; err != nil || strings.Join(env, "|") != want {
		t.Errorf("%q, %v", env, err)
	}
	for _, bad := range []string{"secret", "A = secret", "1A=secret", "export A=secret", "A=x\nA=secret", `A="secret"`, "A='secret'", "RESTIC_PASSWORD=secret", "RESTIC_PASSWORD_COMMAND=secret", "RESTIC_REPOSITORY=secret", "A=sec\x00ret", "=secret"} {
		if env, err := parseEnv(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %q, %v", bad, env, err)
		}
	}
	path := filepath.Join(t.TempDir(), "env")
	must(t, os.WriteFile(path, []byte("A=b"), 0o600))
	must(t, os.Chmod(path, 0o666))
	if _, err := readEnv(path); !errors.Is(err, farm.ErrInput) {
		t.Errorf("a file that all may write to: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	env := []string{"RESTIC_REST_USERNAME=me", "RESTIC_REST_PASSWORD=s:e/c@ret"}
	for in, want := range map[string]string{"rest:http://host:8000/x": "rest:http://me:s%3Ae%2Fc%40ret@host:8000/x", "/a": "/a", "s3:http://127.0.0.1:7070/bucket": "s3:http://127.0.0.1:7070/bucket"} {
		if got, err := addressOf(in, env); err != nil || got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	if got := withoutPassword("Get rest:http://me:secret@host/ failed"); strings.Contains(got, "secret") {
		t.Error(got)
	}
	for in, want := range map[string]string{"sftp:host:/x": " host -s sftp", "sftp:me@host:x": " -l me host -s sftp", "sftp://me@host:2222//x": " -p 2222 -l me host -s sftp", "sftp://[::1]//x": " ::1 -s sftp"} {
		got, err := sftpOptions(in)
		if err != nil || len(got) != 2 || !strings.HasSuffix(got[1], want) || !strings.Contains(got[1], "BatchMode=yes") {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

func TestStoredSize(t *testing.T) {
	for text, want := range map[string]int64{"Added to the repository: 28.612 MiB (28.614 MiB stored)": 30003953, "(12 B stored)": 12, "Added to the repo: 3 GiB": 0, "(1.5 KiB stored)": 1536} {
		if got := stored(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
