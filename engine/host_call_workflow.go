package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// What is in this file is for clusters that take no activity without a
// workflow.

type callInput struct {
	Format int           `json:"format"`
	ID     string        `json:"id"`
	Queue  string        `json:"queue"`
	Limit  time.Duration `json:"limit"`
}

// callFormat is that of callInput.
const callFormat = 2

// callWorkflow is one call. The server delivers it again when the answerer
// dies, without end: only the asker's patience bounds it.
func callWorkflow(ctx workflow.Context, in callInput, request []byte) ([]byte, error) {
	if in.Format != callFormat {
		panic(fmt.Sprintf("call has format %d, this program knows %d", in.Format, callFormat))
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              in.Queue,
		ScheduleToCloseTimeout: in.Limit,
		HeartbeatTimeout:       callHeartbeat,
		WaitForCancellation:    true,
		RetryPolicy:            callRetry(),
	})
	var answer []byte
	err := workflow.ExecuteActivity(ctx, callActivityName, in.ID, request).Get(ctx, &answer)
	return answer, err
}

// callWorker runs the workflows of one asker's calls, in a queue of its own: a
// call means nothing without the process that waits for it.
type callWorker struct {
	worker.Worker
	c     *Client
	queue string
}

func (c *Client) startCallWorker() (*callWorker, error) {
	queue := callQueuePrefix + rand.Text()
	w, err := c.startWorker("start asker", func() worker.Worker {
		w := worker.New(c.temporal, queue, worker.Options{
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
	return &callWorker{w, c, queue}, nil
}

// workedCall is a call as a workflow.
type workedCall struct {
	client.WorkflowRun
	c *Client
}

func (w *callWorker) send(ctx context.Context, m message) (underway, error) {
	o := client.StartWorkflowOptions{
		ID: callName(m.id), TaskQueue: w.queue, WorkflowTaskTimeout: workflowTaskTimeout,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionTimeout: m.limit + time.Minute,
	}
	in := callInput{Format: callFormat, ID: m.id, Queue: m.queue, Limit: m.limit}
	var run client.WorkflowRun
	err := patiently(ctx, w.c.log, "ask "+m.queue, func() (err error) {
		run, err = w.c.temporal.ExecuteWorkflow(ctx, o, callWorkflowName, in, m.request)
		return err // one that was begun by a try whose answer got lost is attached to
	})
	if err != nil {
		return nil, err
	}
	return workedCall{run, w.c}, nil
}

func (w workedCall) cancel(ctx context.Context) error {
	return w.c.temporal.CancelWorkflow(ctx, w.GetID(), "")
}

func (w workedCall) beat(ctx context.Context) (said string, err error) {
	d, err := w.c.temporal.DescribeWorkflowExecution(ctx, w.GetID(), "")
	for _, p := range d.GetPendingActivities() {
		if p.GetHeartbeatDetails() != nil {
			err = errors.Join(err, converter.GetDefaultDataConverter().FromPayloads(p.GetHeartbeatDetails(), &said))
		}
	}
	return said, err
}

func (w workedCall) forget(ctx context.Context) error {
	_, err := w.c.temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: w.c.opts.Namespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: w.GetID()}})
	return err
}
