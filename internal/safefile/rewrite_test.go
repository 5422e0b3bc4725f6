package safefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRewrittenFileGetsAnotherOwnerAndMode: whoever could read a file before
// can read it afterwards, and a link to it is still one.
func TestRewrittenFileGetsAnotherOwnerAndMode(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "etc"), 0o755), os.Mkdir(filepath.Join(dir, "alternatives"), 0o755))
	file, link := filepath.Join(dir, "etc/mariadb.cnf"), filepath.Join(dir, "etc/my.cnf")
	must(t, os.WriteFile(file, []byte("was\n"), 0o600), os.Chown(file, nobody, 7), os.Chmod(file, 0o604),
		os.Symlink("../alternatives/my.cnf", link), os.Symlink(file, filepath.Join(dir, "alternatives/my.cnf")))
	called := false
	must(t, Rewrite(link, []byte("is\n"), 0o640, func(*os.File) error { called = true; return nil }))
	info, err := os.Stat(file)
	must(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	if raw, _ := os.ReadFile(file); string(raw) != "is\n" || owner.Uid != nobody || owner.Gid != 7 || info.Mode().Perm() != 0o604 || called {
		t.Errorf("%q, owner %d:%d, mode %o; asked for an owner: %v", raw, owner.Uid, owner.Gid, info.Mode().Perm(), called)
	}
	if to, err := os.Readlink(link); err != nil || to != "../alternatives/my.cnf" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	names, err := os.ReadDir(filepath.Join(dir, "etc"))
	if err != nil || len(names) != 2 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// TestRewriteThroughSomebodysLink: it is refused, and nothing is written.
func TestRewriteThroughSomebodysLink(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	must(t, os.Chown(dir, nobody, nobody))
	target, link := filepath.Join(t.TempDir(), "shadow"), filepath.Join(dir, "my.cnf")
	must(t, os.WriteFile(target, []byte("secret"), 0o600), os.Symlink(target, link))
	err := Rewrite(link, []byte("ours"), 0o640, nil)
	if !errors.Is(err, ErrLink) || !strings.Contains(err.Error(), "not followed") {
		t.Errorf("error %v", err)
	}
	if raw, _ := os.ReadFile(target); string(raw) != "secret" {
		t.Errorf("written: %q", raw)
	}
}

func TestRewriteMakesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.cnf")
	called := false
	must(t, Rewrite(path, []byte("is\n"), 0o640, func(*os.File) error { called = true; return nil }))
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o640 || !called {
		t.Errorf("mode %o, asked for an owner: %v", info.Mode().Perm(), called)
	}
}
