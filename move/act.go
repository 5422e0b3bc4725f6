package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
	"stowage/store"
	"stowage/workspace"
)

// Act is the carrying out of a plan in a workspace: checked, begun, resumed,
// ended. One Act holds the workspace's lock at a time.
type Act struct {
	Workspace *workspace.Workspace
	Store     *store.Store
	Mover     *Mover
	// Engine starts the embedded engine, unless Address names one.
	Engine  engine.Options
	Address string
}

// grace is how long steps may take to end when we are told to stop. It covers
// everything that happens behind a closed gate several times over; a copy that
// takes longer is given up and begun again by the resume.
const grace = 10 * time.Second

// Pending are the moves of a plan that farm.yaml does not show as done yet.
func Pending(p placement.Plan, now *farm.Farm) []placement.Move {
	var out []placement.Move
	for _, m := range p.Moves {
		if !isDone(m, now) {
			out = append(out, m)
		}
	}
	return out
}

func isDone(m placement.Move, now *farm.Farm) bool {
	p, ok := now.Pair(m.Pair)
	if !ok {
		return false
	}
	s := p.Sides[m.Side]
	return s.Host == m.To.Host && s.Port == m.To.Port && s.Datadir == m.To.Datadir
}

// Begin checks that a plan may be carried out, in this order: the plan itself,
// the farm against what the plan was made from, and every side it touches.
// Findings come back in any case; an error that wraps farm.ErrRefused means
// nothing was touched.
func (a *Act) Begin(ctx context.Context, name string) (store.Run, []farm.Finding, error) {
	p, err := a.Workspace.Plan(name)
	if err != nil {
		return store.Run{}, nil, err
	}
	now, err := a.Workspace.Farm()
	if err != nil {
		return store.Run{}, nil, err
	}
	if err := a.nothingOpen(); err != nil {
		return store.Run{}, nil, err
	}
	if err := notDrifted(p, now); err != nil {
		return store.Run{}, nil, err
	}
	pending := Pending(p, now)
	if len(pending) == 0 {
		return store.Run{}, nil, nil
	}
	if len(pending) == len(p.Moves) {
		if wrong := check.Plan(now, p); farm.Blocks(wrong) {
			return store.Run{}, wrong, refused("move", p.Name, errors.New("the plan does not pass the independent check"), "plan again")
		}
	}
	run := store.Run{ID: a.nextID(p.Name), Kind: "move", Subject: p.Name, State: store.Running, Started: time.Now(), PID: os.Getpid()}
	job, err := NewJob(run.ID, pending, now, p.Goals.Parallel)
	if err != nil {
		return store.Run{}, nil, err
	}
	a.Mover.Owner = ownerOf(run)
	findings, err := a.Mover.Survey(ctx, job)
	if err != nil {
		return store.Run{}, findings, err
	}
	if farm.Blocks(findings) {
		return store.Run{}, findings, refused("move", p.Name, errors.New("preflight found blockers"), "remedy them, or leave the pairs out of the plan")
	}
	return run, findings, a.write(run, job, p, now)
}

