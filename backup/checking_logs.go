package backup

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"stowage/backup/catalogue"
	"stowage/binlog"
	"stowage/farm"
	"stowage/host"
	"stowage/vault"
)

// CheckedLogs is what a check of one instance's archived binary logs found.
type CheckedLogs struct {
	Instance farm.InstanceName `json:"instance"`
	Bytes    int64             `json:"bytes"`
	Damaged  string            `json:"damaged,omitempty"`
	Error    string            `json:"error,omitempty"` // why they were not read
}

// CheckLogs reads the archived binary logs again of all instances that have one of these backups, and names what is not as it was written.
func (a *Act) CheckLogs(ctx context.Context, ids []string, all []catalogue.Backup, tell func(string)) ([]CheckedLogs, error) {
	asked := map[farm.InstanceName]bool{}
	for _, b := range all {
		if slices.Contains(ids, b.ID) {
			asked[b.Instance] = true
		}
	}
	out := []CheckedLogs{}
	for _, b := range slices.Backward(catalogue.Physical(all)) {
		isAsked := asked[b.Instance]
		delete(asked, b.Instance) // the newest says where its archive is
		if !isAsked || b.GTID == "" {
			continue
		}
		tell("reading binary logs of " + string(b.Instance))
		bytes, is, err := a.checkLogs(ctx, b)
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if !is && err == nil {
			continue
		}
		c := CheckedLogs{Instance: b.Instance, Bytes: bytes}
		switch {
		case errors.Is(err, vault.ErrDamaged), errors.Is(err, binlog.ErrDamaged):
			c.Damaged = err.Error()
		case err != nil:
			c.Error = err.Error()
		}
		out = append(out, c)
	}
	slices.Reverse(out)
	return out, nil
}

// checkLogs reads those of the place of one backup; is: there are some.
func (a *Act) checkLogs(ctx context.Context, b catalogue.Backup) (bytes int64, is bool, err error) {
	b.Place = a.placeNow(b.Place)
	if b.Place.Restic != "" {
		keeper, err := a.archivist(ctx, b.Host, b.Instance)
		if err != nil {
			return 0, false, err
		}
		bytes, err = keeper.CheckKept(ctx, b.Place, b.Instance)
		return bytes, bytes > 0, err
	}
	on, err := a.archivist(ctx, b.On, b.Instance)
	if err != nil {
		return 0, false, err
	}
	dir, err := host.ArchiveDir(b.Place, b.Instance)
	if err != nil {
		return 0, false, err
	}
	state, err := on.ArchiveState(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return state.Bytes, true, on.CheckBinlogs(ctx, dir)
}
