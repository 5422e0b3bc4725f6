package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// lastWait is how long a stopping worker waits for steps whose contexts it has cancelled at the end of the grace.
const lastWait = 5 * time.Second

// Serve offers d for the steps of one queue, at most concurrency at once, until stop is called. Whoever serves the client's own queue,
// which "" stands for, also runs the workflows. Queues of one process may be served side by side.
//
// stop lets no new step begin, waits for the running ones up to Options.Grace, then cancels their contexts and waits 5 s more. A
// step that is cut short is attempted again by the next worker. stop may be called more than once.
func (c *Client) Serve(queue string, d Doer, concurrency int) (stop func(), err error) {
	if c.jobs == nil {
		return nil, errNoKey
	}
	if d == nil || concurrency < 1 {
		return nil, errors.New("serve queue " + queue + ": needs a Doer and a concurrency of at least 1")
	}
	if queue == "" {
		queue = c.opts.Queue
	}
	p := &performer{doer: d, turns: c.turns, log: c.log, pulse: c.pulse, answer: c.jobs.CompleteActivity}
	halted, halt := context.WithCancelCause(context.Background())
	w, err := c.startWorker("serve queue "+queue, func() worker.Worker { return c.newWorker(halted, queue, p, concurrency) })
	if err != nil {
		halt(errStopping)
		return nil, err
	}
	return sync.OnceFunc(func() {
		p.beginStop()
		w.Stop()
		halt(errStopping)
		p.waitIdle(lastWait)
	}), nil
}

// startWorker makes a worker and starts it. An engine that was killed a moment ago is waited for, as by Dial; each try makes a
// worker of its own, because one whose start has failed cannot be started again.
func (c *Client) startWorker(what string, build func() worker.Worker) (w worker.Worker, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialWait)
	defer cancel()
	var last error
	err = patiently(ctx, c.log, what, func() error {
		w = build()
		last = w.Start()
		return last
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, last)
	}
	return w, nil
}

// newWorker is a worker of one queue, for steps that go on until halted ends.
func (c *Client) newWorker(halted context.Context, queue string, p *performer, concurrency int) worker.Worker {
	w := worker.New(c.jobs, queue, worker.Options{
		Identity:                           c.workerName(queue),
		MaxConcurrentActivityExecutionSize: concurrency,
		MaxConcurrentActivityTaskPollers:   c.pollers(queue, concurrency),
		MaxConcurrentWorkflowTaskPollers:   4,
		DisableWorkflowWorker:              queue != c.opts.Queue,
		StickyScheduleToStartTimeout:       time.Second, // how long a workflow waits for a worker that was killed
		DeadlockDetectionTimeout:           10 * time.Second,
		WorkerStopTimeout:                  c.opts.Grace,
		BackgroundActivityContext:          halted,
		DisableRegistrationAliasing:        true,
		OnFatalError:                       func(err error) { c.log.Error("worker stopped", "queue", queue, "error", err) },
	})
	if queue == c.opts.Queue {
		w.RegisterWorkflowWithOptions(laneWorkflow, workflow.RegisterOptions{Name: laneWorkflowName})
	}
	w.RegisterActivityWithOptions(p.step, activity.RegisterOptions{Name: stepActivityName})
	w.RegisterActivityWithOptions(p.hold, activity.RegisterOptions{Name: holdActivityName})
	return w
}

// pollers keeps the queues of a hundred hosts cheap: one long poll each.
func (c *Client) pollers(queue string, concurrency int) int {
	if queue != c.opts.Queue || concurrency < 4 {
		return 1
	}
	return 4
}

// waitIdle waits until no step runs, at most limit.
func (p *performer) waitIdle(limit time.Duration) {
	idle := make(chan struct{})
	go func() { p.active.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-time.After(limit):
		p.log.Warn("a step does not return; the next worker will attempt it again")
	}
}
