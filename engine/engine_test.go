package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLaneRunsPartsAndStepsInOrderAndHandsStateOn(t *testing.T) {
	_, c := startEngine(t)
	d := &obeyer{}
	serve(t, c, "", d, 4)
	job := Job{ID: "order", Kind: "test", Lanes: []Lane{{Name: "a", Parts: []Part{
		{Subject: "s/A", Steps: steps("one", "two", "three")},
		{Subject: "s/B", Steps: steps("one", "two")},
	}}}}
	r := run(t, c, job)
	if r.End() != EndDone {
		t.Fatalf("ended %s: %+v", r.End(), r)
	}
	var seen []string
	for _, call := range d.calls {
		seen = append(seen, call.Subject+" "+call.Step+" "+string(call.State))
	}
	want := []string{
		"s/A one ", `s/A two ["one"]`, `s/A three ["one","two"]`, "s/B one ", `s/B two ["one"]`,
	}
	if !slices.Equal(seen, want) {
		t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	if again := run(t, c, job); again.End() != EndDone || len(d.calls) != len(want) {
		t.Errorf("second run of the same job made calls: %d, want %d", len(d.calls), len(want))
	}
}

func TestStepOnItsOwnQueue(t *testing.T) {
	_, c := startEngine(t)
	here, there := &obeyer{}, &obeyer{}
	serve(t, c, DefaultQueue, here, 1)
	serve(t, c, "host.db001", there, 1)
	job := oneLane("queues", orders{}, "one", "two", "three")
	job.Lanes[0].Parts[0].Steps[1].Queue = "host.db001"
	if r := run(t, c, job); r.End() != EndDone {
		t.Fatalf("%+v", r)
	}
	if got := here.names("s"); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("default queue did %q", got)
	}
	if got := there.names("s"); !slices.Equal(got, []string{"two"}) {
		t.Errorf("host queue did %q", got)
	}
}

// TestFailures walks through every way a lane can end otherwise than done.
func TestFailures(t *testing.T) {
	_, c := startEngine(t)
	const text = "ALTER `orders`: disk full\n  at 98 % \u2014 100 GB needed; see 'df -h'"
	cases := []struct {
		name  string
		steps []string
		fail  map[string]string
		want  LaneResult
		calls []string
	}{
		{"permanent undoes in reverse", []string{"one?", "two", "three?", "four?"}, map[string]string{"three": "permanent"},
			LaneResult{End: EndUndone, Step: "three", Kind: KindPermanent, Error: "around: " + text},
			[]string{"one", "two", "three", "undo three", "undo one"}},
		{"ordinary is retried then undone", []string{"one?", "two"}, map[string]string{"two": "ordinary"},
			LaneResult{End: EndUndone, Step: "two", Kind: KindFailed, Error: text},
			[]string{"one", "two", "two", "undo one"}},
		{"unknown is left alone", []string{"one?", "two?"}, map[string]string{"two": "unknown"},
			LaneResult{End: EndUnknown, Step: "two", Kind: KindUnknown, Error: text},
			[]string{"one", "two"}},
		{"after the point of no return", []string{"one?", "two!", "three?"}, map[string]string{"three": "permanent"},
			LaneResult{End: EndStuck, Step: "three", Kind: KindPermanent, Error: "around: " + text},
			[]string{"one", "two", "three"}},
		{"the step of no return itself", []string{"one?", "two!"}, map[string]string{"two": "permanent"},
			LaneResult{End: EndStuck, Step: "two", Kind: KindPermanent, Error: "around: " + text},
			[]string{"one", "two"}},
		{"undo fails", []string{"one?", "two?", "three"}, map[string]string{"three": "permanent", "undo two": "permanent"},
			LaneResult{End: EndStuck, Step: "three", Kind: KindPermanent, Error: "around: " + text, UndoStep: "two", UndoError: "around: " + text},
			[]string{"one", "two", "three", "undo two"}},
		{"undo is unknown", []string{"one?", "two"}, map[string]string{"two": "permanent", "undo one": "unknown"},
			LaneResult{End: EndUnknown, Step: "two", Kind: KindPermanent, Error: "around: " + text, UndoStep: "one", UndoError: text},
			[]string{"one", "two", "undo one"}},
		{"panic is an ordinary error", []string{"one?", "two"}, map[string]string{"two": "panic"},
			LaneResult{End: EndUndone, Step: "two", Kind: KindFailed, Error: "step panicked: " + text},
			[]string{"one", "two", "two", "undo one"}},
	}
	d := &obeyer{}
	serve(t, c, "", d, 4)
	for i, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			job := oneLane(fmt.Sprintf("fail-%d", i), orders{Fail: tc.fail, Text: text}, tc.steps...)
			subject := fmt.Sprintf("s%d", i)
			job.Lanes[0].Parts[0].Subject = subject
			tc.want.Name, tc.want.Part = "lane", subject
			r := run(t, c, job)
			if (r.Lanes[0].State != "") != (r.Lanes[0].UndoStep != "") {
				t.Errorf("state %q with undo step %q", r.Lanes[0].State, r.Lanes[0].UndoStep)
			}
			r.Lanes[0].State = ""
			if r.Lanes[0] != tc.want {
				t.Errorf("ended\n%+v\nwant\n%+v", r.Lanes[0], tc.want)
			}
			if got := d.names(subject); !slices.Equal(got, tc.calls) {
				t.Errorf("calls %q\nwant  %q", got, tc.calls)
			}
		})
	}
}

