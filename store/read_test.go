package store_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/store"
)

// kept are the files of a directory and their bytes, but for the index that all readers of a log share.
func kept(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		if strings.HasSuffix(e.Name(), "-shm") {
			raw = nil
		}
		out[e.Name()] = string(raw)
	}
	return out
}

func reads(t *testing.T, path, run string, want int) {
	t.Helper()
	s, err := store.OpenToRead(path)
	must(t, err)
	defer s.Close()
	events, _, err := s.Events(run, 0)
	must(t, err)
	if len(events) != want {
		t.Errorf("%d events, want %d", len(events), want)
	}
	if err := s.PutDocument("load", "x", noon, 1); err == nil && want > 0 {
		t.Error("a reader could write")
	}
}

func write(t *testing.T, s *store.Store, events []farm.Event) {
	t.Helper()
	r := s.Record()
	for _, e := range events {
		r.Add(e)
	}
	must(t, r.Close())
}

// TestOpenToRead: a reader sees what a writer has written, before, beside and after it, and also when it was killed; it leaves no file and changes none.
func TestOpenToRead(t *testing.T) {
	path := newPath(t)
	dir := filepath.Dir(path)
	reads(t, path, "move-1", 0)
	if got := kept(t, dir); len(got) != 0 {
		t.Fatalf("made %v", slices.Collect(maps.Keys(got)))
	}

	w, err := store.Open(path)
	must(t, err)
	write(t, w, numbered("move-1", "a", 3))
	beside := kept(t, dir)
	reads(t, path, "move-1", 3)
	if got := kept(t, dir); !maps.Equal(got, beside) {
		t.Error("a file has changed beside a writer")
	}
	write(t, w, numbered("move-1", "b", 2))
	reads(t, path, "move-1", 5)

	// As a kill -9 leaves it: the log is whole and not yet in the file.
	killed := filepath.Join(t.TempDir(), filepath.Base(path))
	for name, text := range kept(t, dir) {
		must(t, os.WriteFile(filepath.Join(filepath.Dir(killed), name), []byte(text), 0o600))
	}
	left := kept(t, filepath.Dir(killed))
	if len(left) != 3 {
		t.Fatalf("%d files, want the store, its log and the index of it", len(left))
	}
	reads(t, killed, "move-1", 5)
	if got := kept(t, filepath.Dir(killed)); !maps.Equal(got, left) {
		t.Error("a file has changed after a kill")
	}

	must(t, w.Close())
	after := kept(t, dir)
	if len(after) != 1 {
		t.Fatalf("%d files, want the store alone", len(after))
	}
	reads(t, path, "move-1", 5)
	if got := kept(t, dir); !maps.Equal(got, after) {
		t.Error("a file has changed, or is new, without a writer")
	}
}

func TestOpenToReadDamaged(t *testing.T) {
	path := newPath(t)
	must(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 400), 0o600))
	s, err := store.OpenToRead(path)
	if err == nil {
		_, err = s.Runs("move")
		must(t, s.Close())
	}
	if err == nil || !strings.Contains(err.Error(), filepath.Base(path)) {
		t.Errorf("damaged: %v, want the file's name", err)
	}
	if _, err := store.OpenToRead(filepath.Join(path, "below a file")); !errors.Is(err, farm.ErrInput) {
		t.Errorf("no such directory: %v", err)
	}
}
