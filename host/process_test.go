package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/host/hosttest"
)

const patience = hosttest.Patience

func must(t testing.TB, err error) {
	t.Helper()
	hosttest.Must(t, err)
}

// starter is set in the environment of a copy of this test program that shall
// start an instance and then be killed.
const starter = "STOWAGE_TEST_STARTER"

func TestMain(m *testing.M) {
	if config := os.Getenv(starter); config != "" {
		startAndHang(config)
	}
	if spec := os.Getenv(stopper); spec != "" {
		stopOne(spec)
	}
	os.Exit(m.Run())
}

func startAndHang(spec string) {
	var i host.Instance
	var wait bool
	if _, err := fmt.Sscanf(spec, "%s %d %s %s %t", &i.Address, &i.Port, &i.Datadir, &i.Config, &wait); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	i.Name = "orphan"
	l, err := host.NewLocal(newLog())
	if err == nil && wait {
		err = l.Start(context.Background(), i, patience)
	} else if err == nil {
		go l.Start(context.Background(), i, patience)
		for pid := 0; pid == 0; pid, err = l.Running(context.Background(), i) {
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Println("started", err)
	select {}
}

// startedByAnother starts an instance in another process and kills that one with
// kill -9: when the instance is up, or as soon as its server process exists.
func startedByAnother(t *testing.T, i host.Instance, whenUp bool) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s %s %t", starter, i.Address, i.Port, i.Datadir, i.Config, whenUp))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if err != nil || line != "started <nil>\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
}

// TestInstanceOutlivesItsStarter: Stowage is killed, the server is not.
func TestInstanceOutlivesItsStarter(t *testing.T) {
	l := local(t)
	i, _ := hosttest.Filled(t, l, "orphan")
	startedByAnother(t, i, true)
	time.Sleep(50 * time.Millisecond)
	pid, err := l.Running(t.Context(), i)
	if pid == 0 || err != nil {
		t.Fatalf("the server died with the program that started it: %d, %v", pid, err)
	}
	if got := hosttest.Value(t, i, "SELECT 1"); got != "1" {
		t.Errorf("answers %s", got)
	}
	must(t, l.Start(t.Context(), i, patience)) // resumed: left alone
	if again, _ := l.Running(t.Context(), i); again != pid {
		t.Errorf("a second server was started: %d beside %d", again, pid)
	}
	must(t, l.Stop(t.Context(), i, patience))
}

// TestKilledWhileAServerStarts: the server has no pid file yet; whoever takes
// over waits for that one, or stops it, and starts no second on the same files.
func TestKilledWhileAServerStarts(t *testing.T) {
	l := local(t)
	i, _ := hosttest.Filled(t, l, "orphan")
	for round := range 4 {
		startedByAnother(t, i, false)
		first, err := l.Running(t.Context(), i)
		must(t, err)
		if first == 0 {
			t.Fatalf("round %d: the server that is starting is not found", round)
		}
		if round%2 == 0 {
			must(t, l.Start(t.Context(), i, patience))
			if pid, _ := l.Running(t.Context(), i); pid != first {
				t.Errorf("round %d: process %d runs, want %d", round, pid, first)
			}
			if got := hosttest.Value(t, i, "SELECT 1"); got != "1" {
				t.Errorf("answers %s", got)
			}
		}
		must(t, l.Stop(t.Context(), i, patience))
		if pid, _ := l.Running(t.Context(), i); pid != 0 {
			t.Errorf("round %d: stopped, and process %d runs", round, pid)
		}
	}
}

// TestPidFileOfAnotherIsNotBelieved: pids are given out again, and files torn.
func TestPidFileOfAnotherIsNotBelieved(t *testing.T) {
	l := local(t)
	i, other := place(t, l, "mine"), runningServer(t, l, "other")
	must(t, l.Claim(t.Context(), i, "test"))
	for name, content := range map[string]string{
		"this process": strconv.Itoa(os.Getpid()), "the first": "1", "none": "999999999", "empty": "", "torn": "12x", "negative": "-1", "zero": "0",
		"another instance": strconv.Itoa(other.pid),
	} {
		must(t, os.WriteFile(filepath.Join(i.Dir(), host.PidFile), []byte(content+"\n"), 0o644))
		if pid, err := l.Running(t.Context(), i); pid != 0 || err != nil {
			t.Errorf("%s: believed, %d, %v", name, pid, err)
		}
		must(t, l.Stop(t.Context(), i, patience)) // and nobody is stopped for it
		must(t, l.Kill(t.Context(), i, patience))
	}
	if pid, err := l.Running(t.Context(), other.Instance); pid != other.pid || err != nil {
		t.Errorf("the other instance was %d and is %d, %v", other.pid, pid, err)
	}
	must(t, l.Kill(t.Context(), other.Instance, patience))
	if pid, _ := l.Running(t.Context(), other.Instance); pid != 0 {
		t.Error("killed, and runs")
	}
	// A crash leaves its pid file; the instance starts again.
	must(t, l.Start(t.Context(), other.Instance, patience))
}

type running struct {
	host.Instance
	pid int
}

func runningServer(t *testing.T, l *host.Local, name string) running {
	t.Helper()
	i, _ := hosttest.Filled(t, l, name)
	must(t, l.Start(t.Context(), i, patience))
	pid, err := l.Running(t.Context(), i)
	must(t, err)
	return running{i, pid}
}

func place(t *testing.T, l *host.Local, name string) host.Instance { return hosttest.Place(t, l, name) }

// TestAServerThatFailsToStartSaysWhy: at once, with the end of its log.
func TestAServerThatFailsToStartSaysWhy(t *testing.T) {
	l := local(t)
	i, like := hosttest.Filled(t, l, "ill")
	for _, test := range []struct {
		name   string
		values map[string]string
		says   string
	}{
		{"unknown option", map[string]string{"no_such_option": "1"}, "no_such_option"},
		{"unusable value", map[string]string{"innodb_page_size": "4096"}, "innodb"},
		{"no such data directory", map[string]string{"datadir": i.Datadir + "-gone"}, "-gone"},
	} {
		hosttest.Config(t, l, i, like, test.values)
		begin := time.Now()
		err := l.Start(t.Context(), i, 10*time.Minute)
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), test.says) {
			t.Errorf("%s: %v\nwant it to say %s", test.name, err, test.says)
		}
		if took := time.Since(begin); took > patience {
			t.Errorf("%s: took %v to find out", test.name, took)
		}
		if pid, _ := l.Running(t.Context(), i); pid != 0 {
			t.Errorf("%s: runs", test.name)
		}
	}
	hosttest.Config(t, l, i, like, nil)
	must(t, l.Start(t.Context(), i, patience)) // put right, it starts
}

