package engine

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"
)

// maxLost is how many times a step is scheduled anew because workers died under all its attempts. Death is no answer of the step,
// so it should not make it fail; but a step that kills every worker must end some day.
const maxLost = 50

// laneRun is the lane workflow's own memory; replay rebuilds it.
type laneRun struct {
	in  laneInput
	seq int // counts scheduled activities: a worker can tell a stale attempt from a newer one
}

// runPart runs the part's steps. When one fails for good: undo what was started, unless the outcome is unknown or a step that
// allows no return has started. An undo that answers Onward has the failed step done again, once for each step.
func (l *laneRun) runPart(ctx workflow.Context, part Part) LaneResult {
	r := LaneResult{Name: l.in.Lane.Name, End: EndDone}
	state := part.State
	if part.Back != "" {
		r.Part, r.Step, r.Kind, r.Error = part.Subject, part.Steps[len(part.Steps)-1].Name, KindAborted, part.Back
		if onward := l.undo(ctx, part, part.Steps, state, &r); !onward || len(part.Ahead) == 0 {
			return r
		}
		r = LaneResult{Name: l.in.Lane.Name, End: EndDone}
		part.Steps = part.Ahead
	}
	sealed, turned := false, -1
	for i := 0; i < len(part.Steps); i++ {
		step := part.Steps[i]
		why := l.do(ctx, part, step, false, &state)
		// One that was aborted has not begun, and does not seal the part.
		sealed = sealed || step.NoReturn && (why == nil || why.Kind != KindAborted)
		if why == nil {
			continue
		}
		r.Part, r.Step, r.Kind, r.Error = part.Subject, step.Name, why.Kind, why.Text
		switch {
		case why.Kind == KindUnknown:
			r.End = EndUnknown
		case why.Kind == KindOutside, sealed:
			r.End = EndStuck
		default:
			if onward := l.undo(ctx, part, part.Steps[:i+1], state, &r); onward && turned < i {
				r = LaneResult{Name: l.in.Lane.Name, End: EndDone}
				turned = i
				i--
				continue
			}
		}
		return r
	}
	return r
}

// undo takes the started steps back, last one first. The first undo that fails ends it: what came before it relies on it. onward:
// nothing was undone, and the part is to go on; r tells of a part that is stuck there until it does.
func (l *laneRun) undo(ctx workflow.Context, part Part, started []Step, state json.RawMessage, r *LaneResult) (onward bool) {
	r.End = EndUndone
	first := true
	for i := len(started) - 1; i >= 0; i-- {
		step := started[i]
		if !step.Undoable {
			continue
		}
		why := l.do(ctx, part, step, true, &state)
		if why == nil {
			first = false
			continue
		}
		r.End = EndStuck
		if why.Kind == KindUnknown {
			r.End = EndUnknown
		}
		r.UndoStep, r.UndoError, r.State = step.Name, why.Text, string(state)
		return first && why.Kind == kindOnward
	}
	return false
}

// do runs one step to its end, through any number of worker deaths, and replaces *state by what the step returned, if anything.
func (l *laneRun) do(ctx workflow.Context, part Part, step Step, undo bool, state *json.RawMessage) *failure {
	ctx = workflow.WithActivityOptions(ctx, step.activityOptions(ctx))
	for lost := 1; ; lost++ {
		l.seq++
		var out stepOutput
		in := stepInput{Format: l.in.Format, Seq: l.seq, Call: l.call(part, step, undo, *state)}
		err := workflow.ExecuteActivity(ctx, stepActivityName, in).Get(ctx, &out)
		if forged := l.forged(ctx, in, out.Of, err); forged != nil {
			return forged
		}
		if err == nil {
			if len(out.State) > 0 && string(out.State) != "null" {
				*state = out.State
			}
			return nil
		}
		why := failureOf(err)
		if why.Kind == kindHeld {
			if why := l.await(ctx, part, step, undo, *state); why != nil {
				return why
			}
			lost = 0 // a person's doing is no death
			continue
		}
		if why.Kind != KindLost && why.Kind != kindInterrupted {
			return &why
		}
		if lost == maxLost {
			return &failure{KindLost, why.Text}
		}
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return &failure{KindOutside, err.Error()}
		}
	}
}

func (l *laneRun) call(part Part, step Step, undo bool, state json.RawMessage) Call {
	return Call{
		Job: l.in.Job, Kind: l.in.Kind, Lane: l.in.Lane.Name, Subject: part.Subject, Step: step.Name,
		Undo: undo, Args: part.Args, State: state,
	}
}
