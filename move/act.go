package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
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
	// Served is an engine of ours that runs already, because hosts had to be
	// asked before the first step; nil: one is started. Whoever started it
	// closes it.
	Served *engine.Server
	Terms  Terms
	// Dry: Begin asks everything and writes nothing; its run does not exist.
	Dry bool
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
	if err := carryable(p); err != nil {
		return store.Run{}, nil, err
	}
	if p.Goals.Unit == placement.UnitShard {
		return a.beginShardPlan(ctx, p, now)
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
	limitStreams(&job, now, p.Goals.Budgets)
	if _, err := gatesOf(job, a.gates(p.Goals)); err != nil {
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
	if a.Dry {
		return nil
	}
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
	if err := a.firstOrders(run, job, p.Goals); err != nil {
		return err
	}
	return a.Store.PutRun(run)
}

// carryable refuses plans that are for thinking: into hosts that do not exist
// yet.
func carryable(p placement.Plan) error {
	for _, h := range p.Hosts {
		if h.New {
			return refused("move", p.Name, fmt.Errorf("host %s of the plan is still to be bought", h.Name),
				"put the new hosts into farm.yaml with address and dir, take buy out of goals.yaml, and plan again")
		}
	}
	return nil
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

// Carry carries a run out, or on, until it has ended or ctx does. The outcome
// is kept in the store. Its error wraps farm.ErrUndone, ErrOutcomeUnknown or
// ErrInterrupted as fits.
func (a *Act) Carry(ctx context.Context, run store.Run) (Outcome, error) {
	var job engine.Job
	if _, err := a.Store.LatestDocument("job", run.ID, &job); err != nil {
		return Outcome{}, err
	}
	var err error
	if a.Mover.Owner, err = a.ownerOf(run); err != nil {
		return Outcome{}, err
	}
	run.PID = os.Getpid()
	if err := a.Store.PutRun(run); err != nil {
		return Outcome{}, err
	}
	deaf, err := a.steer(ctx, run)
	if err != nil {
		return Outcome{}, err
	}
	defer deaf()
	if tell := a.Mover.Sink; tell != nil {
		// A job may be run in pieces; what they tell is of one run.
		a.Mover.Sink = func(e farm.Event) { e.Run = run.ID; tell(e) }
		defer func() { a.Mover.Sink = tell }()
	}
	result, err := a.execute(ctx, job)
	if err != nil {
		if errors.Is(err, engine.ErrInterrupted) {
			return Outcome{}, &farm.Error{Op: "move", Subject: run.Subject, Err: farm.ErrInterrupted, Hint: "go on with: stowage move resume"}
		}
		// The run has begun, and no lane has ended: it is neither undone nor
		// unknown, whatever kept us from carrying it on.
		hint := "remedy that and go on with: stowage move resume"
		if more := farm.Hint(err); more != "" {
			hint = more + "; then: stowage move resume"
		}
		return Outcome{}, &farm.Error{Op: "move", Subject: run.Subject, Err: fmt.Errorf("%w: %w", farm.ErrInterrupted, err), Hint: hint}
	}
	out := newOutcome(run, result)
	if now, _ := a.Mover.Steer.Now(); now.Undo {
		if out.Back, err = a.PlanBack(run); err != nil {
			out.NoBack = err.Error() // the run has ended, and says how, all the same
		}
	}
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

// hintOfEngine: an engine that is there and does not come up says why itself.
func hintOfEngine(err error) string {
	if errors.Is(err, engine.ErrNoBinary) {
		return "make build puts stowage-engine beside stowage"
	}
	return "what it said is in .stowage/engine.log; on a machine that is very busy it may just need another attempt"
}

func (a *Act) execute(ctx context.Context, job engine.Job) (engine.Result, error) {
	address := a.Address
	o := a.Engine
	o.Grace = grace
	if address == "" {
		server := a.Served
		if server == nil {
			var err error
			if server, err = engine.Start(ctx, o); err != nil {
				return engine.Result{}, &farm.Error{Op: "start engine", Err: err, Hint: hintOfEngine(err)}
			}
			defer server.Close()
			a.Served = server // hosts are reached through it too, also while it is started again
			defer func() { a.Served = nil }()
		}
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
	if a.Address == "" {
		takeOver(ctx, client, job, o.Log)
	}
	a.lookForLater(client, job)
	stop, err := client.Serve("", a.Mover, job.Budgets[wholeFarm]+4)
	if err != nil {
		return engine.Result{}, &farm.Error{Op: "serve engine", Subject: address, Err: err}
	}
	defer stop()
	return runInTurn(ctx, client, job)
}

// takeOver ends what a program had begun that was killed: the engine is ours,
// and whoever carries a run out holds the workspace, whose lock ends with its
// process. Where this fails the engine finds out by itself.
func takeOver(ctx context.Context, client *engine.Client, job engine.Job, log *slog.Logger) {
	for _, piece := range pieces(job) {
		ended, err := client.TakeOver(ctx, piece.ID)
		if log != nil && (err != nil || ended > 0) {
			log.Info("a program that was killed had begun steps", "job", piece.ID, "steps", ended, "error", err)
		}
	}
}

// runInTurn runs the pieces of a job one after the other. After a piece in
// which a lane failed, no other is begun, but those that clear up.
func runInTurn(ctx context.Context, client *engine.Client, job engine.Job) (engine.Result, error) {
	var all engine.Result
	for _, piece := range pieces(job) {
		now, rest := piece, []engine.LaneResult(nil)
		switch {
		case piece.Lanes[0].Closing:
			now, rest = closing(piece, all)
		case all.End() != engine.EndDone:
			now.Lanes = nil
			for _, l := range piece.Lanes {
				rest = append(rest, engine.LaneResult{Name: l.Name, End: engine.EndNotStarted})
			}
		}
		if len(now.Lanes) > 0 {
			r, err := client.Run(ctx, now)
			if err != nil {
				return all, err
			}
			all.Format = r.Format
			rest = append(rest, r.Lanes...)
		}
		all.Lanes = append(all.Lanes, inOrder(piece, rest)...)
	}
	return all, nil
}

// closing is what of a closing piece has to be run: the lanes that take back
// what a lane of the same name has done for others that did not follow. It is
// the same after a resume: the results so far are.
func closing(piece engine.Job, soFar engine.Result) (engine.Job, []engine.LaneResult) {
	if soFar.End() == engine.EndDone {
		var rest []engine.LaneResult
		for _, l := range piece.Lanes {
			rest = append(rest, engine.LaneResult{Name: l.Name, End: engine.EndDone})
		}
		piece.Lanes = nil
		return piece, rest
	}
	made := map[string]bool{}
	for i := len(soFar.Lanes) - 1; i >= 0; i-- { // the first of a name made it
		made[soFar.Lanes[i].Name] = soFar.Lanes[i].End == engine.EndDone
	}
	var lanes []engine.Lane
	var rest []engine.LaneResult
	for _, l := range piece.Lanes {
		if made[l.Name] {
			lanes = append(lanes, l)
		} else {
			rest = append(rest, engine.LaneResult{Name: l.Name, End: engine.EndNotStarted})
		}
	}
	piece.Lanes = lanes
	return piece, rest
}

// inOrder sorts the results of a piece as its lanes are.
func inOrder(piece engine.Job, results []engine.LaneResult) []engine.LaneResult {
	out := make([]engine.LaneResult, len(piece.Lanes))
	for i, l := range piece.Lanes {
		n := slices.IndexFunc(results, func(r engine.LaneResult) bool { return r.Name == l.Name })
		if n < 0 {
			out[i] = engine.LaneResult{Name: l.Name, End: engine.EndUnknown}
			continue
		}
		out[i] = results[n]
	}
	return out
}
