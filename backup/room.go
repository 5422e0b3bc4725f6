package backup

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"stowage/farm"
)

const (
	// roomless is how long a replay may stand still because its disk is full: the server waits until somebody makes room, for ever if nobody does.
	roomless = 15 * time.Minute
	// leastRoom is what a disk has free that is not full, in bytes.
	leastRoom = 16 << 20
)

// withRoom does something that writes into the restored instance, of which at says how far it has come.
func (r *restoring) withRoom(ctx context.Context, at *atomic.Int64, do func(context.Context) error) error {
	i := r.order.Instance
	w := roomWatch{
		instance: i.Name, on: r.order.On, at: at.Load,
		free: func(ctx context.Context) (int64, error) { return r.host.FreeBytes(ctx, i.Datadir) },
		tell: func(text string) { r.Report(farm.Event{Kind: farm.StepProgress, Text: text}) },
	}
	return w.during(ctx, do)
}

// roomWatch looks whether something stands still on a full disk.
type roomWatch struct {
	instance farm.InstanceName
	on       farm.HostName
	at       func() int64
	free     func(context.Context) (int64, error)
	tell     func(string)
}

// during does something, and tells each toldAfter that it waits for room; after roomless it ends it.
func (w roomWatch) during(ctx context.Context, do func(context.Context) error) error {
	within, end := context.WithCancelCause(ctx)
	defer end(nil)
	was, since := w.at(), time.Now() // when it came on, or had room, the last time
	err := meanwhile(func() error { return do(within) }, func(now time.Time) {
		if n := w.at(); n != was {
			was, since = n, now
			return
		}
		free, err := w.free(within)
		if err != nil {
			return
		}
		if free >= leastRoom {
			since = now
			return
		}
		full := fmt.Sprintf("%d MB are free on host %s, and the server has waited for room for %s", free>>20, w.on, now.Sub(since).Truncate(time.Second))
		if now.Sub(since) >= roomless {
			end(&farm.Error{Op: "replay", Subject: string(w.instance), Err: fmt.Errorf("%w: %s", farm.ErrRefused, full), Hint: "make room, or restore to another host: --to HOST"})
			return
		}
		w.tell("replaying binary logs: " + full + "; it goes on when there is room")
	})
	if cause := context.Cause(within); err != nil && cause != nil && ctx.Err() == nil {
		return cause
	}
	return err
}
