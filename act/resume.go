package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"stowage/engine"
	"stowage/internal/nested"
	"stowage/store"
	"stowage/workspace"
)

// GoOn is the run to continue with: the given one, when it was cut short, or one
// with what it left when it ended stuck: behind the point of no return, which can
// only go forward, or while it was taken back, which goes on being taken back. It
// is store.ErrNone when there is nothing to continue. Its claim is taken; while
// another process holds that, wait is told once.
func (a *Act) GoOn(ctx context.Context, run store.Run, wait func(*workspace.Held)) (store.Run, error) {
	if run.State == store.Running {
		if err := a.ofThisKind(run); err != nil {
			return run, err
		}
		if err := a.TakeOn(ctx, run, wait); err != nil {
			return run, err
		}
		now, err := Choose(a.Store, run.ID, "resume") // it may have ended while we waited
		if err != nil || now.State == store.Running {
			return now, err
		}
		if err := a.taken.Drop(); err != nil {
			return now, err
		}
		run = now
	}
	if run.Kind != a.Kind.Name || run.State != store.Failed {
		return run, store.ErrNone
	}
	if err := a.Turn(ctx, "resume"); err != nil {
		return run, err
	}
	defer a.EndTurn()
	return a.goOn(run)
}

// goOn makes a run of what a stuck run left to be done, or to be undone.
func (a *Act) goOn(stuck store.Run) (store.Run, error) {
	var job engine.Job
	var out Outcome
	if _, err := a.Store.LatestDocument("job", stuck.ID, &job); err != nil {
		return stuck, err
	}
	if err := nested.Unmarshal([]byte(stuck.Result), &out); err != nil {
		return stuck, fmt.Errorf("read result of %s: %w", stuck.ID, err)
	}
	was, err := SteeringOf(a.Store, stuck.ID)
	if err != nil {
		return stuck, err
	}
	rest := remainder(job, out, was.Ending != nil)
	if len(rest) == 0 {
		return stuck, store.ErrNone
	}
	owner, err := a.ownerOf(stuck)
	if err != nil {
		return stuck, err
	}
	if gone, err := a.wasGoneOnWith(stuck, owner); gone || err != nil {
		return stuck, cmp.Or(err, store.ErrNone)
	}
	job.ID, job.Format, job.Lanes = a.nextID(stuck.Subject), engine.Format, rest
	run := store.Run{ID: job.ID, Kind: a.Kind.Name, Subject: stuck.Subject, State: store.Running, Started: time.Now(), PID: os.Getpid()}
	if err := a.claim(run, &job); err != nil {
		return stuck, err
	}
	err = errors.Join(a.Store.PutDocument(ownerDocument, run.ID, run.Started, owner), a.Store.PutDocument("job", run.ID, run.Started, job))
	if err != nil {
		return stuck, err
	}
	return run, a.handOn(stuck, run)
}

// wasGoneOnWith reports whether a later run has what a stuck one left.
func (a *Act) wasGoneOnWith(stuck store.Run, owner string) (bool, error) {
	runs, err := Runs(a.Store)
	for _, r := range runs {
		if err != nil || r.ID == stuck.ID { // newest first: those after it are older
			break
		}
		var whose string
		if whose, err = a.ownerOf(r); err == nil && whose == owner {
			return true, nil
		}
	}
	return false, err
}

// handOn records a run with the orders that it takes over from the one before it.
func (a *Act) handOn(from, to store.Run) error {
	orders, err := a.Store.Orders(from.ID, 0)
	if err != nil {
		return err
	}
	return a.Store.BeginRun(to, handedOn(orders, to.ID))
}

// handedOn are the orders of a stuck run that hold for the run after it, as they were given. A pause and an end were for the run that
// heard them. A part that was behind its point of no return still is: it neither waits nor soaks for the step at which it stopped, and
// the parts after it do.
func handedOn(orders []store.Order, to string) (out []store.Order) {
	was := steeringOf(orders)
	for _, o := range orders {
		switch o.Verb {
		case orderMove, orderAskBefore, gateOrder, orderSoak, orderThrottle, orderApprove, orderSoaking, orderSealed:
		case orderLost, orderFound, orderForward: // a person has decided that the part goes on without a way back
			if way := was.LostWay(o.Part); way == nil || way.Forward == nil {
				continue
			}
		default:
			continue
		}
		o.Run = to
		out = append(out, o)
	}
	return out
}

// remainder are the lanes that stopped at a step of no return, from that step
// on, and those that stopped while they were undone, from that step back.
// Nothing is done or undone again. A lane that was going back does nothing else:
// its other parts were never begun. Nor are they in a run that a person has ended.
func remainder(job engine.Job, out Outcome, isEnded bool) []engine.Lane {
	var rest []engine.Lane
	for i, l := range out.Lanes {
		if l.End != engine.EndStuck || i >= len(job.Lanes) {
			continue
		}
		lane := job.Lanes[i]
		lane.Closing = false // it is what this run is about
		n := slices.IndexFunc(lane.Parts, func(p engine.Part) bool { return p.Subject == l.Part })
		if n < 0 {
			continue
		}
		part := lane.Parts[n]
		if l.UndoStep != "" {
			k := slices.IndexFunc(part.Steps, func(s engine.Step) bool { return s.Name == l.UndoStep })
			if k < 0 {
				continue
			}
			whole := part.Steps
			part.Steps, part.State = whole[:k+1], json.RawMessage(l.State)
			if part.Back == "" {
				if failed := slices.IndexFunc(whole, func(s engine.Step) bool { return s.Name == l.Step }); failed >= 0 {
					part.Ahead = whole[failed:]
				}
				part.Back = fmt.Sprintf("it had failed at step %s: %s", l.Step, l.Error)
			}
			lane.Parts = []engine.Part{part}
			rest = append(rest, lane)
			continue
		}
		k := slices.IndexFunc(part.Steps, func(s engine.Step) bool { return s.Name == l.Step && s.NoReturn })
		if k >= 0 {
			part.Steps = part.Steps[k:]
			lane.Parts = append([]engine.Part{part}, lane.Parts[n+1:]...)
			if isEnded {
				lane.Parts = lane.Parts[:1]
			}
			rest = append(rest, lane)
		}
	}
	return rest
}

// ownerDocument says whose directories a run works on that continues with what
// another has begun.
const ownerDocument = "owner"

// ownerOf marks the directories a run makes.
func ownerOf(run store.Run) string { return "stowage " + run.ID }

// ownerOf is the mark of the run that made the directories a run works on: its
// own, or that of the one it continues with.
func (a *Act) ownerOf(run store.Run) (string, error) {
	var owner string
	_, err := a.Store.LatestDocument(ownerDocument, run.ID, &owner)
	if errors.Is(err, store.ErrNone) {
		return ownerOf(run), nil
	}
	return owner, err
}
