package kept

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/backup/catalogue"
	"stowage/store"
)

func opened(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func chain(t *testing.T, s *store.Store, ids ...string) catalogue.Chain {
	t.Helper()
	base := ""
	for i, id := range ids {
		b := catalogue.Backup{ID: id, Instance: "p1a", Base: base, At: noon.Add(time.Duration(i) * time.Hour)}
		if err := Put(s, b, b.At); err != nil {
			t.Fatal(err)
		}
		base = id
	}
	all, err := All(s)
	if err != nil {
		t.Fatal(err)
	}
	return catalogue.Chains(all)[0]
}

func ids(t *testing.T, s *store.Store) []string {
	t.Helper()
	all, err := All(s)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, b := range all {
		out = append(out, b.ID)
	}
	return out
}

func TestWhatIsKnownLaterCounts(t *testing.T) {
	s := opened(t)
	chain(t, s, "a", "b", "c")
	if err := errors.Join(Proven(s, "a", noon), Damaged(s, "a", "x", noon), Damaged(s, "b", "y", noon), Damaged(s, "b", "", noon), Removed(s, "c", noon)); err != nil {
		t.Fatal(err)
	}
	all, err := All(s)
	if err != nil || len(all) != 2 || all[0].ProvenAt == nil || !all[0].ProvenAt.Equal(noon) || all[0].Damaged != "x" || all[1].Damaged != "" || all[1].ProvenAt != nil {
		t.Errorf("%+v %v", all, err)
	}
	if c, err := One(s, "c"); err != nil || c.RemovedAt == nil || c.Base != "b" {
		t.Errorf("%+v %v", c, err)
	}
	if err := Proven(s, "nothing", noon); !errors.Is(err, store.ErrNone) {
		t.Errorf("%v", err)
	}
}

// TestPrune: the newest goes first, so that what is left at any moment is a chain; what cannot be removed stays with its base, and the next prune goes on.
func TestPrune(t *testing.T) {
	s := opened(t)
	c := chain(t, s, "a", "b", "c")
	now := func() time.Time { return noon }
	var asked []string
	stuck := errors.New("no route to host")
	got, err := Prune(t.Context(), s, []catalogue.Chain{c}, func(_ context.Context, b catalogue.Backup) error {
		asked = append(asked, b.ID)
		if b.ID == "b" {
			return stuck
		}
		return nil
	}, now)
	if !errors.Is(err, stuck) || !strings.Contains(err.Error(), "remove backup b") || !slices.Equal(asked, []string{"c", "b"}) || len(got) != 2 || got[1].Error == "" || !slices.Equal(ids(t, s), []string{"a", "b"}) {
		t.Errorf("%v: asked for %v, %+v, left %v", err, asked, got, ids(t, s))
	}
	left, _ := All(s)
	if left := catalogue.Chains(left); len(left) != 1 || !left[0].IsWhole() {
		t.Errorf("left is %+v", left)
	}
	got, err = Prune(t.Context(), s, catalogue.Chains(left), func(context.Context, catalogue.Backup) error { return nil }, now)
	if err != nil || len(got) != 2 || len(ids(t, s)) != 0 {
		t.Errorf("%+v %v, left %v", got, err, ids(t, s))
	}
	gone, quit := context.WithCancel(t.Context())
	quit()
	c = chain(t, s, "d")
	if got, err := Prune(gone, s, []catalogue.Chain{c}, func(context.Context, catalogue.Backup) error { t.Error("removed all the same"); return nil }, now); !errors.Is(err, context.Canceled) || len(got) > 0 {
		t.Errorf("%+v %v", got, err)
	}
}
