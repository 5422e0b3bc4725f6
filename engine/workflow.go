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

// requireName stops a workflow whose sealed input was taken from another: an input is good for the workflow it was made for, under
// the parent that it names. As above, the panic leaves it as it is.
func requireName(ctx workflow.Context, format int, id, parent string) {
	if format > 0 && format < formatBound {
		return
	}
	about := workflow.GetInfo(ctx)
	above := ""
	if about.ParentWorkflowExecution != nil {
		above = about.ParentWorkflowExecution.ID
	}
	if about.WorkflowExecution.ID != id || above != parent {
		panic(fmt.Sprintf("refused: workflow %q of %q bears the input of %q of %q", about.WorkflowExecution.ID, above, id, parent))
	}
}

// jobWorkflow starts one child workflow per lane as its budget allows. After a lane failed no other lane starts, but for the failures
// that the job spares.
func jobWorkflow(ctx workflow.Context, in jobInput) (Result, error) {
	requireFormat(in.Format)
	job := in.Job
	requireName(ctx, in.Format, job.ID, "")
	result := Result{Format: in.Format, Lanes: make([]LaneResult, len(job.Lanes))}
	for i, lane := range job.Lanes {
		result.Lanes[i] = LaneResult{Name: lane.Name, End: EndNotStarted}
	}
	tokens := newBudget(job)
	ended := workflow.NewSelector(ctx)
	running := 0
	for {
		for result.MayBegin(job.Spares) {
			i, ok := tokens.next()
			if !ok {
				break
			}
			running++
			result.Lanes[i].End = "" // it runs: neither a failure nor left out
			ended.AddFuture(startLane(ctx, in, job.Lanes[i]), func(f workflow.Future) {
				running--
				tokens.release(job.Lanes[i].Holds)
				result.Lanes[i] = laneResult(ctx, f, in, job.Lanes[i].Name)
			})
		}
		if running == 0 {
			return result, nil
		}
		ended.Select(ctx)
	}
}

func startLane(ctx workflow.Context, in jobInput, lane Lane) workflow.Future {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            in.Job.ID + "/" + lane.Name,
		WorkflowTaskTimeout:   workflowTaskTimeout,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	})
	return workflow.ExecuteChildWorkflow(ctx, laneWorkflowName, laneInput{Format: in.Format, Job: in.Job.ID, Kind: in.Job.Kind, Lane: lane})
}

// laneResult reads a lane's own word. A lane workflow never fails by itself, so an error means that somebody ended it from outside,
// in the middle of nobody knows what.
func laneResult(ctx workflow.Context, f workflow.Future, in jobInput, name string) LaneResult {
	var r laneOutput
	if err := f.Get(ctx, &r); err != nil {
		why := failureOf(err)
		return LaneResult{Name: name, End: EndUnknown, Kind: KindOutside, Error: why.Text}
	}
	if in.Format >= formatBound && (r.Job != in.Job.ID || r.Name != name) {
		return LaneResult{Name: name, End: EndUnknown, Kind: KindUnknown, Error: fmt.Sprintf("%v: the result of lane %q of job %q", errForged, r.Name, r.Job)}
	}
	return r.LaneResult
}

// laneOutput is a lane's result, with the job that it belongs to.
type laneOutput struct {
	LaneResult
	Job string `json:"job,omitempty"`
}

// laneWorkflow runs the lane's parts in order and stops at the first that is not done.
func laneWorkflow(ctx workflow.Context, in laneInput) (laneOutput, error) {
	requireFormat(in.Format)
	requireName(ctx, in.Format, in.Job+"/"+in.Lane.Name, in.Job)
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
