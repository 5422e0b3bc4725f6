package vault

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/vault"
	"stowage/vault/vaulttest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v (hint: %s)", err, farm.Hint(err))
	}
}

// TestRepositories is the suite of all vaults, behind each server.
func TestRepositories(t *testing.T) {
	for name, start := range kinds {
		t.Run(name, func(t *testing.T) {
			vaulttest.Run(t, vaulttest.Subject{
				Place: func(t testing.TB) vault.Place { return start(t, t.TempDir()).place },
				Seed:  uint64(time.Now().UnixNano()),
				Short: name != "sftp", // each part of it once behind a server
			})
		})
	}
}

// streamSize is enough for restic to have sent packs of it when half has come.
const streamSize = 60 << 20

// halfway is a producer that does something when half of its stream has gone.
func halfway(b []byte, do func()) func(io.Writer) error {
	return func(w io.Writer) error {
		if err := vaulttest.Write(b[:len(b)/2])(w); err != nil {
			return err
		}
		do()
		return vaulttest.Write(b[len(b)/2:])(w)
	}
}

// TestFaultsHalfway: whatever happens in the middle of a part, there is the whole part or none, and the next attempt ends well.
func TestFaultsHalfway(t *testing.T) {
	raw := vaulttest.Stream(7, streamSize)
	for name, start := range kinds {
		// A fault returns what waits until its end.
		for what, fault := range map[string]func(t *testing.T, s *server, cancel context.CancelFunc) (mended func()){
			"server killed and started again": func(t *testing.T, s *server, _ context.CancelFunc) func() {
				s.kill()
				return after(2*time.Second, func() {
					if err := s.tryStart(); err != nil {
						t.Error(err)
					}
				})
			},
			"server killed for good": func(t *testing.T, s *server, cancel context.CancelFunc) func() {
				s.kill()
				return after(5*time.Second, cancel) // the person gives up before restic does
			},
			"server stands still for a while": func(t *testing.T, s *server, _ context.CancelFunc) func() {
				s.signal(syscall.SIGSTOP)
				return after(4*time.Second, func() { s.signal(syscall.SIGCONT) })
			},
			"restic killed": func(t *testing.T, s *server, _ context.CancelFunc) func() {
				killRestic(t, s.place)
				return func() {}
			},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				s := start(t, t.TempDir())
				v, err := vault.Open(s.place)
				must(t, err)
				vaulttest.Keep(t, v, "shop1/before", map[string][]byte{"base.xb": {1}})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				mended := func() {}
				p, err := v.Put(ctx, "shop1/full", "base.xb", halfway(raw, func() { mended = fault(t, s, cancel) }))
				mended()
				t.Logf("put: %.200v", err)
				if what == "server killed for good" {
					if err == nil {
						t.Error("a part was kept by a dead server")
					}
					s.start()
				}
				if what == "server stands still for a while" {
					must(t, err)
				}
				if what == "restic killed" && err == nil {
					t.Error("a part was kept by a dead restic")
				}
				vaulttest.WantSets(t, v, "", "shop1/before")
				if err == nil {
					must(t, v.Seal(t.Context(), vault.Manifest{FormatVersion: vault.Format, Set: "shop1/full", Parts: []vault.Part{p}}, nil))
				} else {
					vaulttest.Keep(t, v, "shop1/full", map[string][]byte{"base.xb": raw})
				}
				must(t, v.Check(t.Context(), "shop1/full"))
				if !bytes.Equal(vaulttest.Get(t, v, "shop1/full", "base.xb"), raw) {
					t.Error("other bytes came back")
				}
				must(t, v.Remove(t.Context(), "shop1/before")) // past the locks of the dead
				vaulttest.WantSets(t, v, "", "shop1/full")
			})
		}
	}
}

// after does something after a while; wait waits until it is done.
func after(d time.Duration, do func()) (wait func()) {
	done := make(chan struct{})
	time.AfterFunc(d, func() { defer close(done); do() })
	return func() { <-done }
}

// killRestic kills the restic that keeps a part in this repository, and no other.
func killRestic(t *testing.T, p vault.Place) {
	t.Helper()
	killed := 0
	for _, pid := range offspring(os.Getpid()) {
		env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		exe, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if filepath.Base(exe) == "restic" && bytes.Contains(env, []byte("RESTIC_PASSWORD_FILE="+p.PasswordFile+"\x00")) {
			must(t, syscall.Kill(pid, syscall.SIGKILL))
			killed++
		}
	}
	if killed != 1 {
		t.Errorf("%d restics were killed, not one", killed)
	}
}

