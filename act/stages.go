package act

import (
	"fmt"

	"stowage/engine"
)

// WholeFarm is the budget of how many pairs are on their way at once.
const WholeFarm = "farm"

// Stages cuts a job where the stage of the plan changes: what moves in a stage
// needs the room that the one before has left, so each is a job of its own. They
// are the same every time, so a resumed run finds the ones it has run.
func Stages(job engine.Job) []engine.Job {
	var cuts []int
	for i, lane := range job.Lanes {
		if i == 0 || lane.Stage != job.Lanes[i-1].Stage {
			cuts = append(cuts, i)
		}
	}
	if len(cuts) <= 1 {
		return []engine.Job{job}
	}
	var out []engine.Job
	for n, from := range cuts {
		to := len(job.Lanes)
		if n+1 < len(cuts) {
			to = cuts[n+1]
		}
		stage := job
		stage.ID = fmt.Sprintf("%s-%d", job.ID, n+1)
		stage.Lanes = job.Lanes[from:to]
		out = append(out, stage)
	}
	return out
}

// StreamsPerHost is how many sides may be on their way to one host at once.
const StreamsPerHost = 2
