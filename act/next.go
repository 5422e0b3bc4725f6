package act

import (
	"fmt"

	"stowage/engine"
	"stowage/internal/nested"
	"stowage/store"
)

// NextSteps are what a person does after a run has ended, the first thing first:
// commands that work. isPlan: the run is one of a plan that is there.
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
	switch {
	case len(remainder(job, out)) > 0:
		return []string{"stowage resume, when the cause is remedied", "stowage report"}, nil
	case out.Count(engine.EndUnknown)+out.Count(engine.EndStuck) > 0:
		return []string{"look at the pair: docs/guide/runbook.md, How a lane can end", "stowage report"}, nil
	}
	again := "remedy the cause, then: stowage plan"
	switch {
	case !isPlan:
		again = "remedy the cause, then the same command once more"
	case IsWayBack(run.Subject): // another plan would not be the way back
		again = "remedy the cause, then: stowage move " + run.Subject
	}
	return []string{again, "stowage report"}, nil
}
