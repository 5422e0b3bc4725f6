package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

// A call is one request to whoever serves a queue and one answer, both opaque
// bytes: what a step asks of a host that is not this machine. It waits for a
// host that is away, and is delivered again when the one that took it died.
// Each call is an activity of its own. A cluster whose server does not know
// those (before 1.31, or where they are switched off) gets each as a workflow
// with that activity in it, which costs it several times as much.
const (
	callWorkflowName = "stowage.call"
	callActivityName = "stowage.answer"
	callQueuePrefix  = "stowage.calls."

	// callHeartbeat bounds how long a call whose agent was killed waits for
	// the next delivery. A line that is cut for longer has it delivered again
	// as well; the agent recognises it.
	callHeartbeat = 10 * time.Second
	callLimit     = 24 * time.Hour
	// callGiveUp is how long a cancelled call is waited for; callUnheard, one of which nobody heard that it was sent.
	callGiveUp  = 15 * time.Second
	callUnheard = 3 * time.Second
	callLookAt  = time.Second
)

// callRetry has a call delivered again for as long as its asker waits.
func callRetry() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: 250 * time.Millisecond, BackoffCoefficient: 1.5, MaximumInterval: 3 * time.Second}
}

// MaxCall bounds a request and an answer, in bytes: the server refuses 2 MiB.
const MaxCall = 1800 << 10

// ErrCallCancelled is the cause of an Answerer's context when the asker wants
// the call to end. Any other end of the context only means that this delivery
// is no longer listened to.
var ErrCallCancelled = errors.New("the call was cancelled by who asked")

// ErrCallRefused: the answerer will not take this call, now or later.
var ErrCallRefused = errors.New("the call was refused")

// Refuse makes an Answerer's error final.
func Refuse(err error) error {
	return temporal.NewNonRetryableApplicationError(wireText(err.Error()), wirePrefix+string(KindPermanent), nil)
}

// CallTooLargeError: a request or an answer does not fit into one message.
type CallTooLargeError struct{ Bytes int }

func (e *CallTooLargeError) Error() string {
	return fmt.Sprintf("a message of %d bytes: at most %d pass through the engine", e.Bytes, MaxCall)
}

// Asker sends calls.
type Asker struct {
	c    *Client
	tidy sync.WaitGroup

	mu     sync.Mutex
	worker *callWorker // nil: until now every call was an activity of its own
}

// Asker makes one; Close it before the Client.
func (c *Client) Asker() *Asker { return &Asker{c: c} }

// Close ends the asker. Calls under way should have ended.
func (a *Asker) Close() {
	a.tidy.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.worker != nil {
		a.worker.Stop()
	}
}

// underway is a call that was sent.
type underway interface {
	Get(ctx context.Context, answer any) error
	cancel(ctx context.Context) error
	// beat is what the answerer said last; "" is nothing.
	beat(ctx context.Context) (string, error)
	// forget deletes a call that has ended.
	forget(ctx context.Context) error
}

// message is what a call is made of.
type message struct {
	id, queue string
	limit     time.Duration
	request   []byte
}

// Ask sends a request to the queue under an id that nobody else uses, and
// waits for the answer for as long as ctx lets it; while the queue is served
// by nobody, the call waits there. told is given what the answerer's beats
// say, about once a second; nil is fine. When ctx ends first the call is
// cancelled and waited for; gone then says that it has really ended.
func (a *Asker) Ask(ctx context.Context, queue, id string, request []byte, told func(string)) (answer []byte, gone bool, err error) {
	if len(request) > MaxCall {
		return nil, true, &CallTooLargeError{len(request)}
	}
	limit := callLimit
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(time.Second, min(limit, time.Until(deadline)))
	}
	call, err := a.send(ctx, message{id, queue, limit, request})
	if err != nil && ctx.Err() != nil { // it may be at work, though its receipt was not heard
		return nil, a.giveUp(context.WithoutCancel(ctx), a.named(id), callUnheard), fmt.Errorf("ask %s: %w", queue, context.Cause(ctx))
	}
	if err != nil {
		return nil, true, fmt.Errorf("ask %s: %w", queue, err)
	}
	quiet := a.listen(ctx, call, told)
	var bad error
	err = patiently(ctx, a.c.log, "wait for "+queue, func() error {
		bad = call.Get(ctx, &answer)
		if isOutcome(bad) {
			return nil
		}
		return bad
	})
	quiet()
	if ctx.Err() != nil && (err != nil || bad != nil) {
		return nil, a.giveUp(context.WithoutCancel(ctx), call, callGiveUp), fmt.Errorf("ask %s: %w", queue, context.Cause(ctx))
	}
	a.forget(call)
	if err = cmp.Or(err, bad); err != nil {
		why := failureOf(err)
		if why.Kind == KindPermanent {
			return nil, true, fmt.Errorf("ask %s: %w: %s", queue, ErrCallRefused, why.Text)
		}
		return nil, true, fmt.Errorf("ask %s: %s", queue, why.Text)
	}
	return answer, true, nil
}

