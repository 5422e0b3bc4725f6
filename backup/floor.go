package backup

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"stowage/act"
)

// A copy follows the redo log of its source while it reads the data. When it is held for so long that the log comes round, it is lost: so it never goes at
// less than redoShare times the speed at which the server writes that log, but for a person who holds it.
const (
	redoShare = 2
	redoLook  = 2 * time.Second
)

// aboveRedo is the rate of a copy, never below what the redo log needs.
func (t *taking) aboveRedo(ctx context.Context, pace *act.Pace) (rate func() int64, done func()) {
	var floor atomic.Int64
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(redoLook)
		defer tick.Stop()
		var before uint64
		at := time.Now()
		for {
			var now uint64
			text, err := t.server.Status(ctx, "Innodb_lsn_current")
			if err == nil {
				now, err = strconv.ParseUint(text, 10, 64)
			}
			if err == nil && before > 0 && now >= before {
				floor.Store(int64(redoShare * float64(now-before) / time.Since(at).Seconds()))
			}
			if err == nil {
				before, at = now, time.Now()
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 {
		allowed := pace.Rate()
		if allowed <= 0 { // no limit, or a person holds it
			return allowed
		}
		return max(allowed, floor.Load())
	}, func() { cancel(); <-ended }
}
