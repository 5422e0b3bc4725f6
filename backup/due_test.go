package backup

import (
	"testing"
	"time"

	"stowage/backup/catalogue"
	"stowage/farm"
	"stowage/store"
)

func backupOf(pair farm.PairName, at time.Time, base string) catalogue.Backup {
	kind := catalogue.Full
	if base != "" {
		kind = catalogue.Incremental
	}
	instance := farm.InstanceName(pair + "a")
	return catalogue.Backup{ID: string(instance) + "/" + at.Format(time.RFC3339), Farm: "f", Pair: pair, Side: farm.A, Instance: instance, Kind: kind, Base: base, At: at, GTID: "1-1-1"}
}

// A proof that was tried and failed is tried again after those of all others; one of a chain that is broken is not tried.
func TestProofsTakeTurns(t *testing.T) {
	day := time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)
	f := &farm.Farm{Name: "f", Pairs: []farm.Pair{{Name: "one"}, {Name: "two"}, {Name: "three"}}}
	one, two, three := backupOf("one", day, ""), backupOf("two", day, ""), backupOf("three", day, "")
	proven := day.Add(time.Hour)
	three.ProvenAt = &proven
	on := backupOf("two", day.Add(time.Minute), two.ID)
	all := []catalogue.Backup{one, two, three, on}
	firstIs := func(want catalogue.Backup, runs ...store.Run) {
		t.Helper()
		if got := LeastProven(f, all, runs); len(got) == 0 || got[0].ID != want.ID {
			t.Errorf("first of %d is not %s: %v", len(got), want.ID, got)
		}
	}
	tried := func(b catalogue.Backup, after time.Duration) store.Run {
		return store.Run{Subject: verifying + flat(b.ID), State: store.Failed, Started: day.Add(after)}
	}
	firstIs(one)
	firstIs(on, tried(one, time.Minute))
	firstIs(three, tried(one, 3*time.Hour), tried(on, 2*time.Hour))
	firstIs(on, tried(one, 3*time.Hour), tried(on, 30*time.Minute))
	all[1].Damaged = "a byte"
	if b, ok := Newest(all, "two", Until{}); ok {
		t.Errorf("%s is on a damaged backup, and is chosen", b.ID)
	}
	if got := LeastProven(f, all, nil); len(got) != 2 {
		t.Errorf("worth a proof: %v", got)
	}
}