// isOutcome reports whether err is how a call has ended, and not why its end cannot be heard of.
func isOutcome(err error) bool {
	var app *temporal.ApplicationError
	var late *temporal.TimeoutError
	var stopped *temporal.CanceledError
	var killed *temporal.TerminatedError
	return errors.As(err, &app) || errors.As(err, &late) || errors.As(err, &stopped) || errors.As(err, &killed)
}

// send has a call wait at its queue.
func (a *Asker) send(ctx context.Context, m message) (call underway, err error) {
	a.mu.Lock()
	w := a.worker
	a.mu.Unlock()
	if w != nil {
		return w.send(ctx, m)
	}
	call, err = a.c.sendDirectly(ctx, m)
	var unknown *serviceerror.Unimplemented
	if !errors.As(err, &unknown) {
		return call, err
	}
	if w, err = a.worked(); err != nil {
		return nil, err
	}
	return w.send(ctx, m)
}

// named is a call that may have been sent, by its id.
func (a *Asker) named(id string) underway {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.worker != nil {
		return workedCall{a.c.temporal.GetWorkflow(context.Background(), callName(id), ""), a.c}
	}
	return directCall{a.c.temporal.GetActivityHandle(client.GetActivityHandleOptions{ActivityID: callName(id)}), a.c}
}

// callName is what the engine calls a call.
func callName(id string) string { return "call/" + id }

// worked starts the worker of calls that are workflows.
func (a *Asker) worked() (w *callWorker, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.worker == nil {
		a.c.log.Info("this cluster takes no activities without a workflow: each call is a workflow")
		a.worker, err = a.c.startCallWorker()
	}
	return a.worker, err
}

// directCall is a call as an activity of its own.
type directCall struct {
	client.ActivityHandle
	c *Client
}

