package backup

import (
	"context"
	"fmt"

	"stowage/farm"
)

// unclonable asks what keeps a server from being cloned, and what of it a clone would not have.
func (t *taking) unclonable(ctx context.Context) (out []farm.Finding, err error) {
	why, err := t.server.CanClone(ctx)
	if err != nil {
		return nil, err
	}
	if why != "" {
		out = append(out, t.finding(farm.Blocker, why+", by which MySQL is backed up", "INSTALL PLUGIN clone SONAME 'mysql_clone.so'")...)
	}
	outside, err := t.server.FilesElsewhere(ctx)
	if err != nil {
		return nil, err
	}
	if len(outside) > 0 {
		f := t.finding(farm.Blocker, fmt.Sprintf("a clone writes %s to paths outside of its data directory, and the backup would not have them: %s", farm.Counted(len(outside), "tablespace"), farm.Some(outside)),
			"ALTER TABLE ... TABLESPACE innodb_file_per_table brings a table of a general tablespace home, CREATE TABLE ... LIKE without DATA DIRECTORY any other, DROP UNDO TABLESPACE removes undo logs; or back up with --kind logical")
		f[0].Names = outside
		out = append(out, f...)
	}
	names, err := t.otherEngines(ctx)
	if len(names) > 0 {
		f := t.finding(farm.Blocker, fmt.Sprintf("a clone would have %s without their rows, because InnoDB does not have them: %s", farm.Counted(len(names), "table"), farm.Some(names)), "ALTER TABLE ... ENGINE=InnoDB")
		f[0].Names = names
		out = append(out, f...)
	}
	return out, err
}

// askClone asks whether the host of the vault has room for a throw-away server, and nobody in its way.
func askClone(ctx context.Context, t *taking) (out []farm.Finding, err error) {
	i := t.order.Clone
	if i == nil {
		return nil, nil
	}
	on := t.order.Backup.Host
	if err := t.to.Claimable(ctx, *i, t.owner()); err != nil {
		out = append(out, t.finding(farm.Blocker, fmt.Sprintf("its clone cannot use directory %s on host %s: %v", i.Dir(), on, err), hintOr(err, "move it away if it is unused"))...)
	}
	running, err := t.to.Running(ctx, *i)
	if err != nil || running != 0 {
		return out, err
	}
	free, err := t.to.PortFree(ctx, i.Dial())
	if err != nil {
		return out, err
	}
	if !free {
		out = append(out, t.finding(farm.Blocker, fmt.Sprintf("another process listens on %s, the address for the throw-away server that clones this instance", i.Dial()), "stop that process, or plan the backup again: stowage backup run")...)
	}
	room, err := t.to.FreeBytes(ctx, i.Dir())
	if need := t.order.Backup.Raw; err == nil && room < need+need/10 {
		out = append(out, t.finding(farm.Blocker, fmt.Sprintf("%d MB are free in %s on host %s; the throw-away server that clones this instance needs %d MB there", room>>20, i.Dir(), on, (need+need/10)>>20), "make room there, or name another host in backup of farm.yaml")...)
	}
	return out, err
}
