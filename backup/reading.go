package backup

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"stowage/act"
	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/engine"
	"stowage/farm"
	"stowage/store"
)

// Verdicts says which chains of a farm stay, as catalogue.Keep does. Besides, those stay that a run reads: a restore of an old one takes hours.
func Verdicts(s *store.Store, f *farm.Farm, now time.Time) ([]catalogue.Verdict, error) {
	if s == nil { // nothing was ever kept
		return nil, nil
	}
	all, err := kept.All(s)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(b catalogue.Backup) bool { return b.Farm != f.Name })
	read, err := readBy(s)
	out := catalogue.Keep(now, f.Backup.Filled().Keep, all)
	for n := range out {
		for _, b := range out[n].Chain.Backups {
			if run := read[b.ID]; run != "" {
				out[n].Hold("run " + run + " reads it")
			}
		}
	}
	return out, err
}

// readBy is, for each backup that a run reads which has not ended, that run.
func readBy(s *store.Store) (map[string]string, error) {
	out := map[string]string{}
	open, err := act.Open(s)
	for _, run := range open {
		if run.Kind != Restore && run.Kind != Backup {
			continue
		}
		var job engine.Job
		if _, failed := s.LatestDocument("job", run.ID, &job); failed != nil && !errors.Is(failed, store.ErrNone) {
			return out, failed
		}
		for _, lane := range job.Lanes {
			for _, part := range lane.Parts {
				for _, id := range chainIn(run.Kind, part.Args) {
					out[id] = run.ID
				}
			}
		}
	}
	return out, err
}

// chainIn are the backups that an order names. An order that cannot be read is carried out by nobody.
func chainIn(kind string, args json.RawMessage) (ids []string) {
	if kind == Backup {
		var o order
		_ = json.Unmarshal(args, &o)
		return o.Chain
	}
	var o restoreOrder
	_ = json.Unmarshal(args, &o)
	for _, b := range o.Chain {
		ids = append(ids, b.ID)
	}
	return ids
}
