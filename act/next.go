package act

import (
	"fmt"

	"stowage/engine"
	"stowage/internal/nested"
	"stowage/store"
)

// NextSteps are what a person types after a run has ended, the first thing first:
// commands that work, in the workspace. isPlan: the run is one of a plan that is there.
func NextSteps(s *store.Store, run store.Run, isPlan bool) ([]string, error) {
	if run.State != store.Failed || run.Result == "" {
		return []string{"stowage report"}, nil
	}
	var out Outcome
	if err := nested.Unmarshal([]byte(run.Result), &out); err != nil {
		return nil, fmt.Errorf("read result of %s: %w", run.ID, err)
	}
	var job engine.Job
	if _, err := s.LatestDocument("job", run.ID, &job); err != nil {
		return nil, err
	}
	log := "stowage log --run " + run.ID
	switch {
	case len(remainder(job, out, false)) > 0:
		return []string{"stowage resume --run " + run.ID, log, "stowage report"}, nil
	case out.Count(engine.EndUnknown)+out.Count(engine.EndStuck) > 0:
		return []string{"stowage inventory", log, "stowage report"}, nil
	case isPlan && IsWayBack(run.Subject): // another plan would not be the way back
		return []string{"stowage move " + run.Subject + " --dry-run", log, "stowage report"}, nil
	case isPlan:
		return []string{"stowage plan", log, "stowage report"}, nil
	}
	return []string{log, "stowage report"}, nil
}
