package backup

import (
	"stowage/engine"
	"stowage/farm"
)

// allBlocked reports whether every lane has a blocker. Where one has none, the run begins: the preflight step of the others says the same again and ends them,
// and the run does not end well. So one server that is away never keeps the rest of the farm without backups.
func allBlocked(job engine.Job, findings []farm.Finding) bool {
	blocked := map[string]bool{}
	for _, f := range findings {
		if f.Severity == farm.Blocker {
			blocked[f.Subject] = true
		}
	}
	for _, lane := range job.Lanes {
		free := true
		for _, part := range lane.Parts {
			free = free && !blocked[part.Subject]
		}
		if free {
			return false
		}
	}
	return true
}