// write makes the run durable before anything is touched: ids are spent
// first, so that no crash can give them out twice.
func (a *Act) write(run store.Run, job engine.Job, p placement.Plan, now *farm.Farm) error {
	if p.NextServerID > now.NextServerID {
		err := a.Workspace.EditFarm(func(e *workspace.Edit) error {
			e.SetNextServerID(p.NextServerID)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := a.Store.PutDocument("job", run.ID, run.Started, job); err != nil {
		return err
	}
	return a.Store.PutRun(run)
}

func refused(op, subject string, err error, hint string) error {
	return &farm.Error{Op: op, Subject: subject, Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: hint}
}

// nothingOpen refuses to begin beside an act that was cut short.
func (a *Act) nothingOpen() error {
	last, err := a.Store.LatestRun("move")
	if errors.Is(err, store.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if last.State == store.Running {
		return refused("move", last.Subject, fmt.Errorf("run %s of %s has not ended", last.ID, last.Started.Local().Format(time.DateTime)),
			"finish it first: stowage move resume")
	}
	return nil
}

func notDrifted(p placement.Plan, now *farm.Farm) error {
	done := func(pair farm.PairName, side farm.SideName) bool {
		for _, m := range p.Moves {
			if m.Pair == pair && m.Side == side {
				return isDone(m, now)
			}
		}
		return false
	}
	differ := placement.Drift(p, now, done)
	if len(differ) == 0 {
		return nil
	}
	lines := make([]string, 0, len(differ))
	for _, d := range differ[:min(10, len(differ))] {
		lines = append(lines, d.String())
	}
	if more := len(differ) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return refused("move", p.Name, fmt.Errorf("the farm has changed since the plan was made:\n  %s", strings.Join(lines, "\n  ")),
		"look at the difference and plan again: stowage plan")
}

func (a *Act) nextID(plan string) string {
	runs, err := a.Store.Runs("move")
	n := 1
	if err == nil {
		for _, r := range runs {
			if r.Subject == plan {
				n++
			}
		}
	}
	return fmt.Sprintf("move-%s-%d", plan, n)
}

// Unfinished is the run to go on with: one that was cut short, or one that
// ended stuck behind the point of no return, which can only go forward. It is
// store.ErrNone when there is none.
func (a *Act) Unfinished() (store.Run, error) {
	last, err := a.Store.LatestRun("move")
	if err != nil || last.State == store.Running {
		return last, err
	}
	if last.State == store.Failed {
		return a.forward(last)
	}
	return last, store.ErrNone
}

// forward makes a run of what a stuck run left to be done.
func (a *Act) forward(stuck store.Run) (store.Run, error) {
	var job engine.Job
	var out Outcome
	if _, err := a.Store.LatestDocument("job", stuck.ID, &job); err != nil {
		return stuck, err
	}
	if err := json.Unmarshal([]byte(stuck.Result), &out); err != nil {
		return stuck, fmt.Errorf("read result of %s: %w", stuck.ID, err)
	}
	rest := remainder(job, out)
	if len(rest) == 0 {
		return stuck, store.ErrNone
	}
	job.ID, job.Lanes = a.nextID(stuck.Subject), rest
	run := store.Run{ID: job.ID, Kind: "move", Subject: stuck.Subject, State: store.Running, Started: time.Now(), PID: os.Getpid()}
	if err := a.Store.PutDocument("job", run.ID, run.Started, job); err != nil {
		return stuck, err
	}
	return run, a.Store.PutRun(run)
}

// remainder are the lanes that stopped at a step of no return, from that step
// on. Nothing before it is done again, nothing after it is left out.
func remainder(job engine.Job, out Outcome) []engine.Lane {
	var rest []engine.Lane
	for i, l := range out.Lanes {
		s, known := find(l.Step)
		if l.End != engine.EndStuck || !known || !s.NoReturn {
			continue
		}
		lane := job.Lanes[i]
		for n, part := range lane.Parts {
			if part.Subject != l.Part {
				continue
			}
			for k, step := range part.Steps {
				if step.Name == l.Step {
					part.Steps = part.Steps[k:]
					break
				}
			}
			lane.Parts = append([]engine.Part{part}, lane.Parts[n+1:]...)
			break
		}
		rest = append(rest, lane)
	}
	return rest
}

// Carry carries a run out, or on, until it has ended or ctx does. The outcome
// is kept in the store. Its error wraps farm.ErrUndone, ErrOutcomeUnknown or
// ErrInterrupted as fits.
func (a *Act) Carry(ctx context.Context, run store.Run) (Outcome, error) {
	var job engine.Job
	if _, err := a.Store.LatestDocument("job", run.ID, &job); err != nil {
		return Outcome{}, err
	}
	a.Mover.Owner = ownerOf(run)
	run.PID = os.Getpid()
	if err := a.Store.PutRun(run); err != nil {
		return Outcome{}, err
	}
	result, err := a.execute(ctx, job)
	if err != nil {
		if errors.Is(err, engine.ErrInterrupted) {
			return Outcome{}, &farm.Error{Op: "move", Subject: run.Subject, Err: farm.ErrInterrupted, Hint: "go on with: stowage move resume"}
		}
		return Outcome{}, err
	}
	out := newOutcome(run, result)
	run.State, run.Ended = store.Done, time.Now()
	if !out.Whole() {
		run.State = store.Failed
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return out, err
	}
	run.Result = string(raw)
	if err := a.Store.PutRun(run); err != nil {
		return out, err
	}
	return out, out.Err()
}

// ownerOf marks the directories a run makes.
func ownerOf(run store.Run) string { return "stowage " + run.ID }

func (a *Act) execute(ctx context.Context, job engine.Job) (engine.Result, error) {
	address := a.Address
	o := a.Engine
	o.Grace = grace
	if address == "" {
		server, err := engine.Start(ctx, o)
		if err != nil {
			return engine.Result{}, &farm.Error{Op: "start engine", Err: err, Hint: "make build puts stowage-engine beside stowage"}
		}
		defer server.Close()
		address = server.Address()
		// An engine that was killed is started again; one that keeps dying is
		// given up, and we with it: the run can be resumed.
		given, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			<-server.Gone()
			cancel()
		}()
		ctx = given
	}
	client, err := engine.Dial(ctx, address, o)
	if err != nil {
		return engine.Result{}, &farm.Error{Op: "reach engine", Subject: address, Err: err}
	}
	defer client.Close()
	stop, err := client.Serve("", a.Mover, job.Budgets[wholeFarm]+4)
	if err != nil {
		return engine.Result{}, &farm.Error{Op: "serve engine", Subject: address, Err: err}
	}
	defer stop()
	return runInTurn(ctx, client, job)
}

// runInTurn runs the pieces of a job one after the other. After a piece in
// which a lane failed, no other is begun.
func runInTurn(ctx context.Context, client *engine.Client, job engine.Job) (engine.Result, error) {
	var all engine.Result
	for _, piece := range pieces(job) {
		if all.End() != engine.EndDone {
			for _, l := range piece.Lanes {
				all.Lanes = append(all.Lanes, engine.LaneResult{Name: l.Name, End: engine.EndNotStarted})
			}
			continue
		}
		r, err := client.Run(ctx, piece)
		if err != nil {
			return all, err
		}
		all.Format, all.Lanes = r.Format, append(all.Lanes, r.Lanes...)
	}
	return all, nil
}
