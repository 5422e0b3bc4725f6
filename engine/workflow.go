package engine

import (
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Names on the wire; histories refer to them for ever.
const (
	jobWorkflowName  = "stowage.job"
	laneWorkflowName = "stowage.lane"
	stepActivityName = "stowage.step"
)

// workflowTaskTimeout bounds how long the workflow itself waits for a worker that died while it held a workflow task.
const workflowTaskTimeout = 5 * time.Second

type jobInput struct {
	Format int `json:"format"`
	Job    Job `json:"job"`
}

type laneInput struct {
	Format int    `json:"format"`
	Job    string `json:"job"`
	Kind   string `json:"kind"`
	Lane   Lane   `json:"lane"`
}

// requireFormat stops older code from misreading a newer payload. A panic in workflow code fails only the present workflow
// task: the job stays as it is until a worker that understands it comes along.
func requireFormat(format int) {
	if format > Format {
		panic(fmt.Sprintf("job has format %d, this program knows up to %d: serve it with the Stowage that started it, or a newer one", format, Format))
	}
}

// jobWorkflow starts one child workflow per lane as its budget allows. After a lane failed no other lane starts.
func jobWorkflow(ctx workflow.Context, in jobInput) (Result, error) {
	requireFormat(in.Format)
	job := in.Job
	result := Result{Format: Format, Lanes: make([]LaneResult, len(job.Lanes))}
	for i, lane := range job.Lanes {
		result.Lanes[i] = LaneResult{Name: lane.Name, End: EndNotStarted}
	}
	tokens := newBudget(job)
	ended := workflow.NewSelector(ctx)
	running, failed := 0, false
	for {
		for !failed {
			i, ok := tokens.next()
			if !ok {
				break
			}
			running++
			ended.AddFuture(startLane(ctx, job, job.Lanes[i]), func(f workflow.Future) {
				running--
				tokens.release(job.Lanes[i].Holds)
				result.Lanes[i] = laneResult(ctx, f, job.Lanes[i].Name)
				failed = failed || result.Lanes[i].End != EndDone
			})
		}
		if running == 0 {
			return result, nil
		}
		ended.Select(ctx)
	}
}

func startLane(ctx workflow.Context, job Job, lane Lane) workflow.Future {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            job.ID + "/" + lane.Name,
		WorkflowTaskTimeout:   workflowTaskTimeout,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	})
	return workflow.ExecuteChildWorkflow(ctx, laneWorkflowName, laneInput{Format: Format, Job: job.ID, Kind: job.Kind, Lane: lane})
}

// laneResult reads a lane's own word. A lane workflow never fails by itself, so an error means that somebody ended it from outside,
// in the middle of nobody knows what.
func laneResult(ctx workflow.Context, f workflow.Future, name string) LaneResult {
	var r LaneResult
	if err := f.Get(ctx, &r); err != nil {
		why := failureOf(err)
		return LaneResult{Name: name, End: EndUnknown, Kind: KindOutside, Error: why.Text}
	}
	return r
}

// laneWorkflow runs the lane's parts in order and stops at the first that is not done.
func laneWorkflow(ctx workflow.Context, in laneInput) (LaneResult, error) {
	requireFormat(in.Format)
	l := &laneRun{in: in}
	for _, part := range in.Lane.Parts {
		if r := l.runPart(ctx, part); r.End != EndDone {
			return r, nil
		}
	}
	return LaneResult{Name: in.Lane.Name, End: EndDone}, nil
}

func (s Step) activityOptions() workflow.ActivityOptions {
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
		o.TaskQueue = DefaultQueue
	}
	if s.Timeout == 0 {
		o.StartToCloseTimeout = defaultTimeout
	}
	if s.Attempts == 0 {
		o.RetryPolicy.MaximumAttempts = defaultAttempts
	}
	return o
}
