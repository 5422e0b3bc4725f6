package workspace_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/workspace"
)

const dba = 4711 // a group that nobody is not in

func raiseServerID(w *workspace.Workspace) error {
	return w.EditFarm(func(e *workspace.Edit) error { e.SetNextServerID(2000); return nil })
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: not root, so files cannot be given to others")
	}
}

// TestEditTakesTheFileFromItsGroup: whoever could read farm.yaml before can
// read it after an edit, and a link to it is still one.
func TestEditTakesTheFileFromItsGroup(t *testing.T) {
	needRoot(t)
	w := openWith(t, editedFarm)
	link, file := w.Path("farm.yaml"), filepath.Join(t.TempDir(), "shared.yaml")
	must(t, os.Rename(link, file))
	must(t, os.Symlink(file, link))
	must(t, os.Chown(file, nobody, dba))
	list := accessList()
	for name, value := range map[string][]byte{"system.posix_acl_access": list, "user.reviewed": []byte("yes")} {
		if err := unix.Setxattr(file, name, value, 0); errors.Is(err, unix.EOPNOTSUPP) {
			t.Skip("NOT TESTED: the file system has no extended attributes")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.Stat(file)
	must(t, err)
	must(t, raiseServerID(w))
	is, err := os.Stat(file)
	must(t, err)
	if owner := is.Sys().(*syscall.Stat_t); owner.Uid != nobody || owner.Gid != dba || is.Mode() != was.Mode() || os.SameFile(was, is) {
		t.Errorf("owner %d:%d, mode %v; want %d:%d and %v", owner.Uid, owner.Gid, is.Mode(), nobody, dba, was.Mode())
	}
	for name, want := range map[string]string{"system.posix_acl_access": string(list), "user.reviewed": "yes"} {
		value := make([]byte, 1000)
		if n, err := unix.Getxattr(file, name, value); err != nil || string(value[:n]) != want {
			t.Errorf("%s is %q, %v", name, value[:max(0, n)], err)
		}
	}
	if to, err := os.Readlink(link); err != nil || to != file {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// accessList lets group 7 read: acl(5), as the kernel keeps it.
func accessList() []byte {
	out := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, ^uint32(0)}, {4, 4, ^uint32(0)}, {8, 4, 7}, {16, 4, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		out = binary.LittleEndian.AppendUint16(out, e.tag)
		out = binary.LittleEndian.AppendUint16(out, e.perm)
		out = binary.LittleEndian.AppendUint32(out, e.id)
	}
	return out
}

// TestEditByAnAccountThatIsNotRoot: a group that it cannot give the file to is
// not dropped, and a file of root's can be edited.
func TestEditByAnAccountThatIsNotRoot(t *testing.T) {
	needRoot(t)
	for _, c := range []struct {
		what     string
		uid, gid int
		refused  bool
	}{
		{"its own", nobody, nobody, false},
		{"root's", 0, 0, false},
		{"of another group", nobody, dba, true},
		{"root's, of another group", 0, dba, true},
	} {
		w := openWith(t, editedFarm)
		path := w.Path("farm.yaml")
		must(t, os.Chmod(path, 0o644), os.Chmod(filepath.Dir(w.Dir), 0o755))
		must(t, filepath.Walk(w.Dir, func(p string, _ os.FileInfo, err error) error { return errors.Join(err, os.Chown(p, nobody, nobody)) }))
		must(t, os.Chown(path, c.uid, c.gid))
		err := asNobody(func() error { return raiseServerID(w) })
		text := farmText(t, w)
		switch {
		case !c.refused && (err != nil || text == editedFarm):
			t.Errorf("a file that is %s: %v", c.what, err)
		case c.refused && (!errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "group 4711") || farm.Hint(err) == "" || text != editedFarm):
			t.Errorf("a file that is %s: %v, hint %q; changed %t", c.what, err, farm.Hint(err), text != editedFarm)
		}
		if rest, err := filepath.Glob(w.Path(".farm.yaml.*")); err != nil || len(rest) > 0 {
			t.Errorf("left behind: %v %v", rest, err)
		}
	}
}

// asNobody runs do in a thread of that account's, which ends with it.
func asNobody(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is of no use to others
		for _, trap := range []uintptr{unix.SYS_SETGROUPS, unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
			ids := [3]uintptr{nobody, nobody, nobody}
			if trap == unix.SYS_SETGROUPS {
				ids = [3]uintptr{} // none
			}
			// unix.Setresuid changes all threads of the process.
			if _, _, errno := unix.RawSyscall(trap, ids[0], ids[1], ids[2]); errno != 0 {
				done <- errno
				return
			}
		}
		done <- do()
	}()
	return <-done
}
