package backup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stowage/farm"
)

// A server whose disk is full waits for ever, and says so in its error log only.
func TestAReplayOnAFullDiskEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		free := int64(0)
		w := roomWatch{instance: "a-restored-1", on: "db1", at: func() int64 { return 5 }, tell: func(text string) { said = append(said, text) },
			free: func(context.Context) (int64, error) { return free, nil }}
		waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		err := w.during(t.Context(), waits)
		if !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "0 MB are free on host db1, and the server has waited for room for 15m0s") || len(said) != 44 {
			t.Errorf("%v, told %d times: %.1q", err, len(said), said)
		}
		said, free = nil, leastRoom // a statement that takes an hour, and then the disk is full: the quarter of an hour begins then
		err = w.during(t.Context(), func(context.Context) error {
			time.Sleep(time.Hour + time.Second)
			free = 0
			time.Sleep(10 * time.Minute)
			return nil
		})
		if err != nil || len(said) != 30 || !strings.Contains(said[0], "has waited for room for 20s") {
			t.Errorf("%v, told %d times: %.1q", err, len(said), said)
		}
		said, free = nil, leastRoom // it is slow for another reason
		err = w.during(t.Context(), func(context.Context) error { time.Sleep(time.Hour); return nil })
		if err != nil || len(said) > 0 {
			t.Errorf("%v %q", err, said)
		}
	})
}
