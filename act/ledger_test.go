package act

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/session"
	"stowage/store"
)

func memoryStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// What a ledger was told, the next one of the same job knows: who has begun, who has ended and how, and who began last.
func TestLedgerOutlivesItsProgram(t *testing.T) {
	s := memoryStore(t)
	job := engine.Job{ID: "move-x-1", Lanes: []engine.Lane{{Name: "p3"}, {Name: "p1"}, {Name: "p2"}, {Name: "p4"}, {Name: "p3", Stage: 1}}}
	l, err := openLedger(s, job)
	if err != nil {
		t.Fatal(err)
	}
	const first, second = "move-x-1-1", "move-x-1-2"
	undone := engine.LaneResult{Name: "p3", End: engine.EndUndone, Step: "seed", Kind: engine.KindFailed, Error: "disk full"}
	for _, lane := range []string{"p1", "p3", "p2", "p1"} { // one is begun again after a kill
		if err := l.Begins(first, lane); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.Ended(first, undone), l.Begins(second, "p3")); err != nil {
		t.Fatal(err)
	}
	next, err := openLedger(s, job)
	if err != nil {
		t.Fatal(err)
	}
	for name, is := range map[string]*ledger{"the first": l, "the next": next} {
		if got := is.unended(first); !slices.Equal(got, []string{"p1", "p2"}) {
			t.Errorf("%s: %q run, want p1, p2", name, got)
		}
		if later := is.later(first, "p1"); later != "p2" {
			t.Errorf("%s: after p1 began %q, want p2", name, later)
		}
		if later := is.later(first, "p2"); later != "" {
			t.Errorf("%s: after p2 began %q, want none", name, later)
		}
		if got := is.unended(second); !slices.Equal(got, []string{"p3"}) {
			t.Errorf("%s: of the second stage run %q", name, got)
		}
	}
	known, err := next.Lanes(first)
	if n := slices.IndexFunc(known, func(r engine.LaneResult) bool { return r.Name == "p3" }); err != nil || len(known) != 3 || n < 0 || known[n] != undone {
		t.Errorf("known %+v, %v", known, err)
	}
}

// A run that an older Stowage has begun, or a newer one, is refused before anything of it is touched.
func TestRunOfAnotherFormatIsRefused(t *testing.T) {
	s := memoryStore(t)
	for format, want := range map[int]error{0: engine.ErrOlder, engine.Format + 1: engine.ErrNewer} {
		run := store.Run{ID: "move-x-1", Kind: "move", State: store.Running, Started: time.Now()}
		job := engine.Job{ID: run.ID, Kind: "move", Format: format, Lanes: []engine.Lane{{Name: "p1"}}}
		if err := errors.Join(s.PutRun(run), s.PutDocument("job", run.ID, run.Started, job)); err != nil {
			t.Fatal(err)
		}
		a := &Act{Session: &session.Session{Store: s}, Conductor: &Conductor{Kind: Kind{Name: "move"}}}
		if _, err := a.Carry(context.Background(), run); !errors.Is(err, farm.ErrRefused) || !errors.Is(err, want) {
			t.Errorf("format %d: %v, want %v", format, err, want)
		}
	}
}
