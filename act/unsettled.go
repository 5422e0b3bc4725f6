package act

import (
	"fmt"
	"slices"

	"stowage/engine"
	"stowage/internal/nested"
	"stowage/store"
)

// Unsettled is a run in the middle of which routing may stand: the newest that
// has not ended, or the newest of all when it ended with a lane that is stuck or
// unknown. Otherwise every pair is where farm.yaml says, and open is false.
func Unsettled(s *store.Store) (run store.Run, open bool, err error) {
	runs, err := Runs(s)
	if err != nil || len(runs) == 0 {
		return run, false, err
	}
	if n := slices.IndexFunc(runs, func(r store.Run) bool { return r.State == store.Running }); n >= 0 {
		return runs[n], true, nil
	}
	run = runs[0]
	switch {
	case run.State != store.Failed || run.Result == "":
		return run, false, nil
	}
	var out Outcome
	if err := nested.Unmarshal([]byte(run.Result), &out); err != nil {
		return run, false, fmt.Errorf("read result of %s: %w", run.ID, err)
	}
	return run, out.Count(engine.EndStuck)+out.Count(engine.EndUnknown) > 0, nil
}
