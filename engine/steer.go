package engine

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// holdActivityName is on the wire; histories refer to it for ever.
const holdActivityName = "stowage.hold"

// KindAborted: somebody asked that the job be given up before this step. The part is undone, as after any failure; a step of no
// return that was about to begin has not begun.
const KindAborted Kind = "aborted"

// kindHeld never reaches a result: the step did not begin, and is to be asked again when Holder.Hold has returned.
const kindHeld Kind = "held"

// Holder is a Doer that lets lanes wait for a person. When Do answers Held, the engine calls Hold, which returns when it is worth
// asking Do again. A hold has no time-out and costs the history a handful of events however long it lasts: one that is cut short by the
// death of its process is begun again by the next, out of the history's sight. An error of Hold has it called again, after a moment.
type Holder interface {
	Hold(ctx context.Context, c Call, beat func(detail string)) error
}

// kindOnward never reaches a result either: see Onward.
const kindOnward Kind = "onward"

type onwardError struct{ error }

func (e *onwardError) Unwrap() error { return e.error }

// Onward is what Do answers to an undo when the step cannot be undone any more, and somebody has decided that the part is to go on
// without that. The undo must have had no effect. The part continues with the step that had failed, as if it were done for the first
// time. It is heard from the first undo of a part only: what is behind one that was undone cannot be gone on from.
func Onward(reason string) error { return &onwardError{errors.New(reason)} }

type heldError struct{ error }

func (e *heldError) Unwrap() error { return e.error }

type abortedError struct{ error }

func (e *abortedError) Unwrap() error { return e.error }

// Held is what Do answers when the step, or its undo, must not begin yet. It must have had no effect.
func Held(reason string) error { return &heldError{errors.New(reason)} }

// Aborted marks err as the answer of a step that was not begun, or was broken off where that is safe, because the job is to end.
// Aborted(nil) is nil.
func Aborted(err error) error {
	if err == nil {
		return nil
	}
	return &abortedError{err}
}

// holdLimit is what "no time-out" is to the server: ten years.
const holdLimit = 10 * 365 * 24 * time.Hour

// hold is the activity of a lane that waits.
func (p *performer) hold(ctx context.Context, in stepInput) error {
	if err := p.refused(ctx, in); err != nil {
		return err
	}
	holder, ok := p.doer.(Holder)
	if !ok {
		return interrupted("this program cannot hold a lane: serve it with the Stowage that began it")
	}
	if !p.enter() {
		return interrupted(errStopping.Error())
	}
	defer p.active.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release := p.onStop(func() { cancel(errStopping) })
	defer release()
	beat, still := p.keepAlive(ctx, activity.GetInfo(ctx).TaskToken, cancel)
	defer still()
	if err := holder.Hold(ctx, in.Call, beat); err != nil {
		return p.late(ctx, nil, interrupted(err.Error()))
	}
	return p.late(ctx, nil, nil)
}

// onStop has f called as soon as the worker begins to stop: who only waits needs no grace.
func (p *performer) onStop(f func()) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		f()
		return func() {}
	}
	p.holds++
	id := p.holds
	if p.onStops == nil {
		p.onStops = map[int]func(){}
	}
	p.onStops[id] = f
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.onStops, id)
	}
}

// await waits, in the lane, until the step may be asked again.
func (l *laneRun) await(ctx workflow.Context, part Part, step Step, undo bool, state []byte) *failure {
	queue := step.Queue
	if queue == "" {
		queue = workflow.GetInfo(ctx).TaskQueueName
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           queue,
		StartToCloseTimeout: holdLimit,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 250 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second},
	})
	in := stepInput{Format: l.in.Format, Seq: l.seq, Call: l.call(part, step, undo, state)}
	err := workflow.ExecuteActivity(ctx, holdActivityName, in).Get(ctx, nil)
	if err == nil {
		return nil // whoever has said so: the step is asked again, and reads what it may
	}
	if forged := l.forged(ctx, in, l.name(ctx, in), err); forged != nil {
		return forged
	}
	why := failureOf(err)
	return &why
}
