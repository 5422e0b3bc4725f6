package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// lender is a host that has the binary logs that are wanted.
type lender struct {
	on     farm.HostName
	keeper host.Archivist
	bytes  int64
}

// lender finds the host that has all of them. Of a repository it is the one that reads it. Of a directory these are asked, one after the other: the host
// on which the instance is restored, because the directory may be mounted there; the one that archived into it; that of the vault. The error wraps
// host.ErrNotArchived when those that answer do not have them.
func (r *restoring) lender(ctx context.Context) (lender, error) {
	b := r.order.last()
	hosts := []farm.HostName{b.Host}
	if b.Place.Restic == "" {
		hosts = []farm.HostName{r.order.On, b.On, b.Host}
	}
	var failed error
	for n, on := range hosts {
		if slices.Contains(hosts[:n], on) {
			continue
		}
		keeper, err := r.act.archivist(ctx, on, b.Instance)
		if err == nil {
			var bytes int64
			if bytes, err = r.reach(ctx, keeper); err == nil {
				return lender{on, keeper, bytes}, nil
			}
		}
		if ctx.Err() != nil {
			return lender{}, context.Cause(ctx)
		}
		if failed == nil || on == b.On {
			failed = fmt.Errorf("host %s: %w", on, err) // the one that archived them says best what is missing
		}
	}
	return lender{}, failed
}

// reach is how many bytes of logs a host has to give. Where the backup stands can be looked up in a directory; of a repository the list has to do.
func (r *restoring) reach(ctx context.Context, keeper host.Archivist) (int64, error) {
	b := r.order.last()
	if b.Place.Restic == "" {
		dir, err := host.ArchiveDir(b.Place, b.Instance)
		if err == nil {
			_, err = keeper.ArchiveFrom(ctx, dir, seedPoint(b), b.GTID)
		}
		if err != nil {
			return 0, err
		}
	}
	return keeper.ReachBinlogs(ctx, b.Place, b.Instance, r.wanted())
}

// pull returns the directory of the binary logs that are wanted. Those of another host, or of a repository, are laid beside the restored instance.
func (r *restoring) pull(ctx context.Context) (dir string, err error) {
	b := r.order.last()
	from, err := r.lender(ctx)
	if err != nil {
		return "", err
	}
	if b.Place.Restic == "" && from.on == r.order.On { // they are read where they lie
		return host.ArchiveDir(b.Place, b.Instance)
	}
	at, err := r.act.Host(from.on)
	if err != nil {
		return "", err
	}
	wanted := r.wanted()
	told := time.Time{}
	pace, done := r.act.Throttle.Begin(ctx, nil, r.order.On, from.on)
	defer done()
	_, err = host.Copy{
		From: at, Origin: host.Origin{Instance: host.Instance{Name: b.Instance}, Stored: host.Stored{Place: b.Place, Set: host.Journal(b.Instance), Name: "pieces"}, Logs: &wanted},
		To: r.host, Target: host.Destination{Instance: r.order.Instance, Logs: true}, Rate: pace.Rate,
		Moved: func(n int64) {
			pace.Moved(n)
			if time.Since(told) < 250*time.Millisecond {
				return
			}
			told = time.Now()
			r.Report(farm.Event{Kind: farm.StepProgress, Text: "fetching binary logs" + pace.Slowed(), Bytes: n, Total: max(n, from.bytes)})
		},
	}.Run(ctx)
	if err != nil {
		return "", r.damagedLogs(ctx, from.keeper, err)
	}
	return host.PulledDir(r.order.Instance), nil
}

// damagedLogs asks, when binary logs did not come, whether what is archived is what was kept: to try again is of no use then.
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
	if s.dir != host.PulledDir(r.order.Instance) {
		return nil
	}
	return s.archive.RemovePulled(ctx, r.order.Instance)
}