// TestFullServer: the disk behind the server is full.
func TestFullServer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: a full disk; to mount a small one needs root")
	}
	random := make([]byte, 40<<20)
	f, err := os.Open("/dev/urandom")
	must(t, err)
	_, err = io.ReadFull(f, random)
	must(t, errors.Join(err, f.Close()))
	for name, start := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			room := t.TempDir()
			if err := unix.Mount("tmpfs", room, "tmpfs", 0, "size=24m,mode=700"); err != nil {
				t.Skipf("NOT TESTED: a full disk: %v", err)
			}
			t.Cleanup(func() { must(t, unix.Unmount(room, unix.MNT_DETACH)) })
			s := start(t, room)
			v, err := vault.Open(s.place)
			must(t, err)
			vaulttest.Keep(t, v, "shop1/before", map[string][]byte{"base.xb": {1}})
			_, err = v.Put(t.Context(), "shop1/full", "base.xb", vaulttest.Write(random))
			t.Logf("put: %v (hint: %s)", err, farm.Hint(err))
			if err == nil {
				t.Fatal("40 MB were kept on 24 MB")
			}
			if hint := farm.Hint(err); name != "s3" && !strings.Contains(hint, "room") && !strings.Contains(hint, "full") {
				t.Errorf("the hint says %q", hint) // gofakes3 says Internal Error
			}
			vaulttest.WantSets(t, v, "", "shop1/before")
			must(t, v.Check(t.Context(), "shop1/before"))
			must(t, v.Drop(t.Context(), "shop1/full"))
			must(t, v.(*vault.Restic).Prune(t.Context()))
			vaulttest.Keep(t, v, "shop1/full", map[string][]byte{"base.xb": random[:4<<20]})
			must(t, v.Check(t.Context(), "shop1/full"))
		})
	}
}

// TestServerIsGone: nobody listens there. That is no empty vault.
func TestServerIsGone(t *testing.T) {
	for name, start := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir())
			v, err := vault.Open(s.place)
			must(t, err)
			s.kill()
			_, put := v.Put(t.Context(), "a/b", "base.xb", vaulttest.Write([]byte{1}))
			sets, list := v.Sets(t.Context(), "")
			for what, err := range map[string]error{"put": put, "sets": list, "get": v.Get(t.Context(), "a/b", "base.xb", io.Discard)} {
				if err == nil || errors.Is(err, vault.ErrNone) || errors.Is(err, vault.ErrDamaged) || len(sets) > 0 {
					t.Errorf("%s: %v", what, err)
				}
			}
			t.Logf("put: %v (hint: %s)", put, farm.Hint(put))
			if !strings.Contains(farm.Hint(put), "server") {
				t.Errorf("the hint says %q", farm.Hint(put))
			}
			s.start()
			vaulttest.Keep(t, v, "a/b", map[string][]byte{"base.xb": {1}})
		})
	}
}

// TestAppendOnly: such a server takes backups and gives them, and nothing away.
func TestAppendOnly(t *testing.T) {
	t.Parallel()
	s := newREST(t, t.TempDir())
	s.kill()
	s.args = append(s.args, "--append-only")
	s.start()
	v, err := vault.Open(s.place)
	must(t, err)
	vaulttest.Keep(t, v, "a/b", map[string][]byte{"base.xb": {1, 2}})
	err = v.Remove(t.Context(), "a/b")
	t.Logf("remove: %v (hint: %s)", err, farm.Hint(err))
	if err == nil || !strings.Contains(farm.Hint(err), "append") {
		t.Errorf("removed: %v, hint %q", err, farm.Hint(err))
	}
	vaulttest.WantSets(t, v, "", "a/b")
	must(t, v.Check(t.Context(), "a/b"))
}

// TestNoSecretIsShown: not in an argument of a process, where everybody reads it.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	s := newREST(t, t.TempDir())
	v, err := vault.Open(s.place)
	must(t, err)
	_, err = v.Put(t.Context(), "a/b", "base.xb", func(w io.Writer) error {
		out, err := exec.Command("ps", "-eww", "-o", "args").Output()
		must(t, err)
		if !bytes.Contains(out, []byte("restic")) || !bytes.Contains(out, []byte("a/b")) {
			t.Error("restic does not run")
		}
		for _, secret := range []string{userPassword, url.PathEscape(userPassword), url.QueryEscape(userPassword), repositoryPassword} {
			if bytes.Contains(out, []byte(secret)) {
				t.Errorf("%q can be read by everybody", secret)
			}
		}
		return vaulttest.Write([]byte{1})(w)
	})
	must(t, err)
}
