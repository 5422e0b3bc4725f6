package host

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A backup of a server is made by the account that its files belong to, whichever that is: nobody else may read them.
func TestOwnerOf(t *testing.T) {
	l := &Local{}
	if owner := l.ownerOf(t.TempDir()); owner != nil {
		t.Errorf("an ordinary user is somebody else: %+v", owner)
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: not root")
	}
	const theirs, nobody = 4242, 65534 // the first has no name here
	l.credential = &syscall.Credential{Uid: theirs, Gid: theirs, Groups: []uint32{7}}
	real, link := filepath.Join(t.TempDir(), "real"), filepath.Join(t.TempDir(), "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for uid, groups := range map[int]int{theirs: 1, nobody: -1, 4243: 0} {
		if err := os.Chown(real, uid, uid); err != nil {
			t.Fatal(err)
		}
		owner := l.ownerOf(link)
		if int(owner.Uid) != uid || groups >= 0 && len(owner.Groups) != groups {
			t.Errorf("data of %d: %+v", uid, owner)
			continue
		}
		file, err := l.loginFile("mariadb-backup", Instance{Datadir: filepath.Join(real, "data")}, Login{Address: "127.0.0.1:1"}, owner)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file, filepath.Dir(file)} {
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if is := st.Sys().(*syscall.Stat_t); int(is.Uid) != uid || st.Mode()&0o077 != 0 {
				t.Errorf("%s belongs to %d with mode %v", path, is.Uid, st.Mode())
			}
		}
	}
	if owner := l.ownerOf(filepath.Join(real, "none")); owner != l.credential {
		t.Errorf("a data directory that is not there has an owner: %+v", owner)
	}
	if owner := l.ownerOf(t.TempDir()); owner != l.credential {
		t.Errorf("a program of a server is run as root: %+v", owner)
	}
	// The account of one server leads to the data of another.
	if err := errors.Join(os.Chown(real, nobody, nobody), os.Chown(filepath.Dir(link), theirs, theirs), os.Lchown(link, theirs, theirs)); err != nil {
		t.Fatal(err)
	}
	if owner := l.ownerOf(link); owner != l.credential {
		t.Errorf("a link of the server's account makes it somebody else: %+v", owner)
	}
}

func TestComplaints(t *testing.T) {
	said := "[00] 2026-11-29 03:36:21 Connecting\n2026-11-29  3:36:21 0 [Note] InnoDB: Using io_uring\n2026-11-29  3:36:21 0 [ERROR] InnoDB: number 13\n2026-11-29  3:36:22 0 [ERROR] InnoDB: number 13\n[00] 2026-11-29 03:36:21 Error: cannot read redo log header\n2026-11-29  3:36:21 0 [Note] InnoDB: Starting shutdown...\n"
	if got, want := complaints([]byte(said)), "[ERROR] InnoDB: number 13; Error: cannot read redo log header"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := complaints([]byte("Killed\n")); got != "Killed" {
		t.Error(got)
	}
}
