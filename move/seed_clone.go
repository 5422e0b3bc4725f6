package move

import (
	"context"
	"time"

	"stowage/farm"
	"stowage/fresh"
	"stowage/mysql"
)

// startFresh bounds the start of a server that has nothing to recover.
const startFresh = 10 * time.Minute

// seedByClone lets the new instance become a copy of the twin by itself, no faster than the throttle lets it.
func (r *replacement) seedByClone(ctx context.Context) error {
	if err := r.stopHalfSeeded(ctx); err != nil {
		return err
	}
	if err := r.freshHost.Wipe(ctx, r.fresh, r.owner()); err != nil {
		return err
	}
	if err := r.writeConfig(ctx); err != nil {
		return err
	}
	pace, done := r.mover.Throttle.Begin(ctx, []*mysql.Server{r.Twin, r.Leaves}, r.order.Move.To.Host, r.order.Twin.Host)
	defer done()
	c := r.cloning()
	c.Rate, c.Moved = pace.Rate, pace.Moved
	c.Told = func(done, total int64) {
		r.Report(farm.Event{Kind: farm.StepProgress, Text: "cloning from " + string(r.order.TwinInstance) + pace.Slowed(), Bytes: done, Total: total})
	}
	out, err := c.Run(ctx)
	if err != nil {
		return err
	}
	return r.writeNote(ctx, note{From: string(r.order.TwinInstance), Position: out.Position.String(), Bytes: out.Bytes})
}

func (r *replacement) cloning() fresh.Clone {
	return fresh.Clone{Host: r.freshHost, New: r.fresh, ID: r.order.Move.ServerID, Copy: r.Returns, Own: r.mover.Admin, Donor: r.Twin.Address(), As: r.mover.Backup, Log: r.mover.Log}
}

// stopHalfSeeded stops the server that a clone needs to run while it is seeded.
// Only one of ours: the directory carries this move's mark. A seed that is
// complete is not touched here; the step start's undo stops its server.
func (r *replacement) stopHalfSeeded(ctx context.Context) error {
	if err := r.freshHost.Claimable(ctx, r.fresh, r.owner()); err != nil {
		return err
	}
	pid, err := r.freshHost.Running(ctx, r.fresh)
	if err != nil || pid == 0 {
		return err
	}
	return r.freshHost.Stop(ctx, r.fresh, 5*time.Minute)
}
