package host_test

import (
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/host"
	"stowage/host/hosttest"
	"stowage/internal/turns"
)

// A server that its owner starts in a way of his own, with options on the command line, a variable in its environment, or under mysqld_safe, is started so again;
// who writes the note cannot be anybody else.
func TestServerIsStartedAgainAsItsOwnerDoes(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	slow := filepath.Join(t.TempDir(), "mysqld_safe") // that takes its time to end
	must(t, os.WriteFile(slow, []byte("#!/bin/sh\n/usr/sbin/mariadbd \"$@\"\nsleep 1\n"), 0o700))
	for _, x := range []struct {
		name string
		argv []string
	}{
		{"again-plain", []string{"/usr/sbin/mariadbd"}},
		{"again-safe", []string{"/usr/bin/mysqld_safe"}},
		{"again-slow", []string{slow}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if _, err := os.Stat(x.argv[0]); err != nil {
				t.Skipf("NOT TESTED: %s is not installed", x.argv[0])
			}
			l, err := host.NewLocal(newLog())
			must(t, err)
			notes := t.TempDir()
			must(t, os.Chmod(notes, 0o700))
			l.KeepNotes(notes)
			i, _ := hosttest.Filled(t, l, x.name)
			must(t, l.Start(t.Context(), i, patience)) // nothing is noted: as ever
			must(t, l.Stop(t.Context(), i, patience))

			own := exec.Command(x.argv[0], append(x.argv[1:], "--defaults-file="+i.Config, "--max-connections=77")...)
			own.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TZ=Asia/Tokyo"}
			own.Dir = "/"
			own.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if os.Geteuid() == 0 && !strings.HasSuffix(x.argv[0], "_safe") {
				u, err := user.Lookup(host.ServerUser)
				must(t, err)
				uid, _ := strconv.Atoi(u.Uid)
				gid, _ := strconv.Atoi(u.Gid)
				own.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{4711}}
			} else if os.Geteuid() == 0 {
				own.Args = append(own.Args, "--user=mysql")
			}
			must(t, own.Start())
			go func() { _ = own.Wait() }()
			settings := func() string {
				t.Helper()
				return hosttest.Value(t, i, "SELECT CONCAT(@@max_connections, ' ', @@system_time_zone)")
			}
			for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
				conn, err := net.DialTimeout("tcp", i.Dial(), time.Second)
				if err == nil {
					_ = conn.SetReadDeadline(time.Now().Add(time.Second))
					_, err = conn.Read(make([]byte, 5))
					_ = conn.Close()
				}
				if err == nil {
					break
				}
				if time.Now().After(end) {
					t.Fatal(err)
				}
			}
			groups := func() string {
				t.Helper()
				pid, err := l.Running(t.Context(), i)
				must(t, err)
				raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
				must(t, err)
				_, rest, _ := strings.Cut(string(raw), "\nGroups:")
				line, _, _ := strings.Cut(rest, "\n")
				return strings.TrimSpace(line)
			}
			was, had := settings(), groups()
			if os.Geteuid() == 0 && !strings.HasSuffix(x.argv[0], "_safe") && had != "4711" {
				t.Errorf("it is in the groups %q", had)
			}
			must(t, l.NoteStart(t.Context(), i))
			must(t, l.NoteStart(t.Context(), i))
			must(t, l.Stop(t.Context(), i, patience))
			must(t, l.NoteStart(t.Context(), i)) // it does not run: the note stays
			must(t, l.StartAgain(t.Context(), i, patience))
			must(t, l.StartAgain(t.Context(), i, patience))
			if is := settings(); is != was || !strings.HasPrefix(is, "77 ") {
				t.Errorf("started again it has %q, had %q", is, was)
			}
			if is := groups(); is != had {
				t.Errorf("started again it is in the groups %q, was in %q", is, had)
			}
			must(t, l.Stop(t.Context(), i, patience))
			if left, _ := filepath.Glob("/proc/[0-9]*/cmdline"); slices.ContainsFunc(left, func(p string) bool {
				raw, _ := os.ReadFile(p)
				return strings.Contains(string(raw), i.Config)
			}) {
				t.Error("the server is stopped, and what has started it goes on")
			}

			must(t, os.Chmod(notes, 0o777))
			if err := l.StartAgain(t.Context(), i, patience); err == nil {
				t.Error("a note was believed that everybody can write")
			}
			must(t, os.Chmod(notes, 0o700))
			files, _ := filepath.Glob(notes + "/*")
			if len(files) != 1 {
				t.Errorf("%v", files)
			}
		})
	}
}

// The servers' account has been given groups for what its server needs: a key of
// ssl-cert, huge pages.
func TestServersRunWithoutTheGroupsOfTheirAccount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: not root, so there is no account to change to")
	}
	p, err := host.FindPrograms()
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	out, err := exec.Command("id", "-G", host.ServerUser).Output()
	must(t, err)
	var got []string
	for _, g := range p.Account.Groups {
		got = append(got, strconv.FormatUint(uint64(g), 10))
	}
	want := strings.Fields(string(out))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("servers get the groups %q; id(1) says %q", got, want)
	}
}
