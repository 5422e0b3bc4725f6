package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/mysql"
	"stowage/placement"
	"stowage/store"
	"stowage/swing"
)

// Terms are what a person adds to a plan when it is begun.
type Terms struct {
	ApproveBefore []string // steps before which a person decides, besides the plan's
	Reason        string
}

// Latest is the newest run of any act; store.ErrNone when nothing has been begun.
func Latest(s *store.Store) (store.Run, error) {
	runs, err := Runs(s)
	if err == nil && len(runs) == 0 {
		err = store.ErrNone
	}
	if err != nil {
		return store.Run{}, err
	}
	return runs[0], nil
}

// Runs are the runs of all acts, newest first.
func Runs(s *store.Store) ([]store.Run, error) {
	runs, err := s.Runs("")
	return slices.DeleteFunc(runs, func(r store.Run) bool { return r.Kind == store.Replay }), err
}

// openRun is the run to steer, which has not ended: the one that was named, or the only one.
func openRun(s *store.Store, verb, name string) (store.Run, error) {
	run, err := Choose(s, name, verb)
	if errors.Is(err, store.ErrNone) {
		return run, Refused(verb, "", errors.New("no run has begun in this workspace"), "stowage plan, then stowage move PLAN")
	}
	if err == nil && run.State != store.Running {
		err = Refused(verb, run.Subject, fmt.Errorf("run %s has ended: %s", run.ID, run.State), "stowage status")
	}
	return run, err
}

func say(s *store.Store, run, verb, part, what, why string) error {
	return s.PutOrder(store.Order{Run: run, At: time.Now(), Who: Who(), PID: os.Getpid(), Verb: verb, Part: part, What: what, Why: why})
}

// SteeringOf is what holds for a run.
func SteeringOf(s *store.Store, run string) (Steering, error) {
	orders, err := s.Orders(run, 0)
	return steeringOf(orders), err
}

// Pause lets no new step begin; with copies, copies that run stand still, too.
// A step that may hold a gate closed goes on to its end.
func Pause(s *store.Store, name string, copies bool, why string) (store.Run, error) {
	run, err := openRun(s, "pause", name)
	if err != nil {
		return run, err
	}
	what := ""
	if copies {
		what = holdCopies
	}
	return run, say(s, run.ID, orderPause, "", what, why)
}

// Resume takes a pause back. Whether somebody carries the run out is another
// question.
func Resume(s *store.Store, run store.Run, why string) error {
	return say(s, run.ID, orderResume, "", "", why)
}

// Limit limits all copies of the run together, in bytes a second; 0 stops
// them, less than 0 takes the limit away.
func Limit(s *store.Store, name string, bytes int64, why string) (store.Run, error) {
	run, err := openRun(s, "throttle", name)
	if err != nil {
		return run, err
	}
	what := throttleOff
	if bytes >= 0 {
		what = strconv.FormatInt(bytes, 10)
	}
	return run, say(s, run.ID, orderThrottle, "", what, why)
}

// Approve lets parts that wait for an approval go on: those of one lane, or all
// of them; before one step, or before any. With ahead, everything of that lane, or
// of all, that will come to that step may begin it, too. What was approved comes back.
func Approve(s *store.Store, name, step, lane string, ahead bool, why string) (store.Run, []Approval, error) {
	run, err := openRun(s, "approve", name)
	if err != nil {
		return run, nil, err
	}
	now, err := SteeringOf(s, run.ID)
	if err != nil {
		return run, nil, err
	}
	if step != "" && !slices.Contains(now.ApproveBefore, step) {
		return run, nil, Refused("approve", step, errors.New("this run waits for no approval before that step"), "it waits before: "+cmp.Or(strings.Join(now.ApproveBefore, ", "), "none"))
	}
	if err := hasLane(s, run.ID, lane); err != nil {
		return run, nil, err
	}
	var passed []Approval
	for _, g := range now.Waiting() {
		if (step == "" || g.Step == step) && isOf(g.Part, lane) {
			passed = append(passed, g)
		}
	}
	for _, g := range passed {
		if err := say(s, run.ID, orderApprove, g.Part, g.Step, why); err != nil {
			return run, passed, err
		}
	}
	if ahead {
		err = say(s, run.ID, orderApprove, lane, step, why)
	}
	return run, passed, err
}

// hasLane refuses a lane that no part of the run is of: a mistyped one would wait for ever.
func hasLane(s *store.Store, run, lane string) error {
	if lane == "" {
		return nil
	}
	var job engine.Job
	if _, err := s.LatestDocument("job", run, &job); err != nil {
		return err
	}
	var parts []string
	for _, l := range job.Lanes {
		for _, p := range l.Parts {
			if isOf(p.Subject, lane) {
				return nil
			}
			parts = append(parts, p.Subject)
		}
	}
	return &farm.Error{Op: "approve", Subject: lane, Err: fmt.Errorf("%w: run %s has no such pair, side or shard", farm.ErrInput, run), Hint: "it has: " + farm.Some(parts)}
}

