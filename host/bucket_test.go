package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"stowage/host"
)

func TestBucketKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := host.NewBucket(10 << 20)
		start := time.Now()
		for range 400 {
			must(t, b.Take(t.Context(), 256<<10)) // 100 MB at 10 MB/s
		}
		if took := time.Since(start); took < 9700*time.Millisecond || took > 10100*time.Millisecond {
			t.Errorf("100 MB at 10 MB/s took %v", took)
		}
	})
}

func TestBucketRateIsChangedUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := host.NewBucket(0)
		done := make(chan time.Duration)
		start := time.Now()
		go func() {
			_ = b.Take(t.Context(), 1<<20)
			done <- time.Since(start)
		}()
		time.Sleep(time.Minute)
		select {
		case <-done:
			t.Fatal("held, and something passed")
		default:
		}
		b.Set(1 << 10) // it would take 17 minutes
		time.Sleep(time.Second)
		b.Set(1 << 20)
		if took := <-done; took > 63*time.Second {
			t.Errorf("passed after %v", took)
		}
		b.Set(-1)
		for range 1000 {
			must(t, b.Take(t.Context(), 1<<30))
		}
	})
}

func TestBucketGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := host.NewBucket(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Take(ctx, 1); err == nil {
			t.Error("passed")
		}
	})
}

func TestBucketIsLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := host.NewBucket(0)
		done := make(chan error)
		go func() { done <- b.Take(t.Context(), 1<<20) }()
		time.Sleep(time.Minute)
		b.Lift()
		must(t, <-done)
		b.Set(0)
		must(t, b.Take(t.Context(), 1<<40))
	})
}
