package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/session"
	"stowage/store"
	"stowage/workspace"
)

// Act is the carrying out of runs of one kind in a session: checked, begun, resumed, ended. Its session shares the workspace,
// and has the turn where a run begins, unless it is Dry.
type Act struct {
	*session.Session
	*Conductor
	Terms Terms
	// Elsewhere refuses beside what another verb has begun and not ended; nil: nothing.
	Elsewhere func() error
	// Dry: Begin asks everything and writes nothing; its run does not exist.
	Dry bool
	// Parallel is how many lanes all runs together may have on their way; 0: as many as the job has.
	Parallel int
	// WayBack plans how to take back what a run has done for good; nil: there is no such way.
	WayBack func(store.Run) (*Back, error)

	taken *workspace.Taken // the claim of the run
}

// grace is how long steps may take to end when we are told to stop. It covers everything that happens behind a closed gate several
// times over; a copy that takes longer is given up and begun again by the resume.
const grace = 10 * time.Second

// Carry carries a run out, or on, until it has ended or ctx does. The outcome
// is kept in the store. Its error wraps farm.ErrUndone, ErrOutcomeUnknown or
// ErrInterrupted as fits.
func (a *Act) Carry(ctx context.Context, run store.Run) (Outcome, error) {
	if err := a.ofThisKind(run); err != nil {
		return Outcome{}, err
	}
	a.hear()
	var job engine.Job
	_, err := a.Store.LatestDocument("job", run.ID, &job)
	if err != nil {
		return Outcome{}, err
	}
	if err := job.CheckFormat(); err != nil {
		return Outcome{}, Refused(a.Kind.Name, run.ID, err, "stowage runs lists all")
	}
	a.known = bookOf(job)
	if a.Owner, err = a.ownerOf(run); err != nil {
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
	defer a.keepMinutes(ctx, run.ID)()
	if tell := a.Sink; tell != nil {
		// A job of several stages is several to the engine; what they tell is of one run.
		a.Sink = func(e farm.Event) { e.Run = run.ID; tell(e) }
		defer func() { a.Sink = tell }()
	}
	result, err := a.execute(ctx, job)
	if err != nil {
		if errors.Is(err, engine.ErrInterrupted) {
			return Outcome{}, &farm.Error{Op: a.Kind.Name, Subject: run.Subject, Err: farm.ErrInterrupted, Hint: "continue with: stowage resume"}
		}
		// The run has begun, and no lane has ended: it is neither undone nor
		// unknown, whatever kept us from carrying it on.
		hint := "remedy that and continue with: stowage resume"
		if more := farm.Hint(err); more != "" {
			hint = more + "; then: stowage resume"
		}
		return Outcome{}, &farm.Error{Op: a.Kind.Name, Subject: run.Subject, Err: fmt.Errorf("%w: %w", farm.ErrInterrupted, err), Hint: hint}
	}
	out := newOutcome(a.Kind, run, result)
	if now, _ := a.Steer.Now(); now.Undo && a.WayBack != nil {
		if out.Back, err = a.WayBack(run); err != nil {
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
	if err := a.taken.Drop(); err != nil {
		a.Log.Warn("could not remove the claim of a run that has ended; the next run removes it", "run", run.ID, "error", err)
	}
	return out, out.Err()
}

// hear lets the run tell of answers that a host has not given. It comes before the first host is asked.
func (a *Act) hear() {
	if a.Alarm == nil {
		a.Alarm = a.AnswerRefused
	}
}

// ofThisKind refuses a run of another kind: its steps are not ours, whatever they are called.
func (a *Act) ofThisKind(run store.Run) error {
	if run.Kind == a.Kind.Name {
		return nil
	}
	return Refused(a.Kind.Name, run.ID, fmt.Errorf("it is a %s, which this verb does not carry out", run.Kind), "use the version of Stowage that began it; stowage runs lists all")
}

func (a *Act) execute(ctx context.Context, job engine.Job) (engine.Result, error) {
	e, err := a.Session.Engine(ctx)
	if err != nil {
		return engine.Result{}, err
	}
	e.Grace, e.Queue = grace, queueOf(job)
	// An engine that was killed is started again; one that keeps dying is given up, and we with it: the run can be resumed.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-e.Gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	client, err := e.Dial(ctx)
	if err != nil {
		return engine.Result{}, err
	}
	defer client.Close()
	lanes, err := openLedger(a.Store, job)
	if err != nil {
		return engine.Result{}, err
	}
	if e.Ours {
		ended, err := lanes.takeOver(ctx, client, job)
		if e.Log != nil && (err != nil || ended > 0) {
			e.Log.Info("a program that was killed had begun steps", "run", job.ID, "steps", ended, "error", err)
		}
	}
	a.lookForLater(lanes)
	stop, err := client.Serve("", a.Conductor, width(job)+4)
	if err != nil {
		return engine.Result{}, &farm.Error{Op: "serve engine", Subject: e.Address, Err: err}
	}
	defer stop()
	return runInTurn(ctx, client, job, lanes)
}

// width is how many lanes of a job may be on their way at once.
func width(job engine.Job) int {
	if n := job.Budgets[WholeFarm]; n > 0 {
		return n
	}
	return min(len(job.Lanes), 64)
}

// queueOf is where the workflows and steps of a run wait for the program that carries it out.
func queueOf(job engine.Job) string { return "run." + job.ID }

// runInTurn runs the stages of a job one after the other, as far as there is
// something of each to be begun.
func runInTurn(ctx context.Context, client *engine.Client, job engine.Job, m engine.Memory) (engine.Result, error) {
	var all engine.Result
	for _, stage := range Stages(job) {
		now, rest := toBegin(stage, job.Lanes[:len(all.Lanes)], all)
		if len(now.Lanes) > 0 {
			r, err := client.Run(ctx, now, m)
			if err != nil {
				return all, err
			}
			all.Format = r.Format
			rest = append(rest, r.Lanes...)
		}
		all.Lanes = append(all.Lanes, inOrder(stage, rest)...)
	}
	return all, nil
}

// toBegin gives the lanes of a stage that may begin, by the results of the lanes
// before it, and the ends of those that may not. A resume has the same results
// and gets the same answer.
func toBegin(stage engine.Job, before []engine.Lane, soFar engine.Result) (engine.Job, []engine.LaneResult) {
	if stage.Lanes[0].Closing {
		return closing(stage, soFar)
	}
	if soFar.End() == engine.EndDone {
		return stage, nil
	}
	may := soFar.MayBegin(stage.Spares)
	var lanes []engine.Lane
	var rest []engine.LaneResult
	for _, l := range stage.Lanes {
		end := engine.LaneResult{Name: l.Name, End: engine.EndNotStarted}
		missing := lacks(l, before, soFar)
		if may && missing == "" {
			lanes = append(lanes, l)
			continue
		}
		if may {
			end.Error = "it needs " + missing + ", which was not done"
		}
		rest = append(rest, end)
	}
	stage.Lanes, stage.Spares = lanes, max(0, stage.Spares-soFar.OwnFailures())
	return stage, rest
}

// lacks is a lane of an earlier stage that was not done and without which this one
// cannot begin; "" for none.
func lacks(l engine.Lane, before []engine.Lane, soFar engine.Result) string {
	for n, b := range before {
		if b.Stage != l.Stage && soFar.Lanes[n].End != engine.EndDone && (!l.Apart || slices.Contains(l.Needs, b.Name)) {
			return b.Name
		}
	}
	return ""
}

// closing is what of a closing stage has to be run: the lanes that take back
// what a lane of the same name has done for others that did not follow. It is
// the same after a resume: the results so far are.
func closing(stage engine.Job, soFar engine.Result) (engine.Job, []engine.LaneResult) {
	if soFar.End() == engine.EndDone {
		var rest []engine.LaneResult
		for _, l := range stage.Lanes {
			rest = append(rest, engine.LaneResult{Name: l.Name, End: engine.EndDone})
		}
		stage.Lanes = nil
		return stage, rest
	}
	made, came := map[string]bool{}, map[string]bool{}
	for _, was := range soFar.Lanes { // the first of a name made it, the next came to it
		if _, known := made[was.Name]; !known {
			made[was.Name] = was.End == engine.EndDone
		} else {
			came[was.Name] = was.End == engine.EndDone
		}
	}
	var lanes []engine.Lane
	var rest []engine.LaneResult
	for _, l := range stage.Lanes {
		switch {
		case !made[l.Name]:
			rest = append(rest, engine.LaneResult{Name: l.Name, End: engine.EndNotStarted})
		case came[l.Name]: // it was not made in vain
			rest = append(rest, engine.LaneResult{Name: l.Name, End: engine.EndDone})
		default:
			lanes = append(lanes, l)
		}
	}
	stage.Lanes = lanes
	return stage, rest
}

// inOrder sorts the results of a stage as its lanes are.
func inOrder(stage engine.Job, results []engine.LaneResult) []engine.LaneResult {
	of := make(map[string]engine.LaneResult, len(results))
	for _, r := range results {
		of[r.Name] = r
	}
	out := make([]engine.LaneResult, len(stage.Lanes))
	for i, l := range stage.Lanes {
		r, has := of[l.Name]
		if !has {
			r = engine.LaneResult{Name: l.Name, End: engine.EndUnknown}
		}
		out[i] = r
	}
	return out
}
