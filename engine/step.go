package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

const (
	timeoutHeartbeat = enums.TIMEOUT_TYPE_HEARTBEAT
	heartbeatTimeout = 5 * time.Second // bounds how long a killed worker's step waits for the next worker
	beatEvery        = time.Second
	beatLimit        = 3 * time.Second // one call; the next follows at once
	maxStateBytes    = 512 << 10
)

// Doer carries out steps. Do must read the actual state before each effect, be safe to run again, and return when ctx ends.
//
// The returned state (JSON, may be nil) is handed to the part's next step; nil leaves the state as it was. Errors wrapped by
// Permanent or Unknown have their meaning; all others are retried. beat says what the step is doing just now, for people; the
// heartbeat itself goes out by itself for as long as Do runs. Do is called from many goroutines, but never twice at once for one
// job and subject.
type Doer interface {
	Do(ctx context.Context, c Call, beat func(detail string)) (state json.RawMessage, err error)
}

type stepInput struct {
	Format int  `json:"format"`
	Seq    int  `json:"seq"`
	Call   Call `json:"call"`
}

type stepOutput struct {
	State json.RawMessage `json:"state,omitempty"`
	Of    stepName        `json:"of,omitzero"`
}

// performer turns activity attempts into calls of a Doer.
type performer struct {
	doer  Doer
	turns *turns
	pulse func(ctx context.Context, token []byte, detail string) error // one heartbeat
	// answer gives an attempt's answer past the worker that took it.
	answer func(ctx context.Context, token []byte, result any, err error) error
	log    *slog.Logger

	mu       sync.Mutex
	stopping bool
	active   sync.WaitGroup
	holds    int            // counts lanes that waited
	onStops  map[int]func() // of those that wait
}

// step is the one activity. An attempt that was cut short by us answers "interrupted", which is no failure of the step.
func (p *performer) step(ctx context.Context, in stepInput) (stepOutput, error) {
	if err := p.refused(ctx, in); err != nil {
		return stepOutput{}, err
	}
	if !p.enter() {
		return stepOutput{}, interrupted(errStopping.Error())
	}
	defer p.active.Done()
	out, err := p.attempt(ctx, in)
	return out, p.late(ctx, out, err)
}

// late gives the answer of an attempt that ended while the worker stops, and tells the worker that there is none left to give: a
// worker whose grace is used up (SDK 1.50) replaces every answer by a failure of its own. An answer that does not get through is
// missed by the server after five seconds without a heartbeat.
func (p *performer) late(ctx context.Context, result any, err error) error {
	if !p.isStopping() {
		return err
	}
	token := activity.GetInfo(ctx).TaskToken
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatLimit)
	defer cancel()
	if said := p.answer(ctx, token, result, err); said != nil {
		p.log.Warn("the last answer of a step did not get through; the next worker will attempt it again", "error", said)
	}
	return activity.ErrResultPending
}

func (p *performer) attempt(ctx context.Context, in stepInput) (stepOutput, error) {
	about := activity.GetInfo(ctx)
	in.Call.Attempt = int(about.Attempt)
	ctx, early := context.WithDeadline(ctx, answerBy(about.StartedTime, about.Deadline))
	defer early()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	beat, still := p.keepAlive(ctx, about.TaskToken, cancel)
	defer still()
	id := attemptID{run: about.WorkflowExecution.RunID, seq: in.Seq, attempt: in.Call.Attempt}
	release, err := p.turns.take(ctx, in.Call.Job+"\x00"+in.Call.Subject, id, cancel)
	if err != nil {
		return stepOutput{}, interrupted(err.Error())
	}
	defer release()
	if p.isStopping() {
		return stepOutput{}, interrupted(errStopping.Error())
	}
	state, err := p.call(withAttempt(ctx, nameOf(about.WorkflowExecution.RunID, in), in.Call.Attempt), in.Call, beat)
	if err != nil && isOurs(ctx) {
		return stepOutput{}, interrupted(context.Cause(ctx).Error())
	}
	if err != nil && KindOf(err) == KindFailed && ctx.Err() != nil {
		return stepOutput{}, overdue(nameOf(about.WorkflowExecution.RunID, in), about.StartToCloseTimeout, err)
	}
	if err != nil {
		return stepOutput{}, wireError(nameOf(about.WorkflowExecution.RunID, in), err)
	}
	return stepOutput{state, nameOf(about.WorkflowExecution.RunID, in)}, nil
}

// answerBy is when an attempt's context ends: a little before the server gives the attempt up, so that what the Doer says about the
// state it left behind is still heard.
func answerBy(started, deadline time.Time) time.Time {
	return deadline.Add(-min(2*time.Second, deadline.Sub(started)/10))
}

// call runs the Doer. A panic in one step must not take the steps of a hundred other instances with it.
func (p *performer) call(ctx context.Context, c Call, beat func(string)) (state json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("step panicked", "job", c.Job, "subject", c.Subject, "step", c.Step, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("step panicked: %v", v)
		}
	}()
	state, err = p.doer.Do(ctx, c, beat)
	if err != nil {
		return nil, err
	}
	if len(state) > 0 && !json.Valid(state) {
		return nil, Permanent(errors.New("step returned a state that is not JSON"))
	}
	if len(state) > maxStateBytes {
		return nil, Permanent(fmt.Errorf("step returned a state of %d bytes: at most %d", len(state), maxStateBytes))
	}
	return state, nil
}

// isOurs reports whether the attempt was cancelled by the engine itself, so that its error says nothing about the step.
func isOurs(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return cause != nil && !errors.Is(cause, context.DeadlineExceeded)
}

func interrupted(text string) error {
	return temporal.NewApplicationErrorWithOptions(text, wirePrefix+string(kindInterrupted), temporal.ApplicationErrorOptions{})
}

// keepAlive sends a heartbeat every second until still is called. It does so by itself instead of through activity.RecordHeartbeat,
// which (SDK 1.50) cancels the step when the server is away for a second: a server that restarts must not disturb a copy that
// has run for hours. Only the server's own word that the attempt is over cancels it.
func (p *performer) keepAlive(ctx context.Context, token []byte, cancel context.CancelCauseFunc) (beat func(string), still func()) {
	var mu sync.Mutex
	var detail string
	beat = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		detail = wireText(text)
	}
	// A cancelled step still runs until it returns: its heartbeats go on, so that no other attempt starts elsewhere.
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case <-alive.Done():
				return
			case <-tick.C:
			}
			mu.Lock()
			text := detail
			mu.Unlock()
			try, end := context.WithTimeout(alive, beatLimit)
			err := p.pulse(try, token, text)
			end()
			if isGone(err) {
				cancel(errSuperseded)
				return
			}
		}
	}()
	return beat, func() { stop(); <-done }
}

// isGone reports whether a heartbeat's answer says that the attempt is no longer wanted.
func isGone(err error) bool {
	var missing *serviceerror.NotFound
	var cancelled *temporal.CanceledError
	return errors.As(err, &missing) || errors.As(err, &cancelled)
}

func (p *performer) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return false
	}
	p.active.Add(1)
	return true
}

func (p *performer) isStopping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopping
}

// beginStop lets no new step begin.
func (p *performer) beginStop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopping = true
	for _, f := range p.onStops {
		f()
	}
}
