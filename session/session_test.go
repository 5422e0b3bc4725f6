package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"stowage/farm"
	"stowage/session"
	"stowage/workspace"
)

const oneHost = "farm: f\nhost_types:\n  t: {cores: 1}\nhosts:\n  - {name: h, type: t, address: 10.0.0.1}\n"

func made(t *testing.T, text string) session.Options {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return session.Options{Dir: dir}
}

func opened(t *testing.T, o session.Options) *session.Session {
	t.Helper()
	s, err := session.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// The workspace is held until the session ends, however often that is said; the store has been closed by then.
func TestLockEndsWithItsSession(t *testing.T) {
	o := made(t, oneHost)
	first, second := opened(t, o), opened(t, o)
	if err := first.Lock("the first"); err != nil {
		t.Fatal(err)
	}
	var held *workspace.Held
	if err := second.Lock("the second"); !errors.As(err, &held) || held.Purpose != "the first" || !errors.Is(err, farm.ErrRefused) {
		t.Fatalf("beside the first: %v", err)
	}
	first.Close()
	first.Close()
	if _, err := first.Store.Runs("move"); err == nil {
		t.Error("the store is still open")
	}
	if err := second.Lock("the second"); err != nil {
		t.Errorf("after the first: %v", err)
	}
}

// Who only looks makes nothing, and who works makes the store.
func TestLookMakesNothing(t *testing.T) {
	o := made(t, oneHost)
	s, err := session.Look(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := os.Stat(filepath.Join(o.Dir, ".stowage")); !os.IsNotExist(err) {
		t.Errorf("something was made: %v", err)
	}
	opened(t, o)
	if _, err := os.Stat(filepath.Join(o.Dir, ".stowage", "stowage.db")); err != nil {
		t.Error(err)
	}
}

// A farm.yaml that has gone wrong is no obstacle to who goes by the one that was kept.
func TestOpenKept(t *testing.T) {
	o := made(t, oneHost)
	if err := opened(t, o).Keep(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "farm.yaml"), []byte("farm: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Open(o); !errors.Is(err, farm.ErrInput) {
		t.Errorf("broken: %v", err)
	}
	s, err := session.OpenKept(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Farm.Hosts) != 1 {
		t.Errorf("kept: %+v", s.Farm)
	}
}

// Prepare asks for accounts first, and says what is missing.
func TestPrepareWithoutAccounts(t *testing.T) {
	if err := opened(t, made(t, oneHost)).Prepare(); !errors.Is(err, farm.ErrInput) || farm.Hint(err) == "" {
		t.Errorf("%v", err)
	}
}
