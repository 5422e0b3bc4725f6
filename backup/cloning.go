package backup

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/fresh"
	"stowage/host"
	"stowage/mysql"
	"stowage/swing"
)

// cloningSteps are the runbook of the backup of one instance of MySQL: a throw-away server on the host of the vault clones it, is shut down, and its files are packed.
func cloningSteps() []swing.Step[*taking] {
	taken := takingSteps()
	return []swing.Step[*taking]{
		taken[0],
		{
			Name:    "clone",
			Needs:   "room and a free port on the host of the vault",
			Effect:  "a throw-away server there has cloned the instance, and is shut down",
			Known:   "it says that its clone is complete, and at which GTID position",
			Undone:  "its directory is removed, if this backup made it",
			Timeout: 48 * time.Hour,
			Do:      act.Method((*taking).clone),
			Undo:    act.Method((*taking).clear),
		},
		{
			Name:    "copy",
			Needs:   "room in the vault",
			Effect:  "the set has the files, and is not whole",
			Known:   "the archive of them is complete",
			Undone:  "what there is of the set is removed",
			Timeout: 48 * time.Hour,
			Do:      act.Method((*taking).pack),
			Undo:    act.Method((*taking).drop),
		},
		{
			Name:    "clear",
			Needs:   "the set has the files",
			Effect:  "the throw-away server's directory is gone",
			Known:   "it is not there",
			Timeout: 15 * time.Minute,
			Do:      act.Method((*taking).clear),
		},
		taken[len(taken)-1],
	}
}

// placeClones gives each server of MySQL that is copied whole a throw-away server on the host of its vault, and says which server_id is free then; 0: none was needed.
func (a *Act) placeClones(ctx context.Context, orders []order) (nextServerID uint32, err error) {
	ports := map[farm.HostName]int{}
	for n := range orders {
		o := &orders[n]
		b := o.Backup
		if !isClone(b) {
			continue
		}
		h, _ := a.Farm.Host(b.Host)
		if h.Dir == "" {
			return 0, &farm.Error{Op: "back up", Subject: string(b.Instance), Err: fmt.Errorf("%w: host %s has no dir in farm.yaml, where a throw-away server clones it", farm.ErrInput, b.Host), Hint: "give it one"}
		}
		port, err := a.portFor(ctx, h, ports[b.Host])
		if err != nil {
			return 0, err
		}
		ports[b.Host] = port + 1
		nextServerID = max(nextServerID, a.Farm.NextServerID)
		at := a.newIn(h, farm.InstanceName(strings.ReplaceAll(strings.TrimSuffix(b.ID, "-"+string(b.Kind)), "/", "-clone-")), port)
		o.Runbook, o.Clone, o.ServerID = cloned, &at, nextServerID
		nextServerID++
	}
	return nextServerID, nil
}

// owner marks the directory of the throw-away server as made by this run.
func (t *taking) owner() string {
	return fmt.Sprintf("%s, clone of %s", t.act.Owner, t.order.Backup.ID)
}

// Options of a server that only clones: little memory, a redo log that is soon packed, and a binary log that is left out.
var cloneOptions = map[string]string{"innodb_buffer_pool_size": "128M", "loose_innodb_buffer_pool_instances": "1", "loose_innodb_redo_log_capacity": "64M", "innodb_buffer_pool_load_at_startup": "OFF",
	"innodb_buffer_pool_dump_at_shutdown": "OFF", "log_bin": host.CloneLog, "relay_log": host.RelayBase, "loose_mysqlx": "OFF"}

// clone has the throw-away server clone the instance, and shuts it down. What an earlier attempt has left begins anew.
func (t *taking) clone(ctx context.Context) error {
	b, i := t.order.Backup, *t.order.Clone
	if err := t.begin(ctx); err != nil {
		return err
	}
	if err := t.to.Claim(ctx, i, t.owner()); err != nil {
		return err
	}
	if err := t.to.Stop(ctx, i, stopBudget); err != nil {
		return err
	}
	if err := t.to.Wipe(ctx, i, t.owner()); err != nil {
		return err
	}
	more := hereOnly(t.memory.Options)
	maps.Copy(more, cloneOptions)
	if err := t.to.WriteFile(ctx, i.Config, fresh.Options(t.memory.Options, mysql.ParseFlavor(t.memory.Version), i, t.order.ServerID, more)); err != nil {
		return err
	}
	pace, done := t.act.Throttle.BeginGently(ctx, []*mysql.Server{t.server}, b.Host, t.order.On)
	defer done()
	out, err := fresh.Clone{
		Host: t.to, New: i, ID: t.order.ServerID, Copy: t.copied, Own: t.act.Admin, Donor: t.server.Address(), As: t.act.Backup, Log: t.act.Log,
		Rate: pace.Rate, Moved: pace.Moved,
		Told: func(done, total int64) {
			t.Report(farm.Event{Kind: farm.StepProgress, Text: "cloning" + pace.Slowed(), Bytes: done, Total: max(done, total)})
		},
	}.Run(ctx)
	if err != nil {
		return err
	}
	t.memory.Copied.Seed, t.memory.Copied.At, t.memory.GTID = out.Seed, time.Now().UTC(), out.Position.String()
	return t.to.Stop(ctx, i, stopBudget)
}

// pack brings the files of the throw-away server into the vault.
func (t *taking) pack(ctx context.Context) error {
	if err := t.drop(ctx); err != nil {
		return err
	}
	if err := t.to.Claimable(ctx, *t.order.Clone, t.owner()); err != nil {
		return err
	}
	stands := t.memory.Copied
	pace, done := t.act.Throttle.BeginGently(ctx, nil, t.order.Backup.Host)
	defer done()
	if err := t.stream(ctx, pace, pace.Rate, t.to, host.Origin{Instance: *t.order.Clone, Files: true}); err != nil {
		t.memory.Copied = stands
		return err
	}
	t.memory.Copied.Seed, t.memory.Copied.At, t.memory.Ended = stands.Seed, stands.At, time.Now().UTC()
	return nil
}

// clear stops the throw-away server and removes its directory.
func (t *taking) clear(ctx context.Context) error {
	return takeAway(ctx, t.to, *t.order.Clone, t.owner())
}
