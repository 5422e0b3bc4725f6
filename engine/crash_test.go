package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sample "stowage/internal/turns"
)

// playWorker serves the default queue of the engine named in the environment until it is killed.
func playWorker() int {
	run := runCertificates{Control: []byte(os.Getenv("ENGINE_TEST_CERT")), ControlKey: []byte(os.Getenv("ENGINE_TEST_KEY")), CA: []byte(os.Getenv("ENGINE_TEST_CA"))}
	how, err := run.client()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c, err := Dial(context.Background(), os.Getenv("ENGINE_TEST_ADDRESS"), Options{Dir: os.Getenv("ENGINE_TEST_DIR"), TLS: how})
	if err == nil {
		_, err = c.Serve("", &obeyer{}, 8)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	select {}
}

// playController is a whole Stowage: engine, worker and the wait for a job. Its result goes to a file.
func playController() int {
	dir := os.Getenv("ENGINE_TEST_DIR")
	fail := func(err error) int { fmt.Fprintln(os.Stderr, "controller:", err); return 1 }
	ctx := context.Background()
	o := Options{Binary: os.Getenv("ENGINE_TEST_BINARY"), Dir: dir}
	s, err := Start(ctx, o)
	if err != nil {
		return fail(err)
	}
	defer s.Close()
	if err := os.WriteFile(filepath.Join(dir, "engine.pid"), []byte(strconv.Itoa(s.PID())), 0o600); err != nil {
		return fail(err)
	}
	o.TLS = s.TLS()
	c, err := Dial(ctx, s.Address(), o)
	if err != nil {
		return fail(err)
	}
	defer c.Close()
	stop, err := c.Serve("", &obeyer{}, 8)
	if err != nil {
		return fail(err)
	}
	defer stop()
	r, err := c.Run(ctx, crashJob(filepath.Join(dir, "journal")), journalled(filepath.Join(dir, "lanes")))
	if err != nil {
		return fail(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fail(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "result"), text, 0o600); err != nil {
		return fail(err)
	}
	return 0
}

var crashSteps = []string{"one", "two", "three", "four", "five"}

// crashJob has lanes that outnumber their budget, so that crashes also hit the moments when lanes change. Its steps may be attempted
// once only: the death of a process is no failed attempt.
func crashJob(journal string) Job {
	job := Job{ID: "crash", Kind: "test", Budgets: map[string]int{"farm": 3}}
	for i := range 6 {
		var parts []Part
		once := steps(crashSteps...)
		for k := range once {
			once[k].Attempts = 1
		}
		for _, side := range []string{"A", "B"} {
			parts = append(parts, Part{Subject: fmt.Sprintf("s%d/%s", i, side),
				Args: orders{Sleep: 60 * time.Millisecond, Journal: journal}.args(), Steps: once})
		}
		job.Lanes = append(job.Lanes, Lane{Name: fmt.Sprint("lane", i), Holds: []string{"farm"}, Parts: parts})
	}
	return job
}

// checkJournal judges the journal of a job that ended "done", knowing nothing of how the engine works: of every subject every step
// has ended at least once, and no step began before the one in front of it had ended.
func checkJournal(t *testing.T, journal string, job Job) {
	t.Helper()
	f, err := os.Open(journal)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ended := map[string]map[string]bool{}
	order := map[string][]Step{}
	for _, lane := range job.Lanes {
		for _, part := range lane.Parts {
			order[part.Subject], ended[part.Subject] = part.Steps, map[string]bool{}
		}
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word := strings.Split(lines.Text(), "\t")
		what, subject, step := word[0], word[1], word[2]
		if what == "end" {
			ended[subject][step] = true
			continue
		}
		for _, before := range order[subject] {
			if before.Name == step {
				break
			}
			if !ended[subject][before.Name] {
				t.Errorf("%s: %s began before %s had ended", subject, step, before.Name)
			}
		}
		after := false
		for _, s := range order[subject] {
			if after && ended[subject][s.Name] {
				t.Errorf("%s: %s began again after %s had ended", subject, step, s.Name)
			}
			after = after || s.Name == step
		}
	}
	for subject, list := range order {
		for _, s := range list {
			if !ended[subject][s.Name] {
				t.Errorf("%s: %s never ended", subject, s.Name)
			}
		}
	}
}

// play starts this test binary in another role. Its output goes to the test's log when it fails.
func play(t *testing.T, role string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), "ENGINE_TEST_ROLE="+role), env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// awaitLines waits until the journal has grown by n lines.
func awaitLines(t *testing.T, journal string, n int) {
	t.Helper()
	want := lines(journal) + n
	for deadline := time.Now().Add(time.Minute); lines(journal) < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("journal stands still at %d lines, want %d", lines(journal), want)
		}
	}
}

func lines(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return strings.Count(string(text), "\n")
}

func TestKillEngineMidStep(t *testing.T) {
	sample.One(t, 3)
	t.Parallel() // it mostly waits
	s, c := startEngine(t)
	journal := filepath.Join(t.TempDir(), "journal")
	job := crashJob(journal)
	d := &obeyer{}
	serve(t, c, "", d, 8)
	type outcome struct {
		r   Result
		err error
	}
	ended := make(chan outcome, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	go func() { r, err := c.Run(ctx, job, nil); ended <- outcome{r, err} }()
	address, killed := s.Address(), 0
	for range 3 {
		awaitLines(t, journal, 6+rand.IntN(12))
		if pid := s.PID(); pid != 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	o := <-ended
	if o.err != nil || o.r.End() != EndDone {
		t.Fatalf("ended %+v, error %v", o.r, o.err)
	}
	if killed != 3 || s.Address() != address || d.clash != "" {
		t.Errorf("killed %d times, address %s (was %s), clash %q", killed, s.Address(), address, d.clash)
	}
	checkJournal(t, journal, job)
}

func TestKillWorkerMidStep(t *testing.T) {
	sample.One(t, 3)
	t.Parallel() // it mostly waits
	s, c := startEngine(t)
	journal := filepath.Join(t.TempDir(), "journal")
	job := crashJob(journal)
	ended := make(chan Result, 1)
	go func() { ended <- run(t, c, job) }()
	for range 2 {
		w := play(t, "worker", keysOf(s)...)
		awaitLines(t, journal, 6+rand.IntN(20))
		if err := w.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = w.Wait()
	}
	play(t, "worker", keysOf(s)...)
	if r := <-ended; r.End() != EndDone {
		t.Errorf("%+v", r)
	}
	checkJournal(t, journal, job)
}

// TestKillEverything kills the controller, its engine, or both, at random moments, and starts a new one each time.
func TestKillEverything(t *testing.T) {
	t.Parallel() // it mostly waits
	dir := t.TempDir()
	journal, result := filepath.Join(dir, "journal"), filepath.Join(dir, "result")
	env := []string{"ENGINE_TEST_DIR=" + dir, "ENGINE_TEST_BINARY=" + engineBinary(t)}
	for round := range 4 {
		ctl := play(t, "controller", env...)
		awaitLines(t, journal, 4+rand.IntN(16))
		if round%2 == 0 { // else the lifeline ends the engine
			text, err := os.ReadFile(filepath.Join(dir, "engine.pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(string(text))
			if err != nil {
				t.Fatal(err)
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := ctl.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = ctl.Wait()
	}
	ctl := play(t, "controller", env...)
	if err := ctl.Wait(); err != nil {
		t.Fatalf("last controller: %v", err)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil || r.End() != EndDone {
		t.Errorf("result %s, error %v", text, err)
	}
	checkJournal(t, journal, crashJob(journal))
}
