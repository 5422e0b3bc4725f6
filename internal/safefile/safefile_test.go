package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const nobody = 65534

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
}

// farmIn is a directory with a file, and the file's path.
func farmIn(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "ws", "farm.yaml")
	must(t, os.Mkdir(filepath.Join(dir, "ws"), 0o755), os.WriteFile(file, nil, 0o644))
	return dir, file
}

func TestAFileOfAnotherUsersIsBelieved(t *testing.T) {
	needRoot(t)
	for name, spoil := range map[string]func(dir, file string) error{
		"":                              func(_, _ string) error { return nil },
		"the file's owner":              func(_, f string) error { return os.Chown(f, nobody, nobody) },
		"the directory's owner":         func(_, f string) error { return os.Chown(filepath.Dir(f), nobody, nobody) },
		"the owner of what is above":    func(d, _ string) error { return os.Chown(d, nobody, nobody) },
		"the file's mode":               func(_, f string) error { return os.Chmod(f, 0o666) },
		"a group that has others":       func(_, f string) error { return errors.Join(os.Chown(f, 0, nobody), os.Chmod(f, 0o664)) },
		"the directory's mode":          func(_, f string) error { return os.Chmod(filepath.Dir(f), 0o777) },
		"what is above can be written":  func(d, _ string) error { return os.Chmod(d, 0o777) },
		"a link of another user's":      func(_, f string) error { return linkOf(f, nobody) },
		"where a link of root's leads":  func(d, f string) error { return leads(d, f) },
		"a sticky directory, of others": func(d, _ string) error { return errors.Join(os.Chown(d, nobody, 0), os.Chmod(d, 0o777|fs.ModeSticky)) },
	} {
		_, file := farmIn(t)
		must(t, spoil(filepath.Dir(filepath.Dir(file)), file))
		err := Trusted(file)
		var u *Untrusted
		switch {
		case name == "" && err != nil:
			t.Errorf("a file of root's is refused: %v", err)
		case name != "" && !errors.As(err, &u):
			t.Errorf("%s: %v", name, err)
		case name != "" && (u.Seen == "" || u.Remedy == "" || !strings.Contains(u.Remedy, u.Path)):
			t.Errorf("%s: the error does not help: %#v", name, u)
		}
	}
}

func linkOf(file string, uid int) error {
	return errors.Join(os.Rename(file, file+".real"), os.Symlink(file+".real", file), os.Lchown(file, uid, uid))
}

func leads(dir, file string) error {
	theirs := filepath.Join(dir, "theirs")
	return errors.Join(os.Mkdir(theirs, 0o755), os.Rename(file, filepath.Join(theirs, "f")), os.Symlink("../theirs/f", file), os.Chown(theirs, nobody, nobody))
}

func TestAStickyDirectoryAboveIsRefused(t *testing.T) {
	dir, file := farmIn(t)
	must(t, os.Chmod(dir, 0o777|fs.ModeSticky))
	must(t, Trusted(file), Trusted(filepath.Join(filepath.Dir(file), "not", "there")))
	if err := Trusted(dir); err == nil {
		t.Error("a workspace in which everybody can make files is believed, because it is sticky")
	}
	if err := Trusted(filepath.Join(dir, "not-there")); err == nil {
		t.Error("a name that everybody can take is believed")
	}
}

func TestAPrivateGroupIsRefused(t *testing.T) {
	needRoot(t)
	dir, file := farmIn(t)
	defer func(p, g string) { passwdFile, groupFile = p, g }(passwdFile, groupFile)
	passwdFile, groupFile = filepath.Join(dir, "passwd"), filepath.Join(dir, "group")
	must(t, os.Chown(file, 0, 4711), os.Chmod(file, 0o664))
	for _, c := range []struct {
		passwd, group string
		fine          bool
	}{
		{"me:x:0:4711:::\nyou:x:5:5:::\n", "me:x:4711:\n", true},
		{"me:x:0:4711:::\nyou:x:5:5:::\n", "me:x:4711:me\n", true},
		{"me:x:0:4711:::\nyou:x:5:4711:::\n", "me:x:4711:\n", false},
		{"me:x:0:4711:::\nyou:x:5:5:::\n", "me:x:4711:you\n", false},
		{"me:x:0:0:::\n", "me:x:4711:\n", false},
		{"me:x:0:4711:::\n", "", false},
	} {
		must(t, os.WriteFile(passwdFile, []byte(c.passwd), 0o644), os.WriteFile(groupFile, []byte(c.group), 0o644))
		if err := Trusted(file); (err == nil) != c.fine {
			t.Errorf("passwd %q, group %q: %v", c.passwd, c.group, err)
		}
	}
}