func (c *Client) sendDirectly(ctx context.Context, m message) (underway, error) {
	o := client.StartActivityOptions{
		ID: callName(m.id), TaskQueue: m.queue, ScheduleToCloseTimeout: m.limit, HeartbeatTimeout: callHeartbeat, RetryPolicy: callRetry(),
		ActivityIDReusePolicy: enums.ACTIVITY_ID_REUSE_POLICY_REJECT_DUPLICATE, ActivityIDConflictPolicy: enums.ACTIVITY_ID_CONFLICT_POLICY_USE_EXISTING,
	}
	var h client.ActivityHandle
	err := patiently(ctx, c.log, "ask "+m.queue, func() (err error) {
		h, err = c.temporal.ExecuteActivity(ctx, o, callActivityName, m.id, m.request)
		var ended *serviceerror.ActivityExecutionAlreadyStarted
		if errors.As(err, &ended) { // begun by a try whose answer got lost
			h, err = c.temporal.GetActivityHandle(client.GetActivityHandleOptions{ActivityID: o.ID}), nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return directCall{h, c}, nil
}

func (d directCall) cancel(ctx context.Context) error {
	return d.Cancel(ctx, client.CancelActivityOptions{Reason: "the caller gave up"})
}

func (d directCall) beat(ctx context.Context) (text string, err error) {
	about, err := d.Describe(ctx, client.DescribeActivityOptions{IncludeHeartbeatDetails: true})
	if err == nil && about.HasHeartbeatDetails() {
		err = about.GetHeartbeatDetails(&text)
	}
	return text, err
}

func (d directCall) forget(ctx context.Context) error {
	_, err := d.c.temporal.WorkflowService().DeleteActivityExecution(ctx, &workflowservice.DeleteActivityExecutionRequest{
		Namespace: d.c.opts.Namespace, ActivityId: d.GetID(), RunId: d.GetRunID()})
	return err
}

// giveUp cancels a call and reports whether it is known to have ended.
func (a *Asker) giveUp(ctx context.Context, call underway, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer a.forget(call)
	if err := call.cancel(ctx); err != nil {
		a.c.log.Debug("a call cannot be cancelled", "error", err)
		return false
	}
	_ = call.Get(ctx, nil)
	return ctx.Err() == nil
}

// forget deletes a call that has ended: the engine keeps what has ended for years,
// and nobody will look at this one again.
func (a *Asker) forget(call underway) {
	a.tidy.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := call.forget(ctx); err != nil {
			a.c.log.Debug("a call's record stays", "error", err)
		}
	})
}

// listen reads the answerer's beats until quiet is called.
func (a *Asker) listen(ctx context.Context, call underway, told func(string)) (quiet func()) {
	if told == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(callLookAt)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if text, err := call.beat(ctx); err == nil && text != "" {
				told(text)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// Delivery is one delivery of a call to its answerer.
type Delivery struct {
	ID      string // the same in every delivery of one call
	Again   bool   // it was delivered before, to us or to a process that died
	Request []byte
	Beat    func(string) // tells the asker how far it is
}

// Answerer answers calls. When its context ends by ErrCallCancelled the work
// should stop; when it ends otherwise this delivery is no longer listened to,
// and another of the same call may come. An error means that the answer is to
// be asked for again, from this process or the next.
type Answerer func(ctx context.Context, d Delivery) ([]byte, error)

// Answer offers f for the calls of a queue, at most concurrency at once, until
// stop is called. fatal yields an error when the worker has ended by itself.
func (c *Client) Answer(queue string, f Answerer, concurrency int) (stop func(), fatal <-chan error, err error) {
	failed := make(chan error, 1)
	halted, halt := context.WithCancelCause(context.Background())
	w := worker.New(c.temporal, queue, worker.Options{
		MaxConcurrentActivityExecutionSize: concurrency,
		MaxConcurrentActivityTaskPollers:   1, // hundreds of hosts wait; a poll that was given a call is followed by the next at once
		DisableWorkflowWorker:              true,
		WorkerStopTimeout:                  lastWait,
		BackgroundActivityContext:          halted,
		DisableRegistrationAliasing:        true,
		OnFatalError: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	})
	w.RegisterActivityWithOptions(func(ctx context.Context, id string, request []byte) ([]byte, error) {
		return c.answer(ctx, f, id, request)
	}, activity.RegisterOptions{Name: callActivityName})
	if err := w.Start(); err != nil {
		halt(errStopping)
		return nil, nil, fmt.Errorf("answer queue %s: %w", queue, err)
	}
	return sync.OnceFunc(func() {
		halt(errStopping)
		w.Stop()
	}), failed, nil
}

func (c *Client) answer(ctx context.Context, f Answerer, id string, request []byte) ([]byte, error) {
	about := activity.GetInfo(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &performer{log: c.log, pulse: func(ctx context.Context, token []byte, detail string) error {
		err := c.pulse(ctx, token, detail)
		var stopped *temporal.CanceledError
		if errors.As(err, &stopped) {
			cancel(ErrCallCancelled)
			return nil // it goes on beating until the work has really ended
		}
		return err
	}}
	beat, still := p.keepAlive(ctx, about.TaskToken, cancel)
	defer still()
	answer, err := f(ctx, Delivery{ID: id, Again: about.Attempt > 1, Request: request, Beat: beat})
	if len(answer) > MaxCall {
		err = Refuse(&CallTooLargeError{len(answer)})
	}
	if err != nil && errors.Is(context.Cause(ctx), ErrCallCancelled) {
		return nil, temporal.NewCanceledError()
	}
	return answer, err
}
