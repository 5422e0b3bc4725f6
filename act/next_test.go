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
		{"first", true, engine.LaneResult{End: engine.EndUnknown, Step: "out"}, "stowage inventory"},
		{"first", true, engine.LaneResult{End: engine.EndUndone, Step: "out"}, "stowage plan"},
		{"undo-first", true, engine.LaneResult{End: engine.EndUndone, Step: "out"}, "stowage move undo-first"},
		{"dbshard001a-to-ssd01", false, engine.LaneResult{End: engine.EndUndone, Step: "out"}, "stowage log --run run"},
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

// After a failure that is spared, lanes of its stage begin, and of later stages
// those that say what they need, and have it.
func TestLaterStagesBeginWithWhatTheyNeed(t *testing.T) {
	lane := func(name string, stage int, needs ...string) engine.Lane {
		return engine.Lane{Name: name, Stage: stage, Apart: len(needs) > 0, Needs: needs}
	}
	before := []engine.Lane{lane("set1", 1), lane("set2", 1), lane("set3", 1)}
	for _, tc := range []struct {
		name, ends string // of those before: done, failed, aborted, skipped
		spares     int
		lanes      []engine.Lane
		want       string
		spared     int
	}{
		{"a later stage, whole", "done done done", 2, []engine.Lane{lane("a", 2), lane("set2", 2, "set2")}, "a set2", 2},
		{"a later stage", "done failed done", 2, []engine.Lane{lane("set1", 2, "set1"), lane("set2", 2, "set2"), lane("set3", 2, "set3"), lane("a", 2), lane("b", 2, "no new pair")}, "set1 set3 b", 1},
		{"one that was not begun", "done failed skipped", 2, []engine.Lane{lane("set1", 2, "set1"), lane("set3", 2, "set3")}, "set1", 1},
		{"the same stage", "done failed failed", 2, []engine.Lane{lane("set4", 1), lane("set5", 1)}, "set4 set5", 0},
		{"too many", "failed failed failed", 2, []engine.Lane{lane("set4", 1), lane("b", 2, "no new pair")}, "", 0},
		{"after_failure: stop", "done failed done", Spares(placement.Goals{AfterFailure: placement.StopAfterFailure}), []engine.Lane{lane("set4", 1), lane("set1", 2, "set1")}, "", 0},
		{"an abort", "done aborted done", 2, []engine.Lane{lane("set4", 1), lane("set1", 2, "set1")}, "", 0},
	} {
		var soFar engine.Result
		for _, end := range strings.Fields(tc.ends) {
			soFar.Lanes = append(soFar.Lanes, map[string]engine.LaneResult{"done": {End: engine.EndDone}, "skipped": {End: engine.EndNotStarted},
				"failed": {End: engine.EndUndone, Kind: engine.KindPermanent}, "aborted": {End: engine.EndUndone, Kind: engine.KindAborted}}[end])
		}
		for n := range soFar.Lanes {
			soFar.Lanes[n].Name = before[n].Name
		}
		now, rest := toBegin(engine.Job{Spares: tc.spares, Lanes: tc.lanes}, before, soFar)
		var got []string
		for _, l := range now.Lanes {
			got = append(got, l.Name)
		}
		if strings.Join(got, " ") != tc.want || len(got)+len(rest) != len(tc.lanes) {
			t.Errorf("%s: begins %v, want %s; the rest is %v", tc.name, got, tc.want, rest)
		}
		if tc.want != "" && now.Spares != tc.spared {
			t.Errorf("%s: spares %d more, want %d", tc.name, now.Spares, tc.spared)
		}
	}
}
