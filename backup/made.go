package backup

import (
	"errors"

	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/engine"
	"stowage/internal/nested"
	"stowage/store"
)

// Made are the backups that a run has made, in the order of its lanes.
func Made(s *store.Store, run string) ([]catalogue.Backup, error) {
	var job engine.Job
	if _, err := s.LatestDocument("job", run, &job); err != nil {
		return nil, err
	}
	var out []catalogue.Backup
	for _, lane := range job.Lanes {
		for _, part := range lane.Parts {
			var o order
			if err := nested.Unmarshal(part.Args, &o); err != nil {
				return nil, err
			}
			b, err := kept.One(s, o.Backup.ID)
			if errors.Is(err, store.ErrNone) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, b)
		}
	}
	return out, nil
}
