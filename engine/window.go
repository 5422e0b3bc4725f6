package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Memory is where the program that runs a job keeps which lanes have begun and how they ended, so that who continues with it need not ask
// the engine about thousands of them. It is for this job's program alone; its methods are called from many goroutines.
type Memory interface {
	// Lanes are the lanes of a job that have begun. The End of one whose result is not known is empty.
	Lanes(job string) ([]LaneResult, error)
	// Begins is called before a lane begins and returns when that is on the disk: a lane that Lanes does not have has not begun.
	Begins(job, lane string) error
	// Ended is called with the result of each lane.
	Ended(job string, r LaneResult) error
}

// memoryWait is how long a Memory that fails, for want of space perhaps, is left alone.
const memoryWait = time.Second

// window runs the lanes of one job: as many at once as its budgets allow, another as soon as one has ended. It lives in the program that
// carries the job out. What outlives that is in the engine, where each lane is a workflow of its own, and in the Memory.
//
// One goroutine, run, decides. The goroutine of a lane begins it, waits for its end, and sends that.
type window struct {
	c      *Client
	job    Job
	memory Memory
	tokens *budget
	ends   chan laneEnd
	result Result
	tally  tally
}

type laneEnd struct {
	lane   int
	result LaneResult
	err    error // the lane may still run
}

// Run runs the job's lanes to their ends, or continues with them, and tells how each has ended. A lane that has ended is never run again.
// After a lane failed no other lane begins, but for the failures that the job spares. Lanes that failed are in the Result, not in the error.
// At most one process runs a job at a time; the caller sees to that.
//
// Without a Memory the engine is asked about every lane, which takes a millisecond each.
//
// While the engine is away Run waits for it. When ctx ends first, Run returns ErrInterrupted; the job stays resumable.
func (c *Client) Run(ctx context.Context, job Job, m Memory) (Result, error) {
	if c.jobs == nil {
		return Result{}, errNoKey
	}
	if err := job.Validate(); err != nil {
		return Result{}, err
	}
	if m == nil {
		m = forgetful{ctx, c, job}
	}
	w := &window{c: c, job: job, memory: m, tokens: newBudget(job), ends: make(chan laneEnd), result: Result{Format: Format, Lanes: make([]LaneResult, len(job.Lanes))}}
	for i, lane := range job.Lanes {
		w.result.Lanes[i] = LaneResult{Name: lane.Name, End: EndNotStarted}
	}
	begun, err := w.recall()
	if err != nil {
		return Result{}, err
	}
	return w.run(ctx, begun)
}

// recall takes over what is known of the lanes that have begun, and takes the tokens of those that run.
func (w *window) recall() (running []int, err error) {
	known, err := w.memory.Lanes(w.job.ID)
	if err != nil {
		return nil, fmt.Errorf("recall lanes of job %s: %w", w.job.ID, err)
	}
	byName := make(map[string]LaneResult, len(known))
	for _, r := range known {
		byName[r.Name] = r
	}
	for i, lane := range w.job.Lanes {
		r, has := byName[lane.Name]
		if !has {
			continue
		}
		w.tokens.seize(i)
		w.result.Lanes[i] = r
		if r.End == "" {
			running = append(running, i)
			continue
		}
		w.tokens.release(lane.Holds)
		w.tally.add(r)
	}
	return running, nil
}

// run begins lanes as the budgets allow and waits for their ends.
func (w *window) run(ctx context.Context, begun []int) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	running := 0
	follow := func(i int) {
		running++
		w.result.Lanes[i].End = "" // it runs: neither a failure nor left out
		go func() {
			r, err := w.follow(ctx, w.job.Lanes[i])
			w.ends <- laneEnd{i, r, err}
		}()
	}
	for _, i := range begun {
		follow(i)
	}
	var broken error
	for {
		for broken == nil && w.tally.mayBegin(w.job.Spares) {
			i, ok := w.tokens.next()
			if !ok {
				break
			}
			follow(i)
		}
		if running == 0 {
			return w.result, broken
		}
		end := <-w.ends
		running--
		if end.err != nil {
			if broken == nil || errors.Is(broken, ErrInterrupted) {
				broken = end.err
			}
			cancel(ErrInterrupted) // the others are left to the next program, too
			continue
		}
		w.tokens.release(w.job.Lanes[end.lane].Holds)
		w.result.Lanes[end.lane] = end.result
		w.tally.add(end.result)
	}
}

// follow begins a lane, or finds that it has begun, and waits for its end.
func (w *window) follow(ctx context.Context, lane Lane) (LaneResult, error) {
	if err := w.keep(ctx, "begin lane "+lane.Name, func() error { return w.memory.Begins(w.job.ID, lane.Name) }); err != nil {
		return LaneResult{}, err
	}
	if err := w.c.beginLane(ctx, w.job, lane); err != nil {
		return LaneResult{}, err
	}
	r, err := w.c.awaitLane(ctx, w.job.ID, lane.Name)
	if err != nil {
		return LaneResult{}, err
	}
	// One whose result is not kept counts as one that runs, and is asked for again.
	return r, w.keep(ctx, "keep the result of lane "+lane.Name, func() error { return w.memory.Ended(w.job.ID, r) })
}

// keep calls the Memory until it does not fail.
func (w *window) keep(ctx context.Context, what string, do func() error) error {
	for {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		w.c.log.Warn(what+"; trying again", "job", w.job.ID, "error", err)
		select {
		case <-ctx.Done():
			return ErrInterrupted
		case <-time.After(memoryWait):
		}
	}
}

// tally counts failures as they come, so that thousands of lanes need not be gone through at the end of each.
type tally struct{ own, other int }

func (t *tally) add(r LaneResult) {
	switch {
	case r.End == EndDone || r.End == EndNotStarted || r.End == "":
	case r.IsOwnFailure():
		t.own++
	default:
		t.other++
	}
}

func (t tally) mayBegin(spares int) bool { return t.other == 0 && t.own <= spares }

// forgetful is no memory: the engine is asked.
type forgetful struct {
	ctx context.Context
	c   *Client
	job Job
}

func (f forgetful) Lanes(string) (known []LaneResult, err error) {
	for _, lane := range f.job.Lanes {
		about, err := f.c.describeLane(f.ctx, f.job.ID, lane.Name)
		switch {
		case err != nil:
			return nil, err
		case about.Phase == Running:
			known = append(known, LaneResult{Name: lane.Name})
		case about.Phase == Ended:
			r, err := f.c.awaitLane(f.ctx, f.job.ID, lane.Name)
			if err != nil {
				return nil, err
			}
			known = append(known, r)
		}
	}
	return known, nil
}

func (forgetful) Begins(string, string) error    { return nil }
func (forgetful) Ended(string, LaneResult) error { return nil }
