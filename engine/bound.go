package engine

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Knower is a Doer that knows which steps it has to expect, from its own books: what was sealed here is not yet what was asked for
// here. An error refuses the step, which then has had no effect. It is asked before every attempt and must be cheap.
type Knower interface {
	Knows(c Call) error
}

// errForged: an answer that the step which was asked has not given.
var errForged = errors.New("a forged or foreign answer, which says nothing about what the step did")

// stepName is which of all steps an answer is about. An answer is good for that one only, however often it was sealed rightly. The
// attempt is not part of it: the server tries again by itself, and the lane hears of the last try only.
type stepName struct {
	Run     string `json:"run"` // of the lane
	Job     string `json:"job"`
	Lane    string `json:"lane"`
	Subject string `json:"subject"`
	Step    string `json:"step"`
	Undo    bool   `json:"undo,omitempty"`
	Seq     int    `json:"seq"`
}

// String is for the log: both steps, in the same words.
func (n stepName) String() string {
	kind := "step"
	if n.Undo {
		kind = "undo of step"
	}
	return fmt.Sprintf("%s %q of %q (lane %q, job %q, number %d of run %q)", kind, n.Step, n.Subject, n.Lane, n.Job, n.Seq, n.Run)
}

func nameOf(run string, in stepInput) stepName {
	c := in.Call
	return stepName{run, c.Job, c.Lane, c.Subject, c.Step, c.Undo, in.Seq}
}

type attemptKey struct{}

func withAttempt(ctx context.Context, of stepName, attempt int) context.Context {
	step := of.Step
	if of.Undo {
		step = "undo " + step
	}
	return context.WithValue(ctx, attemptKey{}, fmt.Sprintf("%s/%s %s, %s, %d.%d of %s", of.Job, of.Lane, of.Subject, step, of.Seq, attempt, of.Run))
}

// AttemptOf names the attempt of a step that a context belongs to, unlike every other attempt of any; "" is none.
func AttemptOf(ctx context.Context) string {
	text, _ := ctx.Value(attemptKey{}).(string)
	return text
}

// stepFailure is a step's error in the details of what crosses the engine.
type stepFailure struct {
	Of   stepName `json:"of"`
	Kind Kind     `json:"kind"`
	Text string   `json:"text"`
}

func (l *laneRun) name(ctx workflow.Context, in stepInput) stepName {
	return nameOf(workflow.GetInfo(ctx).WorkflowExecution.RunID, in)
}

// forged says whether the end of a step, its output or its error, is none of the step's own. Nobody knows then what the step has
// done: the part is neither continued nor undone. What the server itself says (an attempt's time is up) and an attempt that was
// cut short lead at worst to one more attempt, and need no proof.
func (l *laneRun) forged(ctx workflow.Context, in stepInput, answered stepName, err error) *failure {
	want := l.name(ctx, in)
	var app *temporal.ApplicationError
	switch {
	case errors.As(err, &app):
		var said stepFailure
		if app.Type() == wirePrefix+string(kindInterrupted) {
			return nil
		}
		if e := details(app, &said); e != nil {
			return &failure{KindUnknown, fmt.Sprintf("%v: an error of kind %q (%s): %v", errForged, app.Type(), wireText(app.Message()), e)}
		}
		if answered = said.Of; wirePrefix+string(said.Kind) != app.Type() {
			return &failure{KindUnknown, fmt.Sprintf("%v: an error of kind %q under the name %q", errForged, said.Kind, app.Type())}
		}
	case errors.Is(err, errUnsealed):
		return &failure{KindUnknown, fmt.Sprintf("%v: %v", errForged, err)}
	case err != nil:
		return nil
	}
	if answered != want {
		return &failure{KindUnknown, fmt.Sprintf("%v: it answers %s, and this is %s", errForged, answered, want)}
	}
	return nil
}

func details(app *temporal.ApplicationError, into any) error {
	if !app.HasDetails() {
		return errUnsealed
	}
	return app.Details(into)
}

// refused is the answer to a step or a hold that must not begin, because it was not asked for by who may. What is written in the log
// is for a person: none of this happens by itself.
func (p *performer) refused(ctx context.Context, in stepInput) error {
	about := activity.GetInfo(ctx)
	if in.Format > Format {
		return interrupted(fmt.Sprintf("step has format %d, this program knows up to %d", in.Format, Format))
	}
	err := p.unexpected(about.WorkflowExecution.ID, in)
	if err == nil {
		return nil
	}
	p.log.Error("refused: a step that this program did not ask for", "workflow", about.WorkflowExecution.ID, "subject", in.Call.Subject, "step", in.Call.Step, "error", err)
	return wireError(nameOf(about.WorkflowExecution.RunID, in), Permanent(fmt.Errorf("refused: %w", err)))
}

func (p *performer) unexpected(workflowID string, in stepInput) error {
	if in.Format != Format || workflowID != laneID(in.Call.Job, in.Call.Lane) {
		return fmt.Errorf("workflow %q bears a step of lane %q of job %q, in format %d", workflowID, in.Call.Lane, in.Call.Job, in.Format)
	}
	if k, ok := p.doer.(Knower); ok {
		return k.Knows(in.Call)
	}
	return nil
}
