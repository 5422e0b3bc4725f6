package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The servers' account owns the directory of its instance. What it puts there
// must not lead root elsewhere. Here it is nobody's account.
const nobody = 65534

// victim is an instance whose server is not to be trusted, and a file of root's
// that it wants.
func victim(t *testing.T) (l *Local, i Instance, secret string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root has something to lose")
	}
	dir := t.TempDir()
	secret = filepath.Join(dir, "secret")
	i = Instance{Name: "x", Address: "127.0.0.1", Port: 1, Datadir: filepath.Join(dir, "host", "x", "data"), Config: filepath.Join(dir, "host", "x", "my.cnf")}
	l = &Local{log: slog.New(slog.DiscardHandler), server: "/bin/true", credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	ok(t, errors.Join(os.WriteFile(secret, []byte("root's own\n"), 0o600), l.Claim(context.Background(), i, "test")))
	return l, i, secret
}

// asServer plays the server: it may do what the owner of the directory may.
func asServer(t *testing.T, script string, args ...string) {
	t.Helper()
	c := exec.Command("/bin/sh", append([]string{"-ec", script, "sh"}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Skipf("the temporary directory cannot be entered by others: %v: %s", err, out)
	}
}

func unharmed(t *testing.T, secret string) {
	t.Helper()
	raw, err := os.ReadFile(secret)
	if err != nil || string(raw) != "root's own\n" {
		t.Errorf("root's file holds %q, %v", raw, err)
	}
	var st unix.Stat_t
	ok(t, unix.Stat(secret, &st))
	if st.Uid != 0 || st.Mode&0o777 != 0o600 {
		t.Errorf("root's file belongs to uid %d with mode %o", st.Uid, st.Mode&0o777)
	}
}

func reach(t *testing.T, secret string) {
	t.Helper()
	for d := filepath.Dir(secret); d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		ok(t, os.Chmod(d, 0o755))
	}
}

func TestAServersLinkLeadsRootToItsOwnFiles(t *testing.T) {
	ctx := context.Background()
	for name, act := range map[string]struct {
		script string
		do     func(l *Local, i Instance) error
	}{
		"error.log is a link":     {`ln -s "$2" "$1/error.log"`, func(l *Local, i Instance) error { _, err := l.openLog(filepath.Join(i.Dir(), ErrorLog)); return err }},
		"error.log is a FIFO":     {`mkfifo "$1/error.log"`, func(l *Local, i Instance) error { _, err := l.openLog(filepath.Join(i.Dir(), ErrorLog)); return err }},
		"the server starts":       {`ln -s "$2" "$1/error.log"`, func(l *Local, i Instance) error { return l.Start(ctx, i, time.Second) }},
		"the option file is read": {`ln -s "$2" "$1/my.cnf"`, func(l *Local, i Instance) error { return refuses(l.ReadFile(ctx, i.Config)) }},
		"its directory is a link": {`mv "$1/tmp" "$1/t"; ln -s "$(dirname "$2")" "$1/tmp"`, func(l *Local, i Instance) error {
			return l.WriteFile(ctx, filepath.Join(i.Dir(), "tmp", "secret"), []byte("taken"))
		}},
		"a copy is unpacked": {`rmdir "$1/data"; ln -s "$(dirname "$2")" "$1/data"`, func(l *Local, i Instance) error {
			_, err := l.Receive(ctx, Destination{Instance: i}, bytes.NewReader(append(piece("new", 0, []byte("x")), fileEnd("new")...)))
			return err
		}},
		"a login is written":       {`mv "$1/data" "$1/d"; ln -s "$(dirname "$2")" "$1/data"`, func(l *Local, i Instance) error { return leadsAway(l, i) }},
		"the pid file is a FIFO":   {`mkfifo "$1/mysqld.pid"`, func(l *Local, i Instance) error { _, err := l.Running(ctx, i); return err }},
		"the error is a secret":    {`ln -s "$2" "$1/error.log"`, func(l *Local, i Instance) error { return hides(l.explain(i, 0, errors.New("it died"))) }},
		"the mark is another file": {`rm "$1/stowage-owner"; ln -s "$2" "$1/stowage-owner"`, func(l *Local, i Instance) error { return l.Remove(ctx, i, "root's own") }},
	} {
		t.Run(name, func(t *testing.T) {
			l, i, secret := victim(t)
			reach(t, secret)
			asServer(t, act.script, i.Dir(), secret)
			done := make(chan error, 1)
			go func() { done <- act.do(l, i) }()
			select {
			case err := <-done:
				if err == nil {
					t.Error("done")
				}
			case <-time.After(20 * time.Second):
				t.Error("it hangs")
			}
			unharmed(t, secret)
		})
	}
}

// refuses is an error when something was read.
func refuses(b []byte, err error) error {
	if err == nil && len(b) > 0 {
		return nil
	}
	return errors.New("nothing was read")
}

func hides(err error) error {
	if strings.Contains(err.Error(), "root's own") {
		return nil
	}
	return err
}

// leadsAway is nil when a file with a password is where the server wanted it.
func leadsAway(l *Local, i Instance) error {
	i.Datadir = filepath.Join(i.Datadir, "data")
	path, err := l.loginFile("mariadb-backup", i, Login{User: "u", Password: "p", Address: "127.0.0.1:1"}, l.credential)
	if err == nil && strings.HasPrefix(path, i.Dir()) {
		return nil
	}
	return err
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestACopyAnnouncesATerabyte(t *testing.T) {
	name := "ibdata1"
	b := append([]byte(chunkMagic+"\x00P"), binary.LittleEndian.AppendUint32(nil, uint32(len(name)))...)
	b = append(b, name...)
	b = binary.LittleEndian.AppendUint64(b, 1<<40)
	b = append(b, make([]byte, 12)...)
	u, err := openUnpacker(t.TempDir(), io.MultiReader(bytes.NewReader(b), endless{}), nil)
	ok(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := u.run(ctx); err == nil || !strings.Contains(err.Error(), "announced") {
		t.Errorf("unpacked: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
