// Package vaulttest holds what every implementation of vault.Vault must do.
//
// It answers: "does this vault keep what it was given, and say so when it has
// not?" Run is all of it; a test that calls it has Main as its TestMain, for the
// processes that are killed are test binaries too.
//
// Invariants: real files and real programs; it never looks at how an
// implementation works, but for the files that it damages.
package vaulttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"stowage/farm"
	"stowage/vault"
)

// Subject is what is tested.
type Subject struct {
	// Place makes an empty place, which goes when the test ends.
	Place func(t testing.TB) vault.Place
	// Files is the directory that holds all files of a place; "" where they cannot be reached, and so not be damaged.
	Files func(p vault.Place) string
	// Exact: every byte of every file is under a sum that Check reads. A repository has others too, of which nothing that was kept is made.
	Exact bool
	Seed  uint64 // of the random places that are damaged
	Flips int
	// Short leaves out what takes half a minute where each call starts a program.
	Short bool
}

// Run tests an implementation.
func Run(t *testing.T, s Subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Subject)
		slow bool
	}{
		{"what was kept comes back", roundTrip, true},
		{"a part begins anew", anew, true},
		{"a failed producer leaves nothing", failedProducer, false},
		{"an interrupted one neither", interrupted, true},
		{"a whole set is not written over", sealed, true},
		{"what is not there", absent, true},
		{"names", names, false},
		{"sets side by side", sideBySide, true},
		{"a reader that goes away", readerGone, true},
		{"kill -9 while a part is put", killed, true},
		{"damaged files", damagedFiles, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.slow && s.Short {
				t.Skip("SKIPPED with -short")
			}
			t.Parallel()
			c.test(t, s)
		})
	}
}

func open(t testing.TB, p vault.Place) vault.Vault {
	t.Helper()
	v, err := vault.Open(p)
	must(t, err)
	return v
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v (hint: %s)", err, farm.Hint(err))
	}
}

func wantKind(t testing.TB, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want an error that is %q", err, kind)
	}
}

// Stream is n bytes of which half can be compressed, the same for the same seed.
func Stream(seed uint64, n int) []byte {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	random := rand.NewChaCha8(key)
	out := make([]byte, n)
	for at := 0; at < n; at += 2048 {
		_, _ = random.Read(out[at:min(n, at+1024)]) // never fails
	}
	return out
}

// Write is a producer of these bytes, in pieces of odd sizes.
func Write(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for size := 1; len(b) > 0; size = (size*3 + 1) % 400_000 {
			n, err := w.Write(b[:min(len(b), size+1)])
			if err != nil {
				return err
			}
			b = b[n:]
		}
		return nil
	}
}

// Keep puts parts and seals the set.
func Keep(t testing.TB, v vault.Vault, set string, parts map[string][]byte) vault.Manifest {
	t.Helper()
	m := vault.Manifest{FormatVersion: vault.Format, Set: set, About: json.RawMessage(`{"gtid":"0-1-42","why":"<a test> & more"}`)}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		p, err := v.Put(t.Context(), set, name, Write(parts[name]))
		must(t, err)
		m.Parts = append(m.Parts, p)
	}
	must(t, v.Seal(t.Context(), m, map[string]string{"RESTORE.txt": "read this\n"}))
	return m
}

// Get is a part as it comes back.
func Get(t testing.TB, v vault.Vault, set, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	must(t, v.Get(t.Context(), set, name, &out))
	return out.Bytes()
}

// WantSets looks which sets are whole.
func WantSets(t testing.TB, v vault.Vault, prefix string, want ...string) {
	t.Helper()
	all, err := v.Sets(t.Context(), prefix)
	must(t, err)
	var got []string
	for _, m := range all {
		got = append(got, m.Set)
	}
	if !slices.Equal(got, want) {
		t.Errorf("sets below %q: %q, want %q", prefix, got, want)
	}
}

// samePart compares what a manifest says of a part with what Put has said: a repository's part has the id of its snapshot only when it is sealed.
func samePart(sealed, put vault.Part) bool {
	if len(sealed.File) == 64 && len(put.File) < 64 {
		put.File = sealed.File
	}
	return sealed == put
}

