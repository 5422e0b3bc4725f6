package engine

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Names on the wire; histories refer to them for ever.
const (
	laneWorkflowName = "stowage.lane"
	stepActivityName = "stowage.step"
)

// workflowTaskTimeout bounds how long the workflow itself waits for a worker that died while it held a workflow task.
const workflowTaskTimeout = 5 * time.Second

type laneInput struct {
	Format int    `json:"format"`
	Job    string `json:"job"`
	Kind   string `json:"kind"`
	Lane   Lane   `json:"lane"`
}

// requireFormat stops this code from misreading the payload of another. A panic in workflow code fails only the present workflow
// task: the lane stays as it is until a worker that understands it comes along.
func requireFormat(format int) {
	if format != Format {
		panic(fmt.Sprintf("lane has format %d, this program knows %d: serve it with the Stowage that began it", format, Format))
	}
}

// requireName stops a workflow whose sealed input was taken from another: an input is good for the workflow it was made for, which no
// other has begun. As above, the panic leaves it as it is.
func requireName(ctx workflow.Context, id string) {
	about := workflow.GetInfo(ctx)
	if about.WorkflowExecution.ID != id || about.ParentWorkflowExecution != nil {
		panic(fmt.Sprintf("refused: workflow %q bears the input of %q", about.WorkflowExecution.ID, id))
	}
}

// laneOutput is a lane's result, with the job that it belongs to.
type laneOutput struct {
	LaneResult
	Job string `json:"job,omitempty"`
}

// laneWorkflow runs the lane's parts in order and stops at the first that is not done.
func laneWorkflow(ctx workflow.Context, in laneInput) (laneOutput, error) {
	requireFormat(in.Format)
	requireName(ctx, laneID(in.Job, in.Lane.Name))
	l := &laneRun{in: in}
	for _, part := range in.Lane.Parts {
		if r := l.runPart(ctx, part); r.End != EndDone {
			return laneOutput{r, in.Job}, nil
		}
	}
	return laneOutput{LaneResult{Name: in.Lane.Name, End: EndDone}, in.Job}, nil
}

// activityOptions are those of one step of a lane; a step that names no queue waits where its workflow does.
func (s Step) activityOptions(ctx workflow.Context) workflow.ActivityOptions {
	o := workflow.ActivityOptions{
		TaskQueue:           s.Queue,
		StartToCloseTimeout: s.Timeout,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    250 * time.Millisecond,
			BackoffCoefficient: 2,
			MaximumInterval:    5 * time.Second,
			MaximumAttempts:    int32(s.Attempts),
		},
	}
	if s.Queue == "" {
		o.TaskQueue = workflow.GetInfo(ctx).TaskQueueName
	}
	if s.Timeout == 0 {
		o.StartToCloseTimeout = defaultTimeout
	}
	if s.Attempts == 0 {
		o.RetryPolicy.MaximumAttempts = defaultAttempts
	}
	return o
}
