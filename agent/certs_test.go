package agent_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/agent"
	"stowage/farm"
)

func TestCertificatesAreTheOwnersOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	now := time.Now()
	ca, err := agent.OpenAuthority(dir, now)
	must(t, err)
	first, err := ca.Host("db001", now, false)
	must(t, err)
	if !first.New || first.Expires.Before(now.AddDate(1, 11, 0)) {
		t.Errorf("%+v", first)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		about, err := d.Info()
		must(t, err)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if about.Mode().Perm() != want {
			t.Errorf("%s has mode %04o", path, about.Mode().Perm())
		}
		return nil
	})
	must(t, err)
	// A second time the same, also by another process; renewed, another.
	ca, err = agent.OpenAuthority(dir, now)
	must(t, err)
	if same, err := ca.Host("db001", now, false); err != nil || same.New || same.Expires.Sub(first.Expires).Abs() > time.Second {
		t.Errorf("asked again: %+v, %v", same, err)
	}
	before, err := os.ReadFile(filepath.Join(first.Dir, "own.crt"))
	must(t, err)
	if again, err := ca.Host("db001", now, true); err != nil || !again.New {
		t.Errorf("renewed: %+v, %v", again, err)
	}
	if after, err := os.ReadFile(filepath.Join(first.Dir, "own.crt")); err != nil || string(after) == string(before) {
		t.Errorf("renewed, and it is the old one (%v)", err)
	}
}

func TestIdentityIsRefused(t *testing.T) {
	now := time.Now()
	ca, err := agent.OpenAuthority(filepath.Join(t.TempDir(), "certs"), now)
	must(t, err)
	for name, spoil := range map[string]func(dir string){
		"others may read the key": func(dir string) { must(t, os.Chmod(filepath.Join(dir, "own.key"), 0o640)) },
		"do not belong together": func(dir string) {
			other, err := ca.Host("other", now, false)
			must(t, err)
			copyFile(t, filepath.Join(other.Dir, "own.key"), filepath.Join(dir, "own.key"))
		},
		"not a PEM file": func(dir string) { must(t, os.WriteFile(filepath.Join(dir, "own.crt"), []byte("x"), 0o600)) },
		"no such file":   func(dir string) { must(t, os.Remove(filepath.Join(dir, "ca.crt"))) },
	} {
		issued, err := ca.Host("db001", now, true)
		must(t, err)
		spoil(issued.Dir)
		if _, err := agent.ReadIdentity(issued.Dir, now); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "others may read it", "others may read the key"), name) || farm.Hint(err) == "" {
			t.Errorf("%s: %v (hint %q)", name, err, farm.Hint(err))
		}
	}
	issued, err := ca.Host("db001", now, true)
	must(t, err)
	if _, err := agent.ReadIdentity(issued.Dir, now.AddDate(3, 0, 0)); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("expired: %v", err)
	}
	// An authority without its key is not made again in the same place.
	dir := filepath.Dir(filepath.Dir(issued.Dir))
	must(t, os.Remove(filepath.Join(dir, "ca.key")))
	if _, err := agent.OpenAuthority(dir, now); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("an authority without key: %v", err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, raw, 0o600))
}