func TestUglyErrorTextArrives(t *testing.T) {
	_, c := startEngine(t)
	d := &obeyer{hook: func(context.Context, Call) error {
		return Permanent(errors.New("log says: \xff\xfe \x00 " + strings.Repeat("long ", 10_000) + "END"))
	}}
	serve(t, c, "", d, 1)
	got := run(t, c, oneLane("ugly", orders{}, "one")).Lanes[0]
	if !strings.HasPrefix(got.Error, "log says: \uFFFD") || !strings.HasSuffix(got.Error, "END") {
		t.Errorf("text was mangled: %.60q ... %q", got.Error, got.Error[max(0, len(got.Error)-20):])
	}
}

func TestNoLaneStartsAfterOneFailed(t *testing.T) {
	_, c := startEngine(t)
	d := &obeyer{}
	serve(t, c, "", d, 4)
	job := Job{ID: "stop", Kind: "test", Budgets: map[string]int{"two": 2}}
	for i := range 6 {
		o := orders{Sleep: 300 * time.Millisecond}
		if i == 0 {
			o = orders{Fail: map[string]string{"one": "permanent"}, Text: "no"}
		}
		job.Lanes = append(job.Lanes, Lane{Name: fmt.Sprint(i), Holds: []string{"two"},
			Parts: []Part{{Subject: fmt.Sprint(i), Args: o.args(), Steps: steps("one", "two")}}})
	}
	r := run(t, c, job)
	var ends []string
	for _, lane := range r.Lanes {
		ends = append(ends, string(lane.End))
	}
	want := "undone done not-started not-started not-started not-started"
	if got := strings.Join(ends, " "); got != want {
		t.Errorf("lanes ended %q, want %q", got, want)
	}
	if r.End() != EndUndone {
		t.Errorf("job ended %s", r.End())
	}
}

