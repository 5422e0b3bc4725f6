package engine

import (
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
	if err := os.WriteFile(o.DB, []byte(strings.Repeat("this is no SQLite file. ", 400)), 0o600); err != nil {
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

// TestLockKeepsASecondEngineOut: it waits for the first one instead of opening the same file, and takes over when that one goes.
func TestLockKeepsASecondEngineOut(t *testing.T) {
	o := testOptions(t)
	first, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	const held = time.Second
	go func() { time.Sleep(held); first.Close() }()
	begun := time.Now()
	second, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if time.Since(begun) < held {
		t.Errorf("the second engine was ready after %v, while the first had the file", time.Since(begun))
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
