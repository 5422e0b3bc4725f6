package engine

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStartFailsWithTheEnginesOwnWords(t *testing.T) {
	o := testOptions(t)
	o.DB = filepath.Join(o.Dir, "not-a-database")
	if err := os.WriteFile(o.DB, []byte(strings.Repeat("this is not an SQLite file. ", 400)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "not-a-database") || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("got %v", err)
	}
	o.Binary = filepath.Join(o.Dir, "no-such-binary")
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no-such-binary") {
		t.Errorf("got %v", err)
	}
}

// TestStartGoesOnWhenTheEngineIsKilledAsItStarts: a kill says nothing about the next one.
func TestStartGoesOnWhenTheEngineIsKilledAsItStarts(t *testing.T) {
	o := testOptions(t)
	killed := filepath.Join(o.Dir, "killed")
	script := "#!/bin/sh\n[ -e " + killed + " ] || { touch " + killed + "; kill -9 $$; }\nexec " + o.Binary + " \"$@\"\n"
	o.Binary = filepath.Join(o.Dir, "killed-first")
	if err := os.WriteFile(o.Binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(killed); err != nil {
		t.Errorf("the first was not killed: %v", err)
	}
}

// TestStartGoesOnWhenAPortIsTaken: somebody takes a port between the engine's look and its listen. Its log has a stack trace
// behind that, and a person is told the reason and not the trace.
func TestStartGoesOnWhenAPortIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	o := testOptions(t)
	o.Listen = taken.Addr().String()
	_, err = Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "address already in use") || strings.Contains(err.Error(), ".go:") {
		t.Errorf("got %v", err)
	}
	o = testOptions(t)
	first := filepath.Join(o.Dir, "first")
	script := "#!/bin/sh\n[ -e " + first + " ] || { touch " + first + "; exec " + o.Binary + " \"$@\" --listen " + taken.Addr().String() + "; }\nexec " + o.Binary + " \"$@\"\n"
	o.Binary = filepath.Join(o.Dir, "taken-first")
	if err := os.WriteFile(o.Binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// TestWorkerWaitsForAnEngineThatIsAway: the SDK asks for 10 s when a worker starts, and an engine that was killed on a busy
// machine takes longer to be back.
func TestWorkerWaitsForAnEngineThatIsAway(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: the start of a worker without an engine (takes some 12 s)")
	}
	t.Parallel() // it mostly waits
	o := testOptions(t)
	first, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Listen, o.TLS, o.run = first.Address(), first.TLS(), first.opts.run
	c, err := Dial(t.Context(), o.Listen, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	back := make(chan error, 1)
	go func() {
		time.Sleep(11 * time.Second)
		second, err := Start(t.Context(), o)
		if err == nil {
			t.Cleanup(func() { second.Close() })
		}
		back <- err
	}()
	stop, err := c.Serve("", &obeyer{}, 1)
	if err != nil {
		t.Errorf("the worker does not start: %v", err)
	} else {
		stop()
	}
	if err := <-back; err != nil {
		t.Error(err)
	}
}

// Programs of one directory share one engine: it outlives the one that has started it for as long as another needs it.
func TestProgramsShareAnEngine(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	first, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	pid := first.PID()
	if second.PID() != pid || second.Address() != first.Address() {
		t.Errorf("the first has engine %d on %s, the second %d on %s", pid, first.Address(), second.PID(), second.Address())
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	dialled := o
	dialled.TLS = second.TLS()
	c, err := Dial(t.Context(), second.Address(), dialled)
	if err != nil {
		t.Fatalf("after the program that has started it left: %v", err)
	}
	c.Close()
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	awaitEnd(t, pid)
	if _, err := os.Stat(filepath.Join(o.Dir, atName)); err == nil {
		t.Error("engine.at was left behind")
	}
}

// Whoever notices first that the shared engine died starts it again, for all, where it was.
func TestSharedEngineIsStartedAgainOnce(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	var all []*Server
	for range 3 {
		s, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		all = append(all, s)
	}
	was := all[0].PID()
	if err := all[0].Close(); err != nil { // its parent: the others are no parents of it
		t.Fatal(err)
	}
	if err := syscall.Kill(was, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if a, b := all[1].PID(), all[2].PID(); a == b && a != 0 && a != was {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("engines %d and %d after one that was %d", all[1].PID(), all[2].PID(), was)
		}
	}
	if all[1].Address() != all[2].Address() {
		t.Errorf("on %s and %s", all[1].Address(), all[2].Address())
	}
}

// A program that was killed leaves its engine to the next one, which finds it alive or starts another.
func TestEngineAfterAKilledProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctl := play(t, "controller", "ENGINE_TEST_DIR="+dir, "ENGINE_TEST_BINARY="+engineBinary(t))
	pid := filepath.Join(dir, "engine.pid")
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(pid); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no engine")
		}
	}
	if err := ctl.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = ctl.Wait()
	s, err := Start(t.Context(), Options{Dir: dir, Binary: engineBinary(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	awaitEnd(t, s.PID())
}

// awaitEnd waits until a process has ended; one that nobody has waited for yet has.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || len(line) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("engine %d still runs, and nobody needs it", pid)
		}
	}
}

func TestCloseEndsTheChildAndIsSafeTwice(t *testing.T) {
	s, err := Start(t.Context(), testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	pid := s.PID()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d still lives", pid)
	}
	select {
	case <-s.Gone():
	default:
		t.Error("not gone after Close")
	}
}

// TestSupervisorGivesUp: a binary that has become useless must not be started for ever, and whoever waits must learn why.
func TestSupervisorGivesUp(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: giving up (takes some 30 s)")
	}
	o := testOptions(t)
	link := filepath.Join(o.Dir, "engine")
	if err := os.Symlink(o.Binary, link); err != nil {
		t.Fatal(err)
	}
	o.Binary = link
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Gone():
	case <-time.After(2 * time.Minute):
		t.Fatal("supervisor goes on and on")
	}
	if s.Err() == nil || !strings.Contains(s.Err().Error(), "engine.log") {
		t.Errorf("error %v", s.Err())
	}
}
