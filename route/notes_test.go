package route_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"stowage/farm"
	"stowage/route"
	"stowage/route/routetest"
)

// noted is a file router whose changes are noted.
func noted(t *testing.T, pairs map[farm.PairName]*route.Pair) (route.Maker, *route.Notes, string) {
	t.Helper()
	f, notes := newFile(t, pairs), route.NotesAt(filepath.Join(t.TempDir(), "state", "routing.notes"))
	return route.Keep(f, notes), notes, f.Path()
}

func TestNotedFileConforms(t *testing.T) {
	t.Parallel() // it mostly waits for the disk
	routetest.Run(t, func(t *testing.T, pairs map[farm.PairName]*route.Pair) route.Router {
		r, _, _ := noted(t, pairs)
		return r
	})
}

func read(t *testing.T, n *route.Notes) *route.Noted {
	t.Helper()
	got, err := n.Read()
	if err != nil || got == nil {
		t.Fatalf("notes %v, %v", got, err)
	}
	return got
}

// A table that is lost while a side is out comes back as it was, and its
// generation grows: farm.yaml alone would send the side's clients to the server
// that is fenced.
func TestLostTableComesBackAsTheRunWroteIt(t *testing.T) {
	r, notes, path := noted(t, onePair())
	must(t, route.Begin(t.Context(), r, true, func(farm.PairName) bool { return true }))
	for _, edit := range []func(*route.Pair) error{
		func(p *route.Pair) error { p.CloseGate(farm.A); return nil },
		func(p *route.Pair) error {
			p.Serve(farm.A, farm.B, "127.0.10.2:23306", 100)
			p.OpenGate(farm.A)
			return nil
		},
	} {
		must(t, r.Change(t.Context(), pairName, edit))
	}
	was, err := r.Read(t.Context())
	must(t, err)
	must(t, os.Remove(path))
	must(t, r.Restore(t.Context(), read(t, notes).Rebuilt(onePair())))
	now, err := r.Read(t.Context())
	must(t, err)
	if !reflect.DeepEqual(now.Pairs, was.Pairs) {
		t.Errorf("rebuilt %+v\nwant %+v", now.Pairs[pairName], was.Pairs[pairName])
	}
	if now.Generation <= was.Generation {
		t.Errorf("generation %d after %d", now.Generation, was.Generation)
	}
}

// Killed between the note and the change: which of the two holds is not known,
// so the clients of that side wait, and the others do not.
func TestChangeInDoubtComesBackWithAClosedGate(t *testing.T) {
	r, notes, path := noted(t, onePair())
	must(t, route.Begin(t.Context(), r, true, func(farm.PairName) bool { return true }))
	err := r.Change(t.Context(), pairName, func(p *route.Pair) error {
		p.Serve(farm.A, farm.B, "127.0.10.2:23306", 100)
		p.Shards = nil
		return nil
	})
	must(t, err)
	raw, err := os.ReadFile(notes.Path())
	must(t, err)
	must(t, os.WriteFile(notes.Path(), raw[:len(raw)-40], 0o600)) // the last line: that it is sure
	must(t, os.Remove(path))
	p := read(t, notes).Rebuilt(onePair()).Pairs[pairName]
	if !p.GateIsClosed(farm.A) || p.GateIsClosed(farm.B) || len(p.Shards) != 0 {
		t.Errorf("in doubt: %+v", p)
	}
}

// An older table, put back from version control in the middle of a run, is told
// from what the run has written; a change that may or may not have been made is
// not.
func TestRestoredOldTableIsADifference(t *testing.T) {
	r, notes, path := noted(t, onePair())
	must(t, route.Begin(t.Context(), r, true, func(farm.PairName) bool { return true }))
	old, err := os.ReadFile(path)
	must(t, err)
	must(t, r.Change(t.Context(), pairName, func(p *route.Pair) error { p.Serve(farm.A, farm.B, "127.0.10.2:23306", 100); return nil }))
	differ := func() []route.Difference {
		t.Helper()
		now, err := r.Read(t.Context())
		must(t, err)
		return read(t, notes).Differ(now)
	}
	if d := differ(); len(d) != 0 {
		t.Errorf("as written: %+v", d)
	}
	must(t, os.WriteFile(path, old, 0o644))
	if d := differ(); len(d) != 1 || d[0].Side != farm.A || d[0].Pair != pairName {
		t.Errorf("an old table: %+v", d)
	}
	must(t, route.Begin(t.Context(), r, false, func(farm.PairName) bool { return true })) // a resume: the old one is still a difference
	if d := differ(); len(d) != 1 {
		t.Errorf("after a resume: %+v", d)
	}
	must(t, route.Begin(t.Context(), r, true, func(farm.PairName) bool { return true })) // another run: it begins with what is there
	if d := differ(); len(d) != 0 {
		t.Errorf("another run: %+v", d)
	}
}

// A note that cannot be written lets no client be sent elsewhere, and opens a gate.
func TestNoteComesFirst(t *testing.T) {
	f := newFile(t, onePair())
	state := filepath.Join(t.TempDir(), "state")
	must(t, os.WriteFile(state, nil, 0o600)) // a directory cannot be made there
	r := route.Keep(f, route.NotesAt(filepath.Join(state, "routing.notes")))
	err := r.Change(t.Context(), pairName, func(p *route.Pair) error { p.CloseGate(farm.A); return nil })
	if err == nil {
		t.Error("a gate was closed without a note")
	}
	must(t, f.Change(context.Background(), pairName, func(p *route.Pair) error { p.CloseGate(farm.A); return nil }))
	must(t, r.Change(t.Context(), pairName, func(p *route.Pair) error { p.OpenGate(farm.A); return nil }))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