func TestALinkOfTheServersAccountIsFollowed(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	theirs, secret := filepath.Join(dir, "theirs"), filepath.Join(dir, "secret")
	must(t, os.Mkdir(theirs, 0o755), os.Chown(theirs, nobody, nobody), os.WriteFile(secret, []byte("root's"), 0o600),
		os.Symlink(secret, filepath.Join(theirs, "error.log")), os.Symlink(dir, filepath.Join(theirs, "data")), os.Symlink(theirs, filepath.Join(dir, "way")))
	if f, err := OpenFile(filepath.Join(theirs, "error.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640); err == nil {
		t.Error("the file that a link leads to was opened", f.Close())
	}
	if _, err := ReadFile(filepath.Join(theirs, "data", "secret"), 100); err == nil {
		t.Error("a directory that a link leads to was walked through")
	}
	if d, err := OpenDir(filepath.Join(theirs, "data")); err == nil {
		t.Error("a directory that a link leads to was opened", d.Close())
	}
	must(t, os.Mkdir(filepath.Join(theirs, "ours"), 0o755), os.WriteFile(filepath.Join(theirs, "ours", "f"), nil, 0o644))
	if _, err := ReadFile(filepath.Join(dir, "way", "ours", "f"), 100); err != nil {
		t.Errorf("a link of root's in a directory of root's: %v", err)
	}
	if raw, err := os.ReadFile(secret); err != nil || string(raw) != "root's" {
		t.Errorf("the secret is %q, %v", raw, err)
	}
}

func TestAFileWithTwoNamesIsWrittenTo(t *testing.T) {
	dir := t.TempDir()
	secret, log := filepath.Join(dir, "secret"), filepath.Join(dir, "error.log")
	must(t, os.WriteFile(secret, []byte("root's"), 0o600), os.Link(secret, log))
	for _, flag := range []int{os.O_APPEND | os.O_WRONLY, os.O_TRUNC | os.O_WRONLY} {
		if f, err := OpenFile(log, flag|os.O_CREATE, 0o640); err == nil {
			t.Error("opened", f.Close())
		}
	}
	if raw, err := os.ReadFile(secret); err != nil || string(raw) != "root's" {
		t.Errorf("the file is %q, %v", raw, err)
	}
}

func TestAFIFOHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(path, 0o644))
	done := make(chan error, 4)
	go func() {
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR} {
			_, err := OpenFile(path, flag, 0)
			done <- err
		}
		_, err := ReadInput(path, 100)
		done <- err
	}()
	for range 4 {
		select {
		case err := <-done:
			if err == nil {
				t.Error("a FIFO was opened")
			}
		case <-time.After(10 * time.Second):
			t.Fatal("opening a FIFO waits for the other end")
		}
	}
}

func TestAFileThatIsReplacedKeepsItsOwnerToTheEnd(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDir(dir)
	must(t, err)
	defer d.Close()
	must(t, d.Replace("my.cnf", []byte("one"), 0o640, nil), d.Replace("my.cnf", []byte("two"), 0o600, nil))
	if err := d.Replace("my.cnf", []byte("three"), 0o600, func(*os.File) error { return errors.New("no") }); err == nil {
		t.Error("replaced although the owner could not be set")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "my.cnf"))
	names, _ := d.Names()
	if string(raw) != "two" || err != nil || len(names) != 1 {
		t.Errorf("it holds %q, %v, beside %v", raw, err, names)
	}
	if _, err := ReadFile(filepath.Join(dir, "my.cnf"), 2); err == nil {
		t.Error("a file over the limit was read")
	}
}

func TestAPrivateDirectoryOfAnotherUserIsTaken(t *testing.T) {
	needRoot(t)
	path := filepath.Join(t.TempDir(), "stowage-0")
	for name, lay := range map[string]func() error{
		"of another user": func() error { return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, nobody, nobody)) },
		"open to all":     func() error { return errors.Join(os.Mkdir(path, 0o755), os.Chmod(path, 0o777)) },
		"a link":          func() error { return os.Symlink(t.TempDir(), path) },
		"a file":          func() error { return os.WriteFile(path, nil, 0o600) },
	} {
		must(t, os.RemoveAll(path), lay())
		if d, err := privateAt(path); err == nil {
			t.Errorf("%s: taken, %v", name, d.Close())
		}
	}
	must(t, os.RemoveAll(path))
	d, err := privateAt(path)
	must(t, err)
	f, err := d.OpenFile("a.lock", os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err, f.Close(), d.Close())
}