// TestPortInUse: another server answers at the address; it is not taken for ours.
func TestPortInUse(t *testing.T) {
	l := local(t)
	other := runningServer(t, l, "other")
	i, like := hosttest.Filled(t, l, "mine")
	i.Address, i.Port = other.Address, other.Port
	hosttest.Config(t, l, i, like, nil)
	err := l.Start(t.Context(), i, 10*time.Minute)
	if err == nil || !strings.Contains(err.Error(), "Address already in use") && !strings.Contains(err.Error(), "port") {
		t.Errorf("error %v, want the port in use", err)
	}
	if pid, _ := l.Running(t.Context(), other.Instance); pid != other.pid {
		t.Error("the other server is gone")
	}
}

// TestStartGivesUp: a server that answers nobody, for longer than the budget
// or the context allows.
func TestStartGivesUp(t *testing.T) {
	l := local(t)
	i, like := hosttest.Filled(t, l, "deaf")
	hosttest.Config(t, l, i, like, map[string]string{"skip_networking": "1"})
	err := l.Start(t.Context(), i, 500*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "takes no connection at "+i.Dial()) || farm.Hint(err) == "" {
		t.Errorf("error %v, want that it takes no connection, and where to look", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := l.Start(ctx, i, patience); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("interrupted: %v", err)
	}
	must(t, l.Kill(t.Context(), i, patience))
}

// TestListeningIsNotUp: whoever only listens is not a server that is up.
func TestListeningIsNotUp(t *testing.T) {
	l := local(t)
	i, _ := hosttest.Filled(t, l, "mute")
	ln, err := net.Listen("tcp", i.Dial())
	must(t, err)
	defer ln.Close()
	// The mute listener has the port; the server fails, whatever the dial says.
	if err := l.Start(t.Context(), i, patience); err == nil {
		t.Error("started beside a listener that never says a word")
	}
}

func TestCanReach(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: not root, so servers run under this account and reach what it reaches")
	}
	l := local(t)
	dir, err := os.MkdirTemp("", "stowage-reach-*") // 0700, of root
	must(t, err)
	defer os.RemoveAll(dir)
	inner := filepath.Join(dir, "a", "b")
	if err := l.CanReach(inner); err == nil || !strings.Contains(err.Error(), dir) || farm.Hint(err) == "" {
		t.Errorf("behind a closed directory: %v, want its name and a way out", err)
	}
	must(t, os.Chmod(dir, 0o711))
	must(t, l.CanReach(inner))
	must(t, os.MkdirAll(inner, 0o700))
	must(t, os.Chmod(filepath.Dir(inner), 0o711))
	if err := l.CanReach(inner); err == nil {
		t.Error("a directory only root may enter")
	}
	opened, err := os.Open(inner)
	must(t, errors.Join(err, l.Own(opened), opened.Close()))
	must(t, l.CanReach(inner))
	done := make(chan struct{})
	go func() { _ = l.CanReach("relative/path"); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("never ends on a relative path")
	}
}

func TestServersDoNotRunAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: not root, so there is no account to change to")
	}
	s := runningServer(t, local(t), "unprivileged")
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	must(t, err)
	if strings.Contains(string(raw), "Uid:\t0\t") {
		t.Error("the server runs as root")
	}
}

// TestStopHasAnEnd: a server that does not react to SIGTERM (here it cannot, it
// is stopped as a debugger would stop it) is killed, and starts again from what
// it had written.
func TestStopHasAnEnd(t *testing.T) {
	l := local(t)
	i, _ := hosttest.Filled(t, l, "hung")
	must(t, l.Start(t.Context(), i, patience))
	pid, err := l.Running(t.Context(), i)
	must(t, err)
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	must(t, l.Stop(t.Context(), i, 500*time.Millisecond))
	if left, _ := l.Running(t.Context(), i); left != 0 {
		t.Fatalf("process %d still runs", left)
	}
	must(t, l.Start(t.Context(), i, patience))
	if got := hosttest.Value(t, i, "SELECT 1"); got != "1" {
		t.Errorf("answers %s", got)
	}
}
