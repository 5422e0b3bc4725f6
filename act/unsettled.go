package act

import (
	"errors"
	"fmt"

	"stowage/engine"
	"stowage/internal/nested"
	"stowage/store"
)

// Unsettled is the newest run when routing may stand in the middle of it: it
// has not ended, or it ended with a lane that is stuck or unknown. Otherwise
// every pair is where farm.yaml says, and open is false.
func Unsettled(s *store.Store) (run store.Run, open bool, err error) {
	run, err = Latest(s)
	switch {
	case errors.Is(err, store.ErrNone):
		return run, false, nil
	case err != nil || run.State == store.Running:
		return run, err == nil, err
	case run.State != store.Failed || run.Result == "":
		return run, false, nil
	}
	var out Outcome
	if err := nested.Unmarshal([]byte(run.Result), &out); err != nil {
		return run, false, fmt.Errorf("read result of %s: %w", run.ID, err)
	}
	return run, out.Count(engine.EndStuck)+out.Count(engine.EndUnknown) > 0, nil
}
