package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// A call is one request to whoever serves a queue and one answer, both opaque
// bytes: what a step asks of a host that is not this machine. It waits for a
// host that is away, and is delivered again when the one that took it died.
// Each call is an activity under a workflow of its own, so that it works on
// every Temporal cluster.
const (
	callWorkflowName = "stowage.call"
	callActivityName = "stowage.answer"
	callQueuePrefix  = "stowage.calls."

	// callHeartbeat bounds how long a call whose agent was killed waits for
	// the next delivery. A line that is cut for longer has it delivered again
	// as well; the agent recognises it.
	callHeartbeat = 10 * time.Second
	callLimit     = 24 * time.Hour
	// callGiveUp is how long a cancelled call is waited for.
	callGiveUp = 15 * time.Second
	callLookAt = time.Second
)

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

type callInput struct {
	Format int           `json:"format"`
	ID     string        `json:"id"`
	Queue  string        `json:"queue"`
	Limit  time.Duration `json:"limit"`
}

// callWorkflow is one call. The server delivers it again when the answerer
// dies, without end: only the asker's patience bounds it.
func callWorkflow(ctx workflow.Context, in callInput, request []byte) ([]byte, error) {
	requireFormat(in.Format)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              in.Queue,
		ScheduleToCloseTimeout: in.Limit,
		HeartbeatTimeout:       callHeartbeat,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 250 * time.Millisecond, BackoffCoefficient: 1.5, MaximumInterval: 3 * time.Second},
	})
	var answer []byte
	err := workflow.ExecuteActivity(ctx, callActivityName, in.ID, request).Get(ctx, &answer)
	return answer, err
}

// Asker sends calls. Each has a queue of its own for its workflows: a call
// means nothing without the process that waits for it.
type Asker struct {
	c      *Client
	queue  string
	worker worker.Worker
	tidy   sync.WaitGroup
}

// Asker makes one; Close it before the Client.
func (c *Client) Asker() (*Asker, error) {
	a := &Asker{c: c, queue: callQueuePrefix + rand.Text()}
	var err error
	a.worker, err = c.startWorker("start asker", func() worker.Worker {
		w := worker.New(c.temporal, a.queue, worker.Options{
			LocalActivityWorkerOnly:          true,
			MaxConcurrentWorkflowTaskPollers: 4,
			StickyScheduleToStartTimeout:     time.Second,
			DeadlockDetectionTimeout:         10 * time.Second,
			DisableRegistrationAliasing:      true,
			OnFatalError:                     func(err error) { c.log.Error("asker stopped", "error", err) },
		})
		w.RegisterWorkflowWithOptions(callWorkflow, workflow.RegisterOptions{Name: callWorkflowName})
		return w
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Close ends the asker. Calls under way should have ended.
func (a *Asker) Close() {
	a.tidy.Wait()
	a.worker.Stop()
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
	workflowID := "call/" + id
	o := client.StartWorkflowOptions{
		ID: workflowID, TaskQueue: a.queue, WorkflowTaskTimeout: workflowTaskTimeout,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionTimeout: limit + time.Minute,
	}
	in := callInput{Format: Format, ID: id, Queue: queue, Limit: limit}
	err = patiently(ctx, a.c.log, "ask "+queue, func() error {
		_, err := a.c.temporal.ExecuteWorkflow(ctx, o, callWorkflowName, in, request)
		return err // one that was begun by a try whose answer got lost is attached to
	})
	if err != nil {
		return nil, ctx.Err() == nil, fmt.Errorf("ask %s: %w", queue, err)
	}
	quiet := a.listen(ctx, workflowID, told)
	err = patiently(ctx, a.c.log, "wait for "+queue, func() error {
		return a.c.temporal.GetWorkflow(ctx, workflowID, "").Get(ctx, &answer)
	})
	quiet()
	if ctx.Err() != nil && err != nil {
		return nil, a.giveUp(context.WithoutCancel(ctx), workflowID), fmt.Errorf("ask %s: %w", queue, context.Cause(ctx))
	}
	a.forget(workflowID)
	if err != nil {
		why := failureOf(err)
		if why.Kind == KindPermanent {
			return nil, true, fmt.Errorf("ask %s: %w: %s", queue, ErrCallRefused, why.Text)
		}
		return nil, true, fmt.Errorf("ask %s: %s", queue, why.Text)
	}
	return answer, true, nil
}

// giveUp cancels a call and reports whether it is known to have ended.
func (a *Asker) giveUp(ctx context.Context, workflowID string) bool {
	ctx, cancel := context.WithTimeout(ctx, callGiveUp)
	defer cancel()
	defer a.forget(workflowID)
	if err := a.c.temporal.CancelWorkflow(ctx, workflowID, ""); err != nil {
		a.c.log.Debug("a call cannot be cancelled", "call", workflowID, "error", err)
		return false
	}
	_ = a.c.temporal.GetWorkflow(ctx, workflowID, "").Get(ctx, nil)
	return ctx.Err() == nil
}

// forget deletes a call that has ended: the engine keeps workflows for years,
// and nobody will look at this one again.
func (a *Asker) forget(workflowID string) {
	a.tidy.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := a.c.temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: a.c.opts.Namespace, WorkflowExecution: execution(workflowID)})
		if err != nil {
			a.c.log.Debug("a call's record stays", "call", workflowID, "error", err)
		}
	})
}

// listen reads the answerer's beats until quiet is called.
func (a *Asker) listen(ctx context.Context, workflowID string, told func(string)) (quiet func()) {
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
			d, err := a.c.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
			if err != nil {
				continue
			}
			for _, p := range d.GetPendingActivities() {
				var text string
				if converter.GetDefaultDataConverter().FromPayloads(p.GetHeartbeatDetails(), &text) == nil && text != "" {
					told(text)
				}
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
		MaxConcurrentActivityTaskPollers:   2,
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

func execution(id string) *common.WorkflowExecution { return &common.WorkflowExecution{WorkflowId: id} }
