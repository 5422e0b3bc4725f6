package backup

import (
	"context"
	"errors"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/vault"
)

// wanted are the binary logs that lead from the backup to the moment that was asked for.
func (r *restoring) wanted() host.Wanted {
	b := r.order.last()
	return host.Wanted{Point: seedPoint(b), Position: b.GTID, At: r.order.Until.Time, GTIDs: r.order.Until.GTID}
}

// reaches is nil when the archive goes from the backup to the moment that was asked for. Of a repository nothing is read but its list.
func (r *restoring) reaches(ctx context.Context) error {
	b := r.order.last()
	if b.Place.Restic == "" {
		_, err := r.stretch(ctx)
		return err
	}
	keeper, err := r.act.archivist(ctx, b.Host, b.Instance)
	if err != nil {
		return err
	}
	_, err = keeper.ReachBinlogs(ctx, b.Place, b.Instance, r.wanted())
	return err
}

// pull lays the binary logs that are wanted of a repository beside the restored instance. Of a directory they are read where they are.
func (r *restoring) pull(ctx context.Context) error {
	b := r.order.last()
	if b.Place.Restic == "" {
		return nil
	}
	keeper, err := r.act.archivist(ctx, b.Host, b.Instance)
	if err != nil {
		return err
	}
	wanted := r.wanted()
	all, err := keeper.ReachBinlogs(ctx, b.Place, b.Instance, wanted)
	if err != nil {
		return err
	}
	told := time.Time{}
	pace, done := r.act.Throttle.Begin(ctx, nil, r.order.On, b.Host)
	defer done()
	_, err = host.Copy{
		From: r.vault, Origin: host.Origin{Instance: host.Instance{Name: b.Instance}, Stored: host.Stored{Place: b.Place, Set: host.Journal(b.Instance), Name: "pieces"}, Logs: &wanted},
		To: r.host, Target: host.Destination{Instance: r.order.Instance, Logs: true}, Rate: pace.Rate,
		Moved: func(n int64) {
			pace.Moved(n)
			if time.Since(told) < 250*time.Millisecond {
				return
			}
			told = time.Now()
			r.Report(farm.Event{Kind: farm.StepProgress, Text: "fetching binary logs" + pace.Slowed(), Bytes: n, Total: max(n, all)})
		},
	}.Run(ctx)
	if err != nil {
		return r.damagedLogs(ctx, keeper, err)
	}
	return nil
}

// damagedLogs asks, when binary logs did not come, whether what is in the repository is what was kept: to try again is of no use then.
func (r *restoring) damagedLogs(ctx context.Context, keeper host.Archivist, failed error) error {
	b, wanted := r.order.last(), r.wanted()
	wanted.Read = true
	if _, err := keeper.ReachBinlogs(ctx, b.Place, b.Instance, wanted); errors.Is(err, vault.ErrDamaged) {
		return r.refuse("replay", err, "stowage backup check names all that is damaged; restore to a moment before it, or a later backup; and take a new one: stowage backup run --full "+string(b.Pair))
	}
	return failed
}

// unpull takes away what pull has laid.
func (r *restoring) unpull(ctx context.Context, s stretch) error {
	if r.order.last().Place.Restic == "" {
		return nil
	}
	return s.archive.RemovePulled(ctx, r.order.Instance)
}
