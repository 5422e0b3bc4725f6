package backup

import (
	"errors"
	"slices"
	"strings"
	"time"

	"stowage/backup/catalogue"
	"stowage/farm"
	"stowage/store"
)

// Verified is what came of restoring a backup and comparing it with the live server.
type Verified struct {
	Pair   farm.PairName `json:"pair"`
	Backup string        `json:"backup"`
	Run    string        `json:"run"`
	At     time.Time     `json:"at"` // when the last row was compared
	Rows   int64         `json:"rows_compared"`
	Differ int           `json:"differences"` // 0: it is proven
	// Seconds are from the begin of the restore until At; 0: not known.
	Seconds float64 `json:"seconds"`
}

// VerifiedIn are the newest verifications of pairs, one of each pair, of the backups that are given; by pair.
func VerifiedIn(s *store.Store, all []catalogue.Backup) (map[farm.PairName]Verified, error) {
	out := map[farm.PairName]Verified{}
	byID := map[string]catalogue.Backup{}
	for _, b := range all {
		byID[b.ID] = b
	}
	docs, err := s.Documents(restoredDocument)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{} // what was kept of a restore before its end stands below what was kept at its end
	for _, d := range slices.Backward(docs) {
		if seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		var r Restored
		if err := s.DocumentByID(d.ID, &r); err != nil {
			return nil, err
		}
		b, known := byID[r.Backup]
		if _, has := out[b.Pair]; !known || has || r.Database != "" || r.Rows == 0 && r.Differ == 0 { // a restore for a person compares nothing with the live server
			continue
		}
		run, _, _ := strings.Cut(d.Name, " ")
		v := Verified{Pair: b.Pair, Backup: r.Backup, Run: run, At: d.Made, Rows: r.Rows, Differ: r.Differ}
		if v.Seconds, err = tookUntil(s, run, b, d.Made); err != nil {
			return nil, err
		}
		out[b.Pair] = v
	}
	return out, nil
}

// tookUntil is how long the lane of a backup in a run of restores had run at a moment, in seconds.
func tookUntil(s *store.Store, run string, b catalogue.Backup, at time.Time) (float64, error) {
	events, _, err := s.Events(run, 0)
	if err != nil {
		return 0, err
	}
	var began time.Time
	for _, e := range events {
		if e.Pair == b.Pair && e.Side == b.Side && e.Number == 1 && e.Kind == farm.StepStarted && e.Time.Before(at) {
			began = e.Time // the lanes of a pair follow one another
		}
	}
	if began.IsZero() {
		return 0, nil
	}
	return at.Sub(began).Seconds(), nil
}

// NewestMade are the newest run that has made backups, and what it made, also what was removed since. The run is empty where there is none.
func NewestMade(s *store.Store) (store.Run, []catalogue.Backup, error) {
	runs, err := s.Runs(Backup)
	if err != nil {
		return store.Run{}, nil, err
	}
	for _, r := range runs { // newest first
		made, err := Made(s, r.ID)
		if errors.Is(err, store.ErrNone) {
			continue
		}
		if err != nil || len(made) > 0 {
			return r, made, err
		}
	}
	return store.Run{}, nil, nil
}
