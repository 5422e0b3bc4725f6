package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// takeOverWait bounds TakeOver. After it the missing heartbeats have told the server the same.
const takeOverWait = heartbeatTimeout

const takeOverAtOnce = 8

// TakeOver tells the server what it would find out by itself after five seconds without a heartbeat: that nobody works any more on
// the steps of this client's queue that these lanes of a job have begun. They are attempted again at once by whoever serves that queue next, and what
// waits for them, clients at a closed gate among it, waits that much shorter. ended is how many there were.
//
// It is only for who knows that every process that has served that queue is dead: because the engine is our own, and the lock of
// whoever carries the job out, which ends with its process, has passed on to us. Call it before Serve. Steps of other queues are left alone, and so are those that a
// Stowage has begun that did not say which queue it served. A lane that does not exist or has ended is fine.
func (c *Client) TakeOver(ctx context.Context, jobID string, lanes []string) (ended int, err error) {
	if c.jobs == nil {
		return 0, errNoKey
	}
	ctx, cancel := context.WithTimeout(ctx, takeOverWait)
	defer cancel()
	var some sync.Mutex // guards ended and err
	var all sync.WaitGroup
	turn := make(chan struct{}, takeOverAtOnce)
	for _, lane := range lanes {
		turn <- struct{}{}
		all.Go(func() {
			n, bad := c.takeOver(ctx, laneID(jobID, lane))
			some.Lock()
			ended, err = ended+n, cmp.Or(err, bad)
			some.Unlock()
			<-turn
		})
	}
	all.Wait()
	return ended, err
}

// takeOver is TakeOver for one lane.
func (c *Client) takeOver(ctx context.Context, id string) (ended int, err error) {
	lane, err := c.lookInto(ctx, id)
	if lane == nil || err != nil {
		return 0, err
	}
	for _, a := range lane.GetPendingActivities() {
		if !c.isOrphan(a) {
			continue
		}
		run := lane.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		err := c.jobs.CompleteActivityByID(ctx, c.opts.Namespace, id, run, a.GetActivityId(), nil, interrupted("the process that did it has died"))
		var missing *serviceerror.NotFound
		if err != nil && !errors.As(err, &missing) { // missing: its time was up meanwhile
			return ended, err
		}
		if err == nil {
			ended++
		}
	}
	return ended, c.unstick(ctx, id)
}

// lookInto describes a workflow that runs; nil is one that does not, or not any more.
func (c *Client) lookInto(ctx context.Context, id string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	var d *workflowservice.DescribeWorkflowExecutionResponse
	err := patiently(ctx, c.log, "look into "+id, func() (err error) {
		d, err = c.temporal.DescribeWorkflowExecution(ctx, id, "")
		return err
	})
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) || err == nil && d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, nil
	}
	return d, err
}

// unstick has a workflow's next decision handed to whoever comes, and not kept for the worker that made the last one.
func (c *Client) unstick(ctx context.Context, id string) error {
	_, err := c.temporal.WorkflowService().ResetStickyTaskQueue(ctx, &workflowservice.ResetStickyTaskQueueRequest{
		Namespace: c.opts.Namespace, Execution: &common.WorkflowExecution{WorkflowId: id}})
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil
	}
	return err
}

// isOrphan reports whether an attempt is at work as far as the server knows, and was begun for this client's queue by another process.
func (c *Client) isOrphan(a *workflow.PendingActivityInfo) bool {
	who := a.GetLastWorkerIdentity()
	return a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED && strings.HasPrefix(who, workerPrefix(c.opts.Queue)) && who != c.workerName(c.opts.Queue)
}

// workerName is how the worker of a queue is known to the server: by its queue, and by this process.
func (c *Client) workerName(queue string) string { return workerPrefix(queue) + c.name }

func workerPrefix(queue string) string { return "stowage/" + queue + "/" }
