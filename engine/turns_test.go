package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewerAttemptCancelsAndOutwaitsTheOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		old, cancelOld := context.WithCancelCause(t.Context())
		release, err := turns.take(old, "s", attemptID{"run", 1, 1}, cancelOld)
		if err != nil {
			t.Fatal(err)
		}
		returned := false
		go func() {
			<-old.Done()
			time.Sleep(time.Second)
			returned = true
			release()
		}()
		release2, err := turns.take(t.Context(), "s", attemptID{"run", 1, 2}, func(error) {})
		if err != nil || !returned {
			t.Fatalf("second attempt began while the first was at work (error %v)", err)
		}
		if !errors.Is(context.Cause(old), errSuperseded) {
			t.Errorf("first attempt ended by %v", context.Cause(old))
		}
		release2()
		if _, err := turns.take(t.Context(), "s", attemptID{"run", 1, 1}, func(error) {}); !errors.Is(err, errSuperseded) {
			t.Errorf("straggler got %v", err)
		}
	})
}

func TestAttemptsOfAnotherLaneWaitButDoNotCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		ctx, cancel := context.WithCancelCause(t.Context())
		release, err := turns.take(ctx, "s", attemptID{"lane A", 5, 1}, cancel)
		if err != nil {
			t.Fatal(err)
		}
		go func() { time.Sleep(time.Second); release() }()
		start := time.Now()
		if _, err := turns.take(t.Context(), "s", attemptID{"lane B", 1, 1}, func(error) {}); err != nil {
			t.Fatal(err)
		}
		if time.Since(start) != time.Second || ctx.Err() != nil {
			t.Errorf("waited %v, first attempt's context: %v", time.Since(start), ctx.Err())
		}
	})
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	turns := newTurns()
	if _, err := turns.take(t.Context(), "s", attemptID{"run", 1, 1}, func(error) {}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns.take(ctx, "s", attemptID{"run", 1, 2}, func(error) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
