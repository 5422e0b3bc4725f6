package act

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/engine"
	"stowage/farm"
	"stowage/placement"
	"stowage/route"
	"stowage/store"
)

// What status and messages name next can be done: a run that is stuck is resumed,
// one that was put back is planned anew, and a way back is not replaced by a plan.
func TestNextStepsAreOnesThatWork(t *testing.T) {
	s, err := store.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const lane, part = "p1", "p1/A"
	job := engine.Job{ID: "run", Lanes: []engine.Lane{{Name: lane, Parts: []engine.Part{{Subject: part,
		Steps: []engine.Step{{Name: "seed", Undoable: true}, {Name: "out", Undoable: true}, {Name: "retire", NoReturn: true}}}}}}}
	for _, tc := range []struct {
		plan   string
		isPlan bool
		end    engine.LaneResult
		want   string
	}{
		{"first", true, engine.LaneResult{End: engine.EndStuck, Step: "retire"}, "stowage resume"},
		{"first", true, engine.LaneResult{End: engine.EndStuck, Step: "out", UndoStep: "seed"}, "stowage resume"},
		{"first", true, engine.LaneResult{End: engine.EndUnknown, Step: "out"}, "docs/runbook.md"},
		{"first", true, engine.LaneResult{End: engine.EndUndone, Step: "out"}, "stowage plan"},
		{"undo-first", true, engine.LaneResult{End: engine.EndUndone, Step: "out"}, "stowage move undo-first"},
		{"dbshard001a-to-ssd01", false, engine.LaneResult{End: engine.EndUndone, Step: "out"}, "the same command"},
	} {
		tc.end.Name, tc.end.Part = lane, part
		raw, err := json.Marshal(Outcome{Run: "run", Plan: tc.plan, Lanes: []engine.LaneResult{tc.end}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.PutDocument("job", "run", time.Now(), job); err != nil {
			t.Fatal(err)
		}
		next, err := NextSteps(s, store.Run{ID: "run", Subject: tc.plan, State: store.Failed, Result: string(raw)}, tc.isPlan)
		if err != nil || !strings.Contains(next[0], tc.want) {
			t.Errorf("%s, %s at %s: next %v, %v; want %q", tc.plan, tc.end.End, tc.end.Step, next, err, tc.want)
		}
	}
}

// What cannot change is not tried eight times; what can is.
func TestWhatCannotChangeIsNotRetried(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want engine.Kind
	}{
		{fmt.Errorf("read %w of a: %w", ErrOptions, fs.ErrNotExist), engine.KindPermanent},
		{fmt.Errorf("read %w of a: %w", ErrOptions, fs.ErrPermission), engine.KindPermanent},
		{&farm.Error{Op: "START SLAVE", Err: &driver.MySQLError{Number: 1227, Message: "Access denied"}}, engine.KindPermanent},
		{&farm.Error{Op: "log in", Err: &driver.MySQLError{Number: 1045, Message: "Access denied"}}, engine.KindFailed},
		{fmt.Errorf("a pid file: %w", fs.ErrNotExist), engine.KindFailed},
		{fmt.Errorf("%w: %w: garbage", farm.ErrInput, route.ErrUnreadable), engine.KindFailed},
		{fmt.Errorf("%w: %w: garbage", ErrFarmFile, farm.ErrInput), engine.KindFailed},
		{errors.New("no answer"), engine.KindFailed},
	} {
		if got := engine.KindOf(classify(tc.err)); got != tc.want {
			t.Errorf("%v is %s, want %s", tc.err, got, tc.want)
		}
	}
}

// Pieces of one stage go on after failures that are spared, later stages do not.
func TestLaterStagesWaitForAllBefore(t *testing.T) {
	piece := engine.Job{Spares: Spares(placement.Goals{}), Lanes: []engine.Lane{{Stage: 1}}}
	failed := engine.Result{Lanes: []engine.LaneResult{{End: engine.EndUndone, Kind: engine.KindPermanent}}}
	if !pieceMayBegin(failed, piece, 1) {
		t.Error("the rest of a stage does not begin after one failure")
	}
	if pieceMayBegin(failed, piece, 0) {
		t.Error("a later stage begins after a failure")
	}
	if piece.Spares = Spares(placement.Goals{AfterFailure: placement.StopAfterFailure}); pieceMayBegin(failed, piece, 1) {
		t.Error("after_failure: stop, and another piece begins")
	}
}