// Abort has a run end: sides before their point of no return are undone, the
// others finished. It is refused while a part waits whose way back is lost.
func Abort(s *store.Store, name, why string) (store.Run, error) {
	run, err := openRun(s, "abort", name)
	if err == nil {
		err = canEnd(s, run.ID, "abort")
	}
	if err != nil {
		return run, err
	}
	return run, say(s, run.ID, orderAbort, "", "", why)
}

// Undo has a run taken back: an unfinished one as by Abort, lane by lane, the
// last begun first. It is refused where Abort is.
func Undo(s *store.Store, run store.Run, why string) error {
	if err := canEnd(s, run.ID, "undo"); err != nil {
		return err
	}
	return say(s, run.ID, orderUndo, "", "", why)
}

// firstOrders are what plan and person want of a run from its beginning.
func (a *Act) firstOrders(run store.Run, approvals []string, soak time.Duration) (err error) {
	put := func(verb, what string) {
		if err == nil {
			err = say(a.Store, run.ID, verb, "", what, a.Terms.Reason)
		}
	}
	for _, step := range approvals {
		put(orderAskBefore, step)
	}
	if soak > WatchAtMost {
		put(orderSoak, soak.String())
	}
	put(orderMove, run.Subject)
	return err
}

// SwingSettings are those for production, with what the goals say of clients that come back.
func SwingSettings(g placement.Goals) swing.Settings {
	s := swing.Defaults()
	s.Soak = min(g.Soak, WatchAtMost)
	l := &s.Limits
	*l = swing.Limits{
		Latency: cmp.Or(g.Ramp.Latency, l.Latency), Floor: cmp.Or(g.Ramp.Floor, l.Floor), Errors: cmp.Or(g.Ramp.Errors, l.Errors),
		Statements: cmp.Or(g.Ramp.Statements, l.Statements), Longest: cmp.Or(g.Ramp.Longest, l.Longest),
	}
	return s
}

// WatchAtMost is how long a share of the clients that come back is watched, but for one with few statements; a
// longer soak keeps the old side besides.
const WatchAtMost = 10 * time.Second

// approvalsOf are the steps before which a person decides, each once. A step that
// no side of the job will ever come to is a mistake that would be noticed too late.
func approvalsOf(job engine.Job, names []string) ([]string, error) {
	known := map[string]bool{}
	var list []string
	for _, lane := range job.Lanes {
		for _, part := range lane.Parts {
			for _, s := range part.Steps {
				if !known[s.Name] {
					known[s.Name] = true
					list = append(list, s.Name)
				}
			}
		}
	}
	var out []string
	for _, step := range names {
		if !known[step] {
			return nil, &farm.Error{Op: "approve before", Subject: step, Err: fmt.Errorf("%w: no step of this move has that name", farm.ErrInput),
				Hint: "steps of this move: " + strings.Join(list, ", ")}
		}
		if !slices.Contains(out, step) {
			out = append(out, step)
		}
	}
	return out, nil
}

// steer lets the run hear what people say, until the function that comes back
// is called.
func (a *Act) steer(ctx context.Context, run store.Run) (func(), error) {
	s, err := newSteer(a.Store, run.ID, func(err error) { a.Log.Warn("orders cannot be read; earlier orders stay in force", "error", err) })
	if err != nil {
		return nil, err
	}
	a.Steer = s
	a.Throttle = newThrottle(a.budgetsOf(run), s, a.inRotation)
	trail, err := a.Store.OpenTrail()
	if err != nil {
		return nil, err
	}
	a.trail = newTrail(trail, run.ID, cmp.Or(a.Terms.Reason, s.now.Reason))
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watch(ctx)
	}()
	return func() {
		stop()
		<-done
		if err := trail.Close(); err != nil {
			a.Log.Warn("the audit trail has a gap", "error", err)
		}
	}, nil
}

// ThrottleAlone gives a program that is no run a throttle: it looks at the servers as a run does, and nobody steers it.
func (a *Act) ThrottleAlone() {
	a.Throttle = newThrottle(placement.Budgets{}, nil, a.inRotation)
}

// budgetsOf are those of the plan; a run that is not of a plan has the
// defaults.
func (a *Act) budgetsOf(run store.Run) placement.Budgets {
	p, err := a.Workspace.Plan(run.Subject)
	if err != nil {
		return placement.Budgets{}
	}
	return p.Goals.Budgets
}

// inRotation are the servers that farm.yaml has on these hosts.
func (a *Act) inRotation(hosts ...farm.HostName) []*mysql.Server {
	now, err := a.Workspace.Farm()
	if err != nil {
		return nil // somebody edits it; the step itself will say so
	}
	var out []*mysql.Server
	for _, p := range now.Pairs {
		for name, side := range p.Sides {
			if slices.Contains(hosts, side.Host) {
				out = append(out, mysql.Open(p.Instance(name), now.Address(side), a.Admin, a.Log))
			}
		}
	}
	return out
}

// lookForLater tells the steering which lanes of a job began after which.
func (a *Act) lookForLater(lanes *ledger) {
	if a.Steer == nil {
		return
	}
	a.Steer.mu.Lock()
	defer a.Steer.mu.Unlock()
	a.Steer.later = lanes.later
}
