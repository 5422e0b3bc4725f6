package backup

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/engine"
	"stowage/farm"
	"stowage/store"
)

// TestNothingGoesThatARunReads: a chain that no rule keeps stays while a restore or an incremental backup that has not ended reads it, and its binary logs.
func TestNothingGoesThatARunReads(t *testing.T) {
	t.Parallel()
	s, err := store.Open(filepath.Join(t.TempDir(), "stowage.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	day := time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)
	var all []catalogue.Backup
	for n := range 4 {
		b := backupOf("one", day.AddDate(0, 0, n), "")
		all = append(all, b)
		if err := kept.Put(s, b, b.At); err != nil {
			t.Fatal(err)
		}
	}
	f := &farm.Farm{Name: "f", Pairs: []farm.Pair{{Name: "one"}}, Backup: farm.Backup{Keep: farm.Keep{Last: 1}}}
	goes := func(want ...catalogue.Backup) {
		t.Helper()
		vs, err := Verdicts(s, f, day.AddDate(0, 0, 5))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range catalogue.Dropped(vs) {
			got = append(got, c.ID)
		}
		if !slices.EqualFunc(got, want, func(id string, b catalogue.Backup) bool { return id == b.ID }) {
			t.Errorf("%v go", got)
		}
		from, ok := catalogue.LogsFrom(vs, "f", "onea")
		if oldest := all[len(want)]; !ok || len(want) < 3 && from.ID != oldest.ID {
			t.Errorf("logs are kept from %s, %v", from.ID, ok)
		}
	}
	goes(all[0], all[1], all[2])
	begin := func(id, kind string, order any) store.Run {
		t.Helper()
		args, err := json.Marshal(order)
		if err != nil {
			t.Fatal(err)
		}
		run := store.Run{ID: id, Kind: kind, Subject: id, State: store.Running, Started: day}
		job := engine.Job{ID: id, Kind: kind, Lanes: []engine.Lane{{Name: "onea", Parts: []engine.Part{{Subject: "onea", Args: args}}}}}
		if err := s.PutDocument("job", id, day, job); err != nil {
			t.Fatal(err)
		}
		if err := s.PutRun(run); err != nil {
			t.Fatal(err)
		}
		return run
	}
	reads := begin("restore-1", Restore, restoreOrder{Chain: all[1:2]})
	begin("backup-1", Backup, order{Chain: []string{all[2].ID}})
	goes(all[0])
	reads.State, reads.Ended = store.Done, day
	if err := s.PutRun(reads); err != nil {
		t.Fatal(err)
	}
	goes(all[0], all[1])
}
