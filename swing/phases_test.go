package swing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestHandoverIsDoneOrTakenBack fails a handover at its readiness, at each phase and at each border of one: no other phase begins, and what was
// done is taken back once, with the failure at hand.
func TestHandoverIsDoneOrTakenBack(t *testing.T) {
	names := []string{"close", "drain", "never", "flip"}
	boom := errors.New("boom")
	run := func(failAt string) (did []string, err error) {
		at := func(point string) error {
			did = append(did, point)
			if point == failAt {
				return boom
			}
			return nil
		}
		h := Handover{
			Within: func(ctx context.Context, name string, do func(context.Context) error) error {
				if err := at("before " + name); err != nil {
					return err
				}
				if err := do(ctx); err != nil {
					return err
				}
				return at("after " + name)
			},
			Ready: func(context.Context) error { return at("ready") },
			Back:  func(_ context.Context, why error) error { return at(fmt.Sprintf("back: %v", why)) },
		}
		for _, n := range names {
			h.Phases = append(h.Phases, Phase{Name: n, Skip: n == "never", Do: func(context.Context) error { return at(n) }})
		}
		return did, h.Run(t.Context())
	}
	whole, err := run("")
	want := []string{"ready"}
	for _, n := range []string{"close", "drain", "flip"} {
		want = append(want, "before "+n, n, "after "+n)
	}
	if err != nil || !slices.Equal(whole, want) {
		t.Fatalf("did %q, %v; want %q", whole, err, want)
	}
	for n, point := range want {
		did, err := run(point)
		if !errors.Is(err, boom) || !slices.Equal(did, append(slices.Clone(want[:n+1]), "back: boom")) {
			t.Errorf("failed at %q: did %q, %v", point, did, err)
		}
	}
}

// What clients are held for is bounded; the way back is not bounded by it, and says its own error, too.
func TestHandoverHoldsClientsNoLongerThanItMay(t *testing.T) {
	lost := errors.New("the way back is lost")
	err := Handover{
		Within: func(ctx context.Context, _ string, do func(context.Context) error) error { return do(ctx) },
		Ready: func(ctx context.Context) error {
			if _, bounded := ctx.Deadline(); bounded {
				t.Error("clients notice nothing of the wait before, and it is bounded")
			}
			return nil
		},
		Hold:   time.Millisecond,
		Phases: []Phase{{Name: "drain", Do: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}},
		Back: func(ctx context.Context, _ error) error {
			if ctx.Err() != nil {
				t.Errorf("the way back: %v", ctx.Err())
			}
			return lost
		},
	}.Run(context.Background())
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, lost) {
		t.Errorf("error %v, want both", err)
	}
}
