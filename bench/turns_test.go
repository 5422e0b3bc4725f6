package bench

import (
	"context"
	"errors"
	"slices"
	"testing"

	"stowage/bench/result"
	"stowage/farm"
	"stowage/internal/turns"
)

// TestByTurns: A B B A A B B A, switched between runs only, each in a document of its own, and nothing left behind.
func TestByTurns(t *testing.T) {
	turns.One(t, 8)
	t.Parallel()
	dir := storage(t)
	o := small(t, 2, "RND16K-R-Q8T1")
	o.Profile.MaxRuns = 8
	inB, looks := false, 0
	var order []bool
	o.Tell = func(p Progress) {
		if p.Step != "" {
			order = append(order, inB)
		}
	}
	a, b, err := ByTurns(t.Context(), dir, o, Turns{
		Switch: func(_ context.Context, toB bool) error {
			if toB == inB {
				t.Errorf("switched to where it is: %v", toB)
			}
			inB = toB
			return nil
		},
		Enough: func(a, b *result.Result) bool {
			looks++
			return len(a.Steps[0].Samples) == 4 && len(b.Steps[0].Samples) == 4
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	isEmpty(t, dir)
	if want := []bool{false, true, true, false, false, true, true, false}; !slices.Equal(order, want) || looks != 2 {
		t.Errorf("%d looks, order %v, want %v", looks, order, want)
	}
	var seqs []int
	for _, r := range []*result.Result{a, b} {
		if !r.Complete || r.Noise.AA != nil || len(r.Steps) != 1 || r.Steps[0].IOPS <= 0 || r.Environment.Directory == "" || r.Settings.Size != 32*mib {
			t.Errorf("%+v", r)
		}
		for _, x := range r.Steps[0].Samples {
			seqs = append(seqs, x.Seq)
		}
	}
	if !slices.Equal(seqs, []int{1, 4, 5, 8, 2, 3, 6, 7}) {
		t.Errorf("runs %v", seqs)
	}
	if c := result.Compare("a", a, "b", b); len(c.Steps) != 1 || c.Steps[0].CI == nil {
		t.Errorf("%+v", c)
	}
}

// TestByTurnsIsCutShort by a switch that fails, and by Ctrl-C.
func TestByTurnsIsCutShort(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	dir := storage(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := errors.New("cannot be switched")
	for _, want := range []error{failed, farm.ErrInterrupted} {
		_, _, err := ByTurns(ctx, dir, small(t, 2, "RND16K-R-Q8T1"), Turns{
			Switch: func(context.Context, bool) error {
				if errors.Is(want, failed) {
					return failed
				}
				cancel()
				return nil
			},
			Enough: func(_, _ *result.Result) bool { t.Error("it went on"); return true },
		})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		isEmpty(t, dir)
	}
}
