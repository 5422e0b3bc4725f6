package act

import (
	"fmt"

	"stowage/engine"
)

// WholeFarm is the budget of how many pairs are on their way at once.
const WholeFarm = "farm"

// pieceLanes is how many pairs go into one job of the engine, whose history and
// messages have limits. A larger move is run in pieces, one after the other.
const pieceLanes = 120

// Pieces cuts a job into jobs that the engine can hold, and at the end of each
// stage of the plan: what moves in a stage needs the room that the one before
// has left. They are the same every time, so a resumed move finds the ones it
// has run.
func Pieces(job engine.Job) []engine.Job {
	var cuts []int
	for i, lane := range job.Lanes {
		if i == 0 || lane.Stage != job.Lanes[i-1].Stage || i-cuts[len(cuts)-1] == pieceLanes {
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
		piece := job
		piece.ID = fmt.Sprintf("%s-%d", job.ID, n+1)
		piece.Lanes = job.Lanes[from:to]
		out = append(out, piece)
	}
	return out
}

// StreamsPerHost is how many sides may be on their way to one host at once.
const StreamsPerHost = 2