func roundTrip(t *testing.T, s Subject) {
	v := open(t, s.Place(t))
	WantSets(t, v, "")
	parts := map[string][]byte{"one.byte": {7}, "base.xb": Stream(1, 9<<20+17), "zeros": make([]byte, 5<<20)}
	m := Keep(t, v, "shop1/20261126T051500Z-full", parts)
	WantSets(t, v, "", m.Set)
	back, err := v.Sets(t.Context(), "shop1")
	must(t, err)
	if len(back) != 1 || back[0].FormatVersion != vault.Format || !slices.EqualFunc(back[0].Parts, m.Parts, samePart) || !sameJSON(back[0].About, m.About) {
		t.Errorf("sealed %+v, read %+v", m, back)
	}
	for name, want := range parts {
		p, ok := m.Part(name)
		if !ok || p.Raw != int64(len(want)) || p.File == "" || p.Bytes < 0 || len(want) > 1<<20 && p.Bytes > p.Raw*3/4 {
			t.Errorf("%s is %+v of %d bytes", name, p, len(want))
		}
		if got := Get(t, v, m.Set, name); sha256.Sum256(got) != sha256.Sum256(want) {
			t.Errorf("%s: %d bytes came back of %d, or others", name, len(got), len(want))
		}
	}
	must(t, v.Check(t.Context(), m.Set))
	free, err := v.Free(t.Context())
	if must(t, err); free == 0 {
		t.Error("no room at all")
	}
	Keep(t, v, "shop1/20261127T051500Z-incr", map[string][]byte{"delta.xb": {1, 2}})
	Keep(t, v, "shop10/20261126T051500Z-full", map[string][]byte{"base.xb": {3}})
	WantSets(t, v, "", "shop1/20261126T051500Z-full", "shop1/20261127T051500Z-incr", "shop10/20261126T051500Z-full")
	WantSets(t, v, "shop1", "shop1/20261126T051500Z-full", "shop1/20261127T051500Z-incr")
	WantSets(t, v, "shop1/20261127T051500Z-incr", "shop1/20261127T051500Z-incr")
	WantSets(t, v, "shop")
	must(t, v.Remove(t.Context(), m.Set))
	WantSets(t, v, "shop1", "shop1/20261127T051500Z-incr")
	wantKind(t, v.Get(t.Context(), m.Set, "base.xb", io.Discard), vault.ErrNone)
	must(t, v.Check(t.Context(), "shop1/20261127T051500Z-incr"))
	Keep(t, v, m.Set, map[string][]byte{"base.xb": {9}}) // a name that is free again
	if got := Get(t, v, m.Set, "base.xb"); !bytes.Equal(got, []byte{9}) {
		t.Errorf("the new set of an old name has %v", got)
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

func anew(t *testing.T, s Subject) {
	v := open(t, s.Place(t))
	old, err := v.Put(t.Context(), "a/b", "base.xb", Write(Stream(1, 100_000)))
	must(t, err)
	WantSets(t, v, "")
	p, err := v.Put(t.Context(), "a/b", "base.xb", Write([]byte("new")))
	must(t, err)
	_, err = v.Put(t.Context(), "a/b", "left.out", Write([]byte("no part of the set")))
	must(t, err)
	m := vault.Manifest{FormatVersion: vault.Format, Set: "a/b", Parts: []vault.Part{p}}
	must(t, v.Seal(t.Context(), m, nil))
	must(t, v.Seal(t.Context(), m, nil)) // of which nobody knew how it ended
	if got := string(Get(t, v, "a/b", "base.xb")); got != "new" {
		t.Errorf("got %q", got)
	}
	must(t, v.Check(t.Context(), "a/b"))
	wantKind(t, v.Get(t.Context(), "a/b", "left.out", io.Discard), vault.ErrNone)
	m.Parts = []vault.Part{old}
	wantKind(t, v.Seal(t.Context(), m, nil), farm.ErrRefused)
	WantSets(t, v, "", "a/b")
}

func failedProducer(t *testing.T, s Subject) {
	v := open(t, s.Place(t))
	broken := errors.New("the producer broke")
	for _, n := range []int{0, 10, 5 << 20} {
		p, err := v.Put(t.Context(), "a/b", "base.xb", func(w io.Writer) error {
			return errors.Join(Write(Stream(3, n))(w), broken)
		})
		if wantKind(t, err, broken); p != (vault.Part{}) {
			t.Errorf("a part all the same: %+v", p)
		}
	}
	if p, err := v.Put(t.Context(), "a/b", "base.xb", func(io.Writer) error { return nil }); err == nil {
		t.Errorf("nothing was kept as %+v", p)
	}
	if err := v.Seal(t.Context(), cut("a/b", Stream(3, 5<<20)), nil); err == nil {
		t.Error("sealed without its part")
	}
	WantSets(t, v, "")
	wantKind(t, v.Check(t.Context(), "a/b"), vault.ErrNone)
	must(t, v.Drop(t.Context(), "a/b"))
	must(t, v.Drop(t.Context(), "a/b"))
	Keep(t, v, "a/b", map[string][]byte{"base.xb": []byte("whole")})
}

// cut is the manifest of somebody who takes what there is for a part.
func cut(set string, raw []byte) vault.Manifest {
	sum := fmt.Sprintf("%x", sha256.Sum256(raw))
	return vault.Manifest{FormatVersion: vault.Format, Set: set, Parts: []vault.Part{{Name: "base.xb", File: "base.xb.zst", Raw: int64(len(raw)), Bytes: int64(len(raw)), SHA256: sum}}}
}

func interrupted(t *testing.T, s Subject) {
	v := open(t, s.Place(t))
	why := errors.New("somebody ended it")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := v.Put(ctx, "a/b", "base.xb", func(w io.Writer) error {
		for n := range 100 {
			if n == 3 {
				cancel(why)
			}
			if _, err := w.Write(Stream(uint64(n), 100_000)); err != nil {
				return err
			}
		}
		return nil // the end of the stream comes after the end of ctx
	})
	wantKind(t, err, why)
	WantSets(t, v, "")
	if err := v.Seal(t.Context(), cut("a/b", Stream(0, 100_000)), nil); err == nil {
		t.Error("sealed without its part")
	}
	must(t, v.Drop(t.Context(), "a/b"))
}

func sealed(t *testing.T, s Subject) {
	v := open(t, s.Place(t))
	m := Keep(t, v, "a/b", map[string][]byte{"base.xb": []byte("kept")})
	_, err := v.Put(t.Context(), "a/b", "base.xb", Write([]byte("other")))
	wantKind(t, err, farm.ErrRefused)
	_, err = v.Put(t.Context(), "a/b", "more.xb", Write([]byte("other")))
	wantKind(t, err, farm.ErrRefused)
	wantKind(t, v.Drop(t.Context(), "a/b"), farm.ErrRefused)
	m.Parts[0].Raw++
	wantKind(t, v.Seal(t.Context(), m, nil), farm.ErrRefused)
	if got := string(Get(t, v, "a/b", "base.xb")); got != "kept" {
		t.Errorf("got %q", got)
	}
	must(t, v.Check(t.Context(), "a/b"))
}

func absent(t *testing.T, s Subject) {
	v := open(t, s.Place(t))
	look := func() {
		t.Helper()
		wantKind(t, v.Get(t.Context(), "no/such", "base.xb", io.Discard), vault.ErrNone)
		wantKind(t, v.Check(t.Context(), "no/such"), vault.ErrNone)
		wantKind(t, v.Remove(t.Context(), "no/such"), vault.ErrNone)
		must(t, v.Drop(t.Context(), "no/such"))
	}
	look()
	Keep(t, v, "a/b", map[string][]byte{"base.xb": {1}})
	wantKind(t, v.Get(t.Context(), "a/b", "delta.xb", io.Discard), vault.ErrNone)
	look()
	if err := v.Seal(t.Context(), cut("no/such", nil), nil); err == nil {
		t.Error("sealed a set that was never begun")
	}
	if err := v.Seal(t.Context(), vault.Manifest{FormatVersion: vault.Format, Set: "a/c"}, nil); err == nil {
		t.Error("sealed a set without parts")
	}
}

func names(t *testing.T, s Subject) {
	p := s.Place(t)
	v := open(t, p)
	for _, bad := range []string{"", ".", "..", "/", "/etc/x", "a/../b", "../b", "a//b", "a/", "/a", "a/.b", "-a", "a b", "a,b", "a\nb", "a\x00b", "a/b.partial", "é", "*", "a'b", "$(id)", strings.Repeat("a", 200), strings.Repeat("a/", 20) + "a"} {
		_, err := v.Put(t.Context(), bad, "base.xb", Write([]byte{1}))
		wantKind(t, err, farm.ErrInput)
		m := cut("a/b", nil)
		m.Set = bad
		wantKind(t, v.Seal(t.Context(), m, nil), farm.ErrInput)
		wantKind(t, v.Drop(t.Context(), bad), farm.ErrInput)
		wantKind(t, v.Remove(t.Context(), bad), farm.ErrInput)
		wantKind(t, v.Check(t.Context(), bad), farm.ErrInput)
		wantKind(t, v.Get(t.Context(), bad, "base.xb", io.Discard), farm.ErrInput)
		if bad != "" {
			_, err := v.Sets(t.Context(), bad)
			wantKind(t, err, farm.ErrInput)
		}
		if bad == strings.Repeat("a/", 20)+"a" {
			continue // too deep; as a part it has a / in it
		}
	}
	for _, bad := range []string{"", "..", "a/b", "manifest.json", "SHA256SUMS", ".x", "-x", "x y"} {
		_, err := v.Put(t.Context(), "a/b", bad, Write([]byte{1}))
		wantKind(t, err, farm.ErrInput)
		wantKind(t, v.Seal(t.Context(), cut("a/b", nil), map[string]string{bad: "text"}), farm.ErrInput)
	}
	if s.Files != nil {
		if all := tree(t, s.Files(p)); len(all) != 0 {
			t.Errorf("names that were refused have made %q", all)
		}
	}
}

func sideBySide(t *testing.T, s Subject) {
	v := open(t, s.Place(t))
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			set := fmt.Sprintf("shop%d/full", n)
			p, err := v.Put(t.Context(), set, "base.xb", Write(Stream(uint64(n), 2<<20)))
			if err == nil {
				err = v.Seal(t.Context(), vault.Manifest{FormatVersion: vault.Format, Set: set, Parts: []vault.Part{p}}, map[string]string{"RESTORE.txt": set})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	WantSets(t, v, "", "shop0/full", "shop1/full", "shop2/full", "shop3/full")
	for n := range 4 {
		if !bytes.Equal(Get(t, v, fmt.Sprintf("shop%d/full", n), "base.xb"), Stream(uint64(n), 2<<20)) {
			t.Errorf("shop%d has other bytes", n)
		}
	}
}

func readerGone(t *testing.T, s Subject) {
	v := open(t, s.Place(t))
	Keep(t, v, "a/b", map[string][]byte{"base.xb": Stream(1, 5<<20)})
	gone := errors.New("the reader has gone")
	err := v.Get(t.Context(), "a/b", "base.xb", writer(func(p []byte) (int, error) { return 0, gone }))
	if wantKind(t, err, gone); errors.Is(err, vault.ErrDamaged) {
		t.Errorf("called damaged: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err = v.Get(ctx, "a/b", "base.xb", writer(func(p []byte) (int, error) { cancel(gone); return len(p), nil }))
	if err != nil { // it may have come to its end in spite of it
		if wantKind(t, err, gone); errors.Is(err, vault.ErrDamaged) {
			t.Errorf("called damaged: %v", err)
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// tree are the files below a directory, by their paths from there.
func tree(t testing.TB, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, rel)
		}
		return err
	})
	must(t, err)
	return files
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}
