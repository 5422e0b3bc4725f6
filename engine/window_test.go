package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	sample "stowage/internal/turns"
)

// notes is a Memory in a map, which also counts.
type notes struct {
	mu     sync.Mutex
	lanes  map[string]LaneResult
	begins int
	fails  int // how many more times Begins fails
}

func newNotes() *notes { return &notes{lanes: map[string]LaneResult{}} }

func (n *notes) Lanes(string) (out []LaneResult, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.lanes {
		out = append(out, r)
	}
	return out, nil
}

func (n *notes) Begins(_, lane string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fails > 0 {
		n.fails--
		return errors.New("no space left on device")
	}
	n.begins++
	if _, has := n.lanes[lane]; !has {
		n.lanes[lane] = LaneResult{Name: lane}
	}
	return nil
}

func (n *notes) Ended(_ string, r LaneResult) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lanes[r.Name] = r
	return nil
}

// journalled is a Memory in a file, for programs that are killed.
type journalled string

func (f journalled) Lanes(string) ([]LaneResult, error) {
	file, err := os.Open(string(f))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n := newNotes()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r LaneResult
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, err
		}
		n.lanes[r.Name] = r
	}
	return n.Lanes("")
}

func (f journalled) Begins(_, lane string) error { return f.Ended("", LaneResult{Name: lane}) }

func (f journalled) Ended(_ string, r LaneResult) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(string(f), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(append(text, '\n'))
	return err
}

func manyLanes(id string, lanes, atOnce int) Job {
	job := Job{ID: id, Kind: "test", Budgets: map[string]int{"farm": atOnce}}
	for i := range lanes {
		name := fmt.Sprintf("%s-%03d", id, i)
		job.Lanes = append(job.Lanes, Lane{Name: name, Holds: []string{"farm"}, Parts: []Part{{Subject: name, Steps: steps("one")}}})
	}
	return job
}

// TestNoLaneWaitsForASlowOne: the first lane ends after all others have: its place is the only one that it keeps.
func TestNoLaneWaitsForASlowOne(t *testing.T) {
	sample.One(t, 3)
	_, c := startEngine(t)
	const lanes, atOnce = 60, 4
	job := manyLanes("slow", lanes, atOnce)
	var mu sync.Mutex
	others, first := 0, make(chan struct{})
	d := &obeyer{hook: func(ctx context.Context, call Call) error {
		if call.Lane == job.Lanes[0].Name {
			select {
			case <-first:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if others++; others == lanes-1 {
			close(first)
		}
		return nil
	}}
	serve(t, c, "", d, atOnce)
	if r := run(t, c, job); r.End() != EndDone {
		t.Errorf("%+v", r)
	}
}

// TestBudgetsAreKeptAcrossAnInterruption: lanes that run when the program ends keep their tokens in the next, which begins no other in
// their place, and none that has ended again.
func TestBudgetsAreKeptAcrossAnInterruption(t *testing.T) {
	_, c := startEngine(t)
	const lanes, atOnce = 12, 3
	job, n := manyLanes("kept", lanes, atOnce), newNotes()
	entered, free := make(chan string, lanes), make(chan struct{}, lanes)
	hook := func(ctx context.Context, call Call) error {
		entered <- call.Lane
		select {
		case <-free:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.opts.Grace = 100 * time.Millisecond
	d := &obeyer{hook: hook}
	stop := serve(t, c, "", d, lanes)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() { _, err := c.Run(ctx, job, n); failed <- err }()
	for range atOnce {
		<-entered
	}
	free <- struct{}{} // one ends, another begins
	<-entered
	waitFor(t, "the end of one is kept", func() bool { return n.ended() == 1 })
	cancel()
	if err := <-failed; !errors.Is(err, ErrInterrupted) {
		t.Fatalf("error %v, want ErrInterrupted", err)
	}
	stop()
	second := &obeyer{hook: hook}
	serve(t, c, "", second, lanes)
	ended := make(chan Result, 1)
	go func() { r, _ := c.Run(t.Context(), job, n); ended <- r }()
	for range atOnce {
		<-entered
	}
	time.Sleep(500 * time.Millisecond) // enough for one more to begin if it would
	select {
	case lane := <-entered:
		t.Errorf("lane %s began beyond the budget of %d", lane, atOnce)
	default:
	}
	for range lanes {
		free <- struct{}{}
	}
	if r := <-ended; r.End() != EndDone {
		t.Errorf("%+v", r)
	}
	for _, lane := range job.Lanes {
		if both := len(d.names(lane.Name)) + len(second.names(lane.Name)); both < 1 || both > 2 {
			t.Errorf("lane %s was attempted %d times", lane.Name, both)
		}
	}
	again, err := c.Run(t.Context(), job, n)
	if calls := len(second.calls); err != nil || again.End() != EndDone || calls != lanes-1 {
		t.Errorf("run again: %v, error %v; %d steps of the second program, want %d", again.End(), err, calls, lanes-1)
	}
}

func (n *notes) ended() (ends int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.lanes {
		if r.End != "" {
			ends++
		}
	}
	return ends
}

// TestLaneBeginsWhenItIsNoted: what cannot be noted, because a disk is full perhaps, has not begun; later it does.
func TestLaneBeginsWhenItIsNoted(t *testing.T) {
	t.Parallel() // it mostly waits
	_, c := startEngine(t)
	serve(t, c, "", &obeyer{}, 1)
	n := newNotes()
	n.fails = 2
	ended := make(chan Result, 1)
	go func() { r, _ := c.Run(t.Context(), manyLanes("noted", 1, 1), n); ended <- r }()
	waitFor(t, "it was tried", func() bool { n.mu.Lock(); defer n.mu.Unlock(); return n.fails < 2 })
	if n.ended() == 0 && phaseOf(t, c, "noted", "noted-000") != NotFound && n.begins == 0 {
		t.Error("a lane began that is not noted")
	}
	if r := <-ended; r.End() != EndDone {
		t.Errorf("%+v", r)
	}
}

// TestLaneOfAnotherQueueIsRefused: another program's lanes are none of ours, whatever they are called.
func TestLaneOfAnotherQueueIsRefused(t *testing.T) {
	s, c := startEngine(t)
	job := oneLane("queued", orders{}, "one")
	if err := begin(t, c, job); err != nil {
		t.Fatal(err)
	}
	o := c.opts
	o.Queue = "run.other"
	other, err := Dial(t.Context(), s.Address(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Run(t.Context(), job, nil); !errors.Is(err, ErrOlder) {
		t.Errorf("%v, want %v", err, ErrOlder)
	}
}
