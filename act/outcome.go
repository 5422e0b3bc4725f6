package act

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"stowage/engine"
	"stowage/farm"
	"stowage/store"
)

// Outcome is how a run ended, lane by lane.
type Outcome struct {
	Run   string              `json:"run"`
	Plan  string              `json:"plan"`
	Lanes []engine.LaneResult `json:"lanes"`
	// Back is the way back for what is moved for good, when the run was to be
	// undone; NoBack is why there is none.
	Back   *Back  `json:"back,omitempty"`
	NoBack string `json:"no_back,omitempty"`

	kind Kind
}

// WayBack begins the names of plans that take back what a run has done.
const WayBack = "undo-"

// IsWayBack reports whether a plan is one that undo has written.
func IsWayBack(plan string) bool { return strings.HasPrefix(plan, WayBack) }

// Back is the way back for what has been done for good: a plan for sides of
// pairs and single instances, commands for shards.
type Back struct {
	Plan     string   `json:"plan,omitempty"`
	Path     string   `json:"path,omitempty"`
	Sides    int      `json:"sides"`
	Commands []string `json:"commands,omitempty"`
	// Script is the file that the command of an alter takes.
	Script string `json:"script,omitempty"`
	// Lost are shards whose old pair is gone.
	Lost []farm.ShardName `json:"lost,omitempty"`
	// InTheWay are directories that new instances need and in which files of old
	// ones lie: they are their owner's, and no new instance takes a directory
	// that exists.
	InTheWay []string `json:"in_the_way,omitempty"`
}

func newOutcome(kind Kind, run store.Run, r engine.Result) Outcome {
	return Outcome{Run: run.ID, Plan: run.Subject, Lanes: r.Lanes, kind: kind}
}

// Whole reports whether every side was moved.
func (o Outcome) Whole() bool {
	for _, l := range o.Lanes {
		if l.End != engine.EndDone {
			return false
		}
	}
	return true
}

// EndedAsAsked reports whether every lane that was not moved was taken back, or
// never begun, because somebody said so.
func (o Outcome) EndedAsAsked() bool {
	for _, l := range o.Lanes {
		asked := l.End == engine.EndUndone && l.Kind == engine.KindAborted
		if l.End != engine.EndDone && l.End != engine.EndNotStarted && !asked {
			return false
		}
	}
	return true
}

// Count is the number of lanes with an end.
func (o Outcome) Count(end engine.End) int {
	n := 0
	for _, l := range o.Lanes {
		if l.End == end {
			n++
		}
	}
	return n
}

// Err is nil for a whole outcome; else it says what happened to the first
// lane that did not end well, and wraps the kind that decides the exit code.
func (o Outcome) Err() error {
	var first *engine.LaneResult
	kind := farm.ErrUndone
	for i, l := range o.Lanes {
		if l.End == engine.EndDone || l.End == engine.EndNotStarted {
			continue
		}
		if first == nil {
			first = &o.Lanes[i]
		}
		if l.End == engine.EndUnknown || l.End == engine.EndStuck {
			kind, first = farm.ErrOutcomeUnknown, &o.Lanes[i]
			break
		}
	}
	if first == nil {
		return nil
	}
	hint := cmp.Or(o.kind.Again, "remedy the cause and plan again; pairs that were moved stay moved")
	if IsWayBack(o.Plan) {
		hint = "remedy the cause, then take back what is left: stowage move " + o.Plan
	}
	if first.Kind == engine.KindAborted {
		hint = "it was undone by order; pairs that were moved stay moved"
		if o.kind.Ungated {
			hint = "it was undone by order"
		}
	}
	if first.End == engine.EndStuck && first.UndoStep != "" {
		return &farm.Error{Op: o.kind.Name, Subject: first.Name,
			Err:  fmt.Errorf("%w at step %s of %s: %s; taking it back stopped at step %s: %s", kind, first.Step, first.Part, first.Error, first.UndoStep, first.UndoError),
			Hint: "remedy what stopped it; stowage resume continues to take it back"}
	}
	if first.End == engine.EndStuck && o.kind.isBehindReturn(first.Step) {
		hint = cmp.Or(o.kind.Stuck, "the new instance serves and nothing is lost; remedy the cause, then: stowage resume")
	} else if errors.Is(kind, farm.ErrOutcomeUnknown) {
		hint = "check the pair before you do anything else to it: docs/guide/runbook.md"
	}
	return &farm.Error{Op: o.kind.Name, Subject: first.Name,
		Err:  fmt.Errorf("%w at step %s of %s: %s", kind, first.Step, first.Part, first.Error),
		Hint: hint}
}
