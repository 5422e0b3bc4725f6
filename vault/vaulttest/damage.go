package vaulttest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/vault"
)

// damagedFiles flips a bit at random places, cuts files and takes them away, one at a time. What was kept never comes back as
// something else; where every byte is under a sum, Check names the file each time.
func damagedFiles(t *testing.T, s Subject) {
	if s.Files == nil {
		t.Skip("its files cannot be reached from here")
	}
	p := s.Place(t)
	v := open(t, p)
	parts := map[string][]byte{"base.xb": Stream(5, 3<<20), "delta.xb": Stream(6, 70_000)}
	m := Keep(t, v, "a/b", parts)
	dir := s.Files(p)
	random := rand.New(rand.NewPCG(s.Seed, 1))
	t.Logf("seed %d", s.Seed)
	files := tree(t, dir)
	var total int64
	sizes := map[string]int64{}
	for _, f := range files {
		sizes[f] = int64(len(read(t, filepath.Join(dir, f))))
		total += sizes[f]
	}
	anywhere := func() (string, int64) { // each byte is as likely as any other
		at := random.Int64N(total)
		for _, f := range files {
			if at < sizes[f] {
				return f, at
			}
			at -= sizes[f]
		}
		panic("unreachable")
	}
	found := 0
	for n := range s.Flips {
		f, at := anywhere()
		if n%3 == 0 { // small files have their turn too
			f = files[n/3%len(files)]
			at = random.Int64N(max(1, sizes[f]))
		}
		what := fmt.Sprintf("bit flipped at %d of %s", at, f)
		found += s.with(t, v, m, parts, filepath.Join(dir, f), what, func(b []byte) []byte {
			if len(b) > 0 {
				b[at] ^= 1 << random.IntN(8)
			}
			return b
		})
	}
	t.Logf("%d of %d flips were named by Check", found, s.Flips)
	if found == 0 {
		t.Error("no flip was ever found")
	}
	if !s.Exact { // restic tries to read what is not there for minutes
		return
	}
	for _, f := range files {
		path := filepath.Join(dir, f)
		s.with(t, v, m, parts, path, f+" cut in the middle", func(b []byte) []byte { return b[:len(b)/2] })
		s.with(t, v, m, parts, path, f+" one byte longer", func(b []byte) []byte { return append(b, 0) })
		s.with(t, v, m, parts, path, f+" missing", func([]byte) []byte { return nil })
	}
	must(t, v.Check(t.Context(), m.Set)) // all is as it was
}

// with damages one file, looks, and puts it back. nil takes it away. It returns 1 when Check said so.
func (s Subject) with(t *testing.T, v vault.Vault, m vault.Manifest, parts map[string][]byte, path, what string, damage func([]byte) []byte) int {
	t.Helper()
	was := read(t, path)
	must(t, os.Chmod(path, 0o600)) // restic's are read-only
	if now := damage(bytes.Clone(was)); now == nil {
		must(t, os.Remove(path))
	} else {
		must(t, os.WriteFile(path, now, 0o600))
	}
	defer func() { must(t, os.WriteFile(path, was, 0o600)) }()
	err := v.Check(t.Context(), m.Set)
	missing := s.Exact && strings.Contains(what, "manifest.json missing") // then the set is not whole
	switch {
	case missing && errors.Is(err, vault.ErrNone):
	case s.Exact && !errors.Is(err, vault.ErrDamaged):
		t.Errorf("%s: Check says %v", what, err)
	case s.Exact && !strings.Contains(err.Error(), filepath.Base(path)):
		t.Errorf("%s: Check does not name the file: %v", what, err)
	}
	for name, want := range parts {
		var got bytes.Buffer
		getErr := v.Get(t.Context(), m.Set, name, io.Writer(&got))
		if getErr == nil && !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: %s came back as something else, without an error", what, name)
		}
		if getErr == nil && s.Exact && strings.HasPrefix(filepath.Base(path), name) {
			t.Errorf("%s: Get found nothing", what)
		}
		if getErr != nil && err == nil {
			t.Errorf("%s: Check found nothing, and Get says %v", what, getErr)
		}
	}
	if err != nil {
		return 1
	}
	return 0
}
