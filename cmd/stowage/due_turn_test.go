package main

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The sums of 300 servers were in memory at the same moment; and waiting for a turn is not the server's own time.
func TestReadingsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := make(chan struct{}, 2)
		var now, most atomic.Int32
		var all sync.WaitGroup
		for range 9 {
			all.Go(func() {
				err := inTurn(t.Context(), room, func(ctx context.Context) error {
					if n := now.Add(1); n > most.Load() {
						most.Store(n)
					}
					defer now.Add(-1)
					select {
					case <-time.After(answerIn - time.Second):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if most.Load() != 2 {
			t.Errorf("%d at once", most.Load())
		}
	})
}
