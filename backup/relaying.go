package backup

import (
	"context"
	"sync/atomic"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// relay applies a stretch of an archive to a restored server of MySQL, as its relay log. What the server has already its applier leaves out, so that one
// that was killed begins again.
func (r *restoring) relay(ctx context.Context, s stretch) error {
	goal, err := mysql.ParsePosition(s.to.Position)
	if err != nil {
		return err
	}
	has, err := r.server.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	if tell := r.tellRelay(); !has.Reached(goal) {
		if err := r.server.ForgetReplication(ctx); err != nil {
			return err
		}
		if err := r.stop(ctx); err != nil {
			return err
		}
		if err := s.archive.Relay(ctx, host.Replaying{Archive: s.dir, From: s.from.Mark, To: s.to.Mark, Instance: r.order.Instance, Told: func(done, all int64) { tell("laying out binary logs", done, all) }}); err != nil {
			return r.notThere(err)
		}
		if err := r.start(ctx); err != nil {
			return err
		}
		var come atomic.Int64
		err := r.withRoom(ctx, &come, func(ctx context.Context) error {
			return r.server.ApplyRelayLogs(ctx, host.RelayLog, goal, func(file string, at int64) {
				come.Store(at)
				tell("applying binary logs: "+file, at, 0)
			})
		})
		if err != nil {
			return err
		}
	}
	return r.stands(ctx, s.to)
}

// tellRelay tells now and then how far it is.
func (r *restoring) tellRelay() func(doing string, done, all int64) {
	told := time.Time{}
	return func(doing string, done, all int64) {
		if time.Since(told) < 250*time.Millisecond {
			return
		}
		told = time.Now()
		r.Report(farm.Event{Kind: farm.StepProgress, Text: doing, Bytes: done, Total: max(done, all)})
	}
}
