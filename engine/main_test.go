package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test binary play the other processes of a crash: a worker, or a whole controller with its engine.
func TestMain(m *testing.M) {
	switch role := os.Getenv("ENGINE_TEST_ROLE"); role {
	case "":
		os.Exit(m.Run())
	case "worker":
		os.Exit(playWorker())
	case "controller":
		os.Exit(playController())
	default:
		fmt.Fprintln(os.Stderr, "unknown role", role)
		os.Exit(2)
	}
}

// orders is what a test's step is told to do, in Part.Args.
type orders struct {
	Sleep   time.Duration     `json:"sleep,omitempty"`   // every step
	Journal string            `json:"journal,omitempty"` // file that records begin and end of every call
	Fail    map[string]string `json:"fail,omitempty"`    // step, or "undo STEP" -> kind of error it answers
	Text    string            `json:"text,omitempty"`    // text of these errors
}

func (o orders) args() json.RawMessage {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return text
}

// obeyer is the tests' Doer. It hands the names of all steps so far on as the state.
type obeyer struct {
	mu    sync.Mutex
	busy  map[string]bool
	calls []Call
	clash string // set when two calls for one subject overlapped
	hook  func(ctx context.Context, c Call) error
}

func (o *obeyer) Do(ctx context.Context, c Call, beat func(string)) (json.RawMessage, error) {
	if err := o.enter(c); err != nil {
		return nil, err
	}
	defer o.leave(c)
	var ord orders
	if err := json.Unmarshal(c.Args, &ord); err != nil && len(c.Args) > 0 {
		return nil, Permanent(err)
	}
	name := c.Step
	if c.Undo {
		name = "undo " + name
	}
	if err := note(ord.Journal, "begin", c, name); err != nil {
		return nil, err
	}
	beat("working on " + name)
	select {
	case <-time.After(ord.Sleep):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if o.hook != nil {
		if err := o.hook(ctx, c); err != nil {
			return nil, err
		}
	}
	switch ord.Fail[name] {
	case "permanent":
		return nil, fmt.Errorf("around: %w", Permanent(errors.New(ord.Text)))
	case "unknown":
		return nil, Unknown(errors.New(ord.Text))
	case "ordinary":
		return nil, errors.New(ord.Text)
	case "panic":
		panic(ord.Text)
	}
	if err := note(ord.Journal, "end", c, name); err != nil {
		return nil, err
	}
	var so []string
	if err := json.Unmarshal(c.State, &so); err != nil && len(c.State) > 0 {
		return nil, Permanent(err)
	}
	return json.Marshal(append(so, name))
}

func (o *obeyer) enter(c Call) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := c.Job + "|" + c.Subject
	if o.busy == nil {
		o.busy = map[string]bool{}
	}
	if o.busy[key] {
		o.clash = key
	}
	o.busy[key] = true
	o.calls = append(o.calls, c)
	return nil
}

func (o *obeyer) leave(c Call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy[c.Job+"|"+c.Subject] = false
}

// names lists the calls made for one subject, in order.
func (o *obeyer) names(subject string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for _, c := range o.calls {
		if c.Subject != subject {
			continue
		}
		name := c.Step
		if c.Undo {
			name = "undo " + name
		}
		names = append(names, name)
	}
	return names
}

// note appends one line to the journal; O_APPEND keeps lines of several processes whole.
func note(journal, what string, c Call, name string) error {
	if journal == "" {
		return nil
	}
	f, err := os.OpenFile(journal, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s\t%s\t%s\t%d\t%d\n", what, c.Subject, name, os.Getpid(), c.Attempt)
	return err
}

// engineBinary finds bin/stowage-engine or builds it; when neither works the test says loudly what was not tested.
func engineBinary(t *testing.T) string {
	t.Helper()
	if os.Getenv("STOWAGE_SERVERS") == "none" { // make check
		t.Skip("SKIPPED: no engine is wanted")
	}
	path, err := filepath.Abs("../bin/stowage-engine")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	build := exec.Command("go", "build", "-trimpath", "-o", path, ".")
	build.Dir = "../engined"
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: durable execution. stowage-engine is missing and cannot be built: %v\n%s", err, out)
	}
	return path
}

func testOptions(t *testing.T) Options { return testOptionsIn(t, t.TempDir()) }

func testOptionsIn(t *testing.T, dir string) Options {
	t.Helper()
	o := Options{Binary: engineBinary(t), Dir: dir, Grace: 10 * time.Second}
	if testing.Verbose() {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return o
}

// startEngine gives a test an engine and a client of its own.
func startEngine(t *testing.T) (*Server, *Client) {
	t.Helper()
	return startEngineIn(t, t.TempDir())
}

func startEngineIn(t *testing.T, dir string) (*Server, *Client) {
	t.Helper()
	o := testOptionsIn(t, dir)
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	o.TLS = s.TLS()
	c, err := Dial(t.Context(), s.Address(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return s, c
}

// keysOf tells another process of the test how to dial the engine.
func keysOf(s *Server) []string {
	r := s.opts.run
	return []string{"ENGINE_TEST_ADDRESS=" + s.Address(), "ENGINE_TEST_DIR=" + s.opts.Dir,
		"ENGINE_TEST_CERT=" + string(r.Control), "ENGINE_TEST_KEY=" + string(r.ControlKey), "ENGINE_TEST_CA=" + string(r.CA)}
}

func serve(t *testing.T, c *Client, queue string, d Doer, n int) (stop func()) {
	t.Helper()
	stop, err := c.Serve(queue, d, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return stop
}

func run(t *testing.T, c *Client, job Job) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := c.Run(ctx, job, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// begin has the lanes of a job begin, and nobody wait for them.
func begin(t *testing.T, c *Client, job Job) error {
	t.Helper()
	for _, lane := range job.Lanes {
		if err := c.beginLane(t.Context(), job, lane); err != nil {
			return err
		}
	}
	return nil
}

func lanesOf(job Job) (names []string) {
	for _, lane := range job.Lanes {
		names = append(names, lane.Name)
	}
	return names
}

// phaseOf is how far a lane is, as the engine knows it.
func phaseOf(t *testing.T, c *Client, job, lane string) Phase {
	t.Helper()
	state, err := c.describeLane(t.Context(), job, lane)
	if err != nil {
		t.Fatal(err)
	}
	return state.Phase
}

// steps makes plain steps out of names; a trailing "?" makes one undoable, a trailing "!" one without return.
func steps(names ...string) []Step {
	var list []Step
	for _, n := range names {
		list = append(list, Step{
			Name: strings.TrimRight(n, "?!"), Attempts: 2,
			Undoable: strings.Contains(n, "?"), NoReturn: strings.Contains(n, "!"),
		})
	}
	return list
}

func oneLane(id string, o orders, names ...string) Job {
	return Job{ID: id, Kind: "test", Lanes: []Lane{{Name: "lane", Parts: []Part{{Subject: "s", Args: o.args(), Steps: steps(names...)}}}}}
}
