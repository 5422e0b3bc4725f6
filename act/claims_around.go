package act

import (
	"slices"

	"stowage/engine"
	"stowage/farm"
	"stowage/store"
	"stowage/workspace"
)

// Left is a lane that was left out, because another run has claimed what it touches.
type Left struct{ Lane, Run string }

// Around takes the lanes out of a job that touch what other runs have claimed. Where none would stay it changes nothing: the job is refused, with the reason.
// Only who begins a run calls it, in its turn: no other claims anything meanwhile.
func (a *Act) Around(job *engine.Job) ([]Left, error) {
	now, err := a.Workspace.Farm()
	if err != nil {
		return nil, err
	}
	all, err := others(a.Workspace, a.Store, job.ID)
	if err != nil {
		return nil, err
	}
	free, left := apart(*job, all, now)
	if len(free) == 0 {
		return nil, nil
	}
	job.Lanes = free
	return left, nil
}

// apart parts the lanes of a job into those that nobody has claimed, and the others.
func apart(job engine.Job, all []workspace.Claim, now *farm.Farm) (free []engine.Lane, left []Left) {
	for _, lane := range job.Lanes {
		mine := claimOf(store.Run{ID: job.ID}, engine.Job{Lanes: []engine.Lane{lane}}, now, "")
		n := slices.IndexFunc(all, func(c workspace.Claim) bool { return mine.Common(c) != "" })
		if n < 0 {
			free = append(free, lane)
			continue
		}
		left = append(left, Left{Lane: lane.Name, Run: all[n].Run})
	}
	return free, left
}