func TestBudgetsAreKeptByTheRealWorkflow(t *testing.T) {
	_, c := startEngine(t)
	var mu sync.Mutex
	now, most := map[string]int{}, map[string]int{}
	holds := map[string][]string{}
	d := &obeyer{hook: func(_ context.Context, call Call) error {
		mu.Lock()
		for _, token := range holds[call.Lane] {
			now[token]++
			most[token] = max(most[token], now[token])
		}
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		for _, token := range holds[call.Lane] {
			now[token]--
		}
		mu.Unlock()
		return nil
	}}
	serve(t, c, "", d, 50)
	job := Job{ID: "budget", Kind: "test", Budgets: map[string]int{"farm": 5, "h0": 1, "h1": 2, "h2": 3}}
	for i := range 24 {
		name := fmt.Sprint("lane", i)
		holds[name] = []string{"farm", fmt.Sprint("h", i%3)}
		job.Lanes = append(job.Lanes, Lane{Name: name, Holds: holds[name], Parts: []Part{{Subject: name, Steps: steps("one", "two", "three")}}})
	}
	if r := run(t, c, job); r.End() != EndDone {
		t.Fatalf("%+v", r)
	}
	for token, n := range most {
		if n > job.Budgets[token] {
			t.Errorf("token %s was held %d times at once, budget %d", token, n, job.Budgets[token])
		}
	}
	if most["farm"] < 3 {
		t.Errorf("at most %d lanes ran at once: lanes do not run side by side", most["farm"])
	}
}

func TestInterruptLeavesTheJobResumable(t *testing.T) {
	t.Parallel() // it mostly waits
	_, c := startEngine(t)
	d := &obeyer{}
	stop := serve(t, c, "", d, 4)
	job := oneLane("interrupt", orders{Sleep: 700 * time.Millisecond}, "one", "two", "three")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for len(d.names("s")) == 0 && ctx.Err() == nil { // it has begun
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	if _, err := c.Run(ctx, job, nil); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("error %v, want ErrInterrupted", err)
	}
	if s, err := c.describeLane(t.Context(), job.ID, "lane"); err != nil || s.Phase != Running || s.Kind != "test" || s.Format != Format {
		t.Fatalf("state %+v, error %v; want running", s, err)
	}
	stop()
	if d.clash != "" {
		t.Error("calls overlapped on", d.clash)
	}
	d2 := &obeyer{}
	serve(t, c, "", d2, 4)
	if r := run(t, c, job); r.End() != EndDone {
		t.Fatalf("%+v", r)
	}
	if both := append(d.names("s"), d2.names("s")...); !slices.Equal(both, []string{"one", "two", "three"}) {
		t.Errorf("calls %q: a graceful stop must neither cut a step short nor repeat it", both)
	}
	if is := phaseOf(t, c, job.ID, "lane"); is != Ended {
		t.Errorf("the lane is %s, want ended", is)
	}
	if is := phaseOf(t, c, "nobody", "lane"); is != NotFound {
		t.Errorf("a lane that nobody has begun is %s", is)
	}
}

// TestStopCutsAStepThatDoesNotEnd: after the grace the step's context ends; the next worker attempts the step again, and the
// interrupted attempt is no failure, even though the step may be attempted only once.
func TestStopCutsAStepThatDoesNotEnd(t *testing.T) {
	t.Parallel() // it mostly waits
	_, c := startEngine(t)
	c.opts.Grace = 300 * time.Millisecond
	began := make(chan struct{})
	stuck := &obeyer{hook: func(ctx context.Context, _ Call) error {
		close(began)
		<-ctx.Done()
		return Unknown(errors.New("cut short"))
	}}
	stop := serve(t, c, "", stuck, 1)
	job := oneLane("cut", orders{}, "one?")
	job.Lanes[0].Parts[0].Steps[0].Attempts = 1
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { _, err := c.Run(ctx, job, nil); failed <- err }()
	<-began
	stop()
	cancel()
	if err := <-failed; !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	d := &obeyer{}
	serve(t, c, "", d, 1)
	if r := run(t, c, job); r.End() != EndDone {
		t.Errorf("%+v", r)
	}
}

// TestAnswerAfterTheGraceCounts: a step that finishes although its time to stop is up has been done, and is not done again.
func TestAnswerAfterTheGraceCounts(t *testing.T) {
	_, c := startEngine(t)
	c.opts.Grace = 300 * time.Millisecond
	began := make(chan struct{})
	d := &obeyer{hook: func(ctx context.Context, call Call) error {
		if call.Step == "one" {
			close(began) // twice panics
			<-ctx.Done()
			time.Sleep(200 * time.Millisecond) // what a worker does after its grace is done by now
		}
		return nil
	}}
	stop := serve(t, c, "", d, 1)
	job := oneLane("late", orders{}, "one", "two")
	ended := make(chan Result, 1)
	go func() { r, _ := c.Run(t.Context(), job, nil); ended <- r }()
	<-began
	stop()
	serve(t, c, "", d, 1)
	if r := <-ended; r.End() != EndDone {
		t.Errorf("%+v", r)
	}
	if got := d.names("s"); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("calls %q", got)
	}
}

// TestSpuriousHeartbeatTimeout cuts the heartbeats of a step that works on: the second attempt must cancel and outwait the first.
func TestSpuriousHeartbeatTimeout(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: overlapping attempts (takes 8 s)")
	}
	_, c := startEngine(t)
	c.pulse = func(context.Context, []byte, string) error { return errors.New("cut off") }
	slow := 500 * time.Millisecond // between its cancellation and its return
	d := &obeyer{hook: func(ctx context.Context, call Call) error {
		if call.Attempt > 1 || call.Step != "one" {
			return nil
		}
		<-ctx.Done()
		time.Sleep(slow)
		return Unknown(ctx.Err())
	}}
	serve(t, c, "", d, 4)
	r := run(t, c, oneLane("spurious", orders{}, "one", "two"))
	if r.End() != EndDone || d.clash != "" {
		t.Errorf("ended %+v, clash %q", r, d.clash)
	}
	if got := d.names("s"); !slices.Equal(got, []string{"one", "one", "two"}) {
		t.Errorf("calls %q", got)
	}
}

// TestOverdueStep: the context ends in time for the step's own words to be heard; a step that does not listen is not run twice at
// once, nor undone while it still works.
func TestOverdueStep(t *testing.T) {
	t.Parallel() // it mostly waits
	_, c := startEngine(t)
	d := &obeyer{hook: func(ctx context.Context, call Call) error {
		if call.Undo || call.Step != "slow" {
			return nil
		}
		<-ctx.Done()
		if call.Job == "deaf" {
			time.Sleep(3 * time.Second)
		}
		return fmt.Errorf("copied 7 of 9 GB: %w", ctx.Err())
	}}
	serve(t, c, "", d, 4)
	for _, id := range []string{"listens", "deaf"} {
		job := oneLane(id, orders{}, "first?", "slow?")
		job.Lanes[0].Parts[0].Subject = id
		job.Lanes[0].Parts[0].Steps[1].Timeout = 5 * time.Second // its words have a tenth of it to be heard
		job.Lanes[0].Parts[0].Steps[1].Attempts = 1
		got := run(t, c, job).Lanes[0]
		if got.Kind != KindTimeout || got.Step != "slow" || !strings.Contains(got.Error, "took longer than") {
			t.Errorf("%s: %+v", id, got)
		}
		if id == "listens" && (got.End != EndUndone || got.Error != "took longer than 5s: copied 7 of 9 GB: context deadline exceeded") {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if d.clash != "" {
		t.Error("overlapping calls on", d.clash)
	}
}

func TestStateMustBeJSON(t *testing.T) {
	_, c := startEngine(t)
	serve(t, c, "", doerFunc(func(Call) (json.RawMessage, error) { return json.RawMessage("{"), nil }), 1)
	if r := run(t, c, oneLane("state", orders{}, "one")); r.Lanes[0].Kind != KindPermanent {
		t.Errorf("%+v", r)
	}
}

type doerFunc func(Call) (json.RawMessage, error)

func (f doerFunc) Do(_ context.Context, c Call, _ func(string)) (json.RawMessage, error) { return f(c) }
