package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/backup"
	"stowage/backup/kept"
	"stowage/farm"
	"stowage/session"
)

func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup", Short: "Copy instances into vaults while they serve, and prove that they can be restored",
		Long: `Copies one side of each pair into a vault, a directory or a restic repository, while it
serves: full and incremental copies, as farm.yaml says (backup), and logical ones of shards.
'backup verify' restores a backup into a throw-away server, compares every row with the live
server, and removes the throw-away server. Until then the backup is called unproven. 'status'
says what each pair can be restored from, 'list' shows all backups, 'prune' which of them may
go, 'window' how long a backup of the farm takes. docs/guide/backup.md.

` + exitHelp,
		Example: "  stowage backup run\n  stowage backup verify\n  stowage restore dbshard001",
		Args:    args(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.backupRunCommand(), a.backupBinlogsCommand(), a.backupVerifyCommand(), a.backupCheckCommand(), a.backupStatusCommand(), a.backupListCommand(), a.backupPruneCommand(), a.backupWindowCommand())
	return cmd
}

// backupFlags say what of the farm is backed up.
type backupFlags struct {
	full, incremental, dry bool
	kind                   string
	hosts, shards, single  []string
}

func (a *app) backupRunCommand() *cobra.Command {
	var f backupFlags
	cmd := &cobra.Command{
		Use: "run [PAIR | PAIR/SIDE]...", Short: "Back up one side of each pair",
		Long: `Backs up one side of each pair, or of those that are named. A pair whose newest full copy
is older than farm.yaml allows gets a full one, every other pair an incremental one; --full
and --incremental decide for all. Stowage reads the side of the newest backup again, so that
an incremental copy can follow; else the side whose host is least busy. budgets in goals.yaml
limits the copies at once from one host (streams_per_host). A copy slows down when clients
of the servers on its host would notice it. A backup of MySQL is always a full one: a clone.

--kind logical writes the rows of shards as SQL texts, of all shards of a pair or of those that
--shards names, all at one position: any MariaDB server of that version or a later one can
read them, one shard or table at a time, with zstd, tar and its own client. Binary logs cannot
continue it to a later moment, so take the other kinds, too. Of MySQL they are read by MySQL.

An instance that fails does not stop the others. 'stowage status', pause, throttle, abort
and resume work as for any run.

` + exitHelp,
		Example: "  stowage backup run\n  stowage backup run dbshard001 --full\n  stowage backup run dbshard002/B --dry-run\n  stowage backup run --kind logical --shards 'etsy_shard_00*'",
		RunE: func(c *cobra.Command, given []string) error {
			return a.backupRun(c, f, given)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.full, "full", false, "take full copies")
	fl.BoolVar(&f.incremental, "incremental", false, "take incremental copies; a full copy where none can follow or the full one is overdue, and say so")
	fl.BoolVar(&f.dry, "dry-run", false, "run all checks, print findings and remedies, and copy nothing")
	fl.StringSliceVar(&f.hosts, "host", nil, "back up pairs that have a side on these hosts, from that side")
	fl.StringVar(&f.kind, "kind", "", "what to take: full, incremental or logical")
	fl.StringSliceVar(&f.shards, "shards", nil, "back up pairs that have these shards, by name or pattern: 'etsy_shard_00*'; a logical copy has only these")
	fl.StringSliceVar(&f.single, "shard", nil, "the same as --shards")
	a.engineFlag(fl)
	a.reasonFlag(fl)
	return cmd
}

// backing opens what backing up needs, or restoring.
func (a *app) backing(restoring bool) (*session.Session, *backup.Act, error) {
	d, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	backing, err := a.backingOf(d, restoring)
	if err != nil {
		d.Close()
		return nil, nil, err
	}
	return d, backing, nil
}

// backingOf is backing in a session that is open.
func (a *app) backingOf(d *session.Session, restoring bool) (*backup.Act, error) {
	bare, goals, err := a.bareAct(d)
	if err != nil {
		return nil, err
	}
	if restoring {
		return backup.NewRestore(bare, act.SwingSettings(goals)), nil
	}
	return backup.NewAct(bare, act.SwingSettings(goals)), nil
}

func (a *app) backupRun(c *cobra.Command, f backupFlags, given []string) error {
	ctx := c.Context()
	d, backing, err := a.backing(false)
	if err != nil {
		return err
	}
	defer d.Close()
	w, err := f.wish(c, d.Farm, given)
	if err != nil {
		return err
	}
	if backing.Dry = f.dry; f.dry {
		_, findings, err := backing.Begin(ctx, w)
		if err != nil && len(findings) == 0 {
			return err
		}
		return a.backupDry(d, backing, w, findings, err)
	}
	if err := d.Turn(ctx, "backup of "+w.Name); err != nil {
		return err
	}
	run, findings, err := backing.Begin(ctx, w)
	writeFindings(a.stderr, findings)
	if err != nil {
		return err
	}
	return a.ended(a.carry(ctx, backing.Act, run))
}

// wish is what the command line asks for.
func (f backupFlags) wish(c *cobra.Command, now *farm.Farm, given []string) (backup.Wish, error) {
	w := backup.Wish{Now: time.Now(), Sides: map[farm.PairName]farm.SideName{}, Shards: map[farm.PairName][]farm.ShardName{}}
	var err error
	if w.Kind, err = f.kindOf(c); err != nil {
		return w, err
	}
	want, err := f.shardsOf(c, now, &w)
	if err != nil {
		return w, err
	}
	for _, word := range given {
		pair, side := farm.PairName(word), farm.SideName("")
		if p, s, err := sideOf(word); err == nil {
			pair, side = p, s
		}
		if _, ok := now.Pair(pair); !ok {
			return w, usage(c, fmt.Errorf("farm.yaml has no pair %q", pair))
		}
		if want[pair] = true; side != "" {
			w.Sides[pair] = side
		}
	}
	for _, h := range f.hosts {
		if _, ok := now.Host(farm.HostName(h)); !ok {
			return w, usage(c, fmt.Errorf("farm.yaml has no host %q", h))
		}
		for _, p := range now.Pairs {
			for _, side := range p.SideNames() {
				if p.Sides[side].Host == farm.HostName(h) {
					want[p.Name], w.Sides[p.Name] = true, side
				}
			}
		}
	}
	all := len(given)+len(f.hosts)+len(f.shards)+len(f.single) == 0
	for _, p := range now.Pairs {
		if all || want[p.Name] {
			w.Pairs = append(w.Pairs, p.Name)
		}
	}
	switch {
	case len(w.Pairs) == 1:
		w.Name = string(w.Pairs[0])
	case all:
		w.Name = "all"
	default:
		w.Name = farm.Counted(len(w.Pairs), "pair")
	}
	return w, nil
}

func (a *app) backupVerifyCommand() *cobra.Command {
	var to string
	var port int
	cmd := &cobra.Command{
		Use: "verify [BACKUP | PAIR]...", Short: "Restore backups into throw-away servers and compare every row with the live ones",
		Long: `Restores the newest backup of each pair, or those that are named, one after the other: unpacks
it, starts a throw-away server on it, and replays the archived binary logs. The throw-away
server follows the live server to a barrier, where the checksums of all rows of all tables
are compared. Then it is removed, and the backup is proven. A backup that differs or cannot
be restored stays unproven, and the exit code is not 0.

` + exitHelp,
		Example: "  stowage backup verify\n  stowage backup verify dbshard001 --to db012",
		RunE: func(c *cobra.Command, given []string) error {
			return a.backupVerify(c.Context(), farm.HostName(to), port, given)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the host that the throw-away servers run on; default: the vault's")
	cmd.Flags().IntVar(&port, "port", 0, "the port of the first; default: the next free one in farm.yaml")
	a.engineFlag(cmd.Flags())
	a.reasonFlag(cmd.Flags())
	return cmd
}

func (a *app) backupVerify(ctx context.Context, to farm.HostName, port int, given []string) error {
	d, restoring, err := a.backing(true)
	if err != nil {
		return err
	}
	defer d.Close()
	w := backup.RestoreWish{To: to, Port: port, Verify: true, Until: backup.Until{End: true}}
	if w.Backups, err = newestOf(d, given); err != nil {
		return err
	}
	if err := d.Turn(ctx, "backup verify"); err != nil {
		return err
	}
	run, findings, err := restoring.BeginRestore(ctx, w)
	writeFindings(a.stderr, findings)
	if err != nil {
		return err
	}
	return a.ended(a.carry(ctx, restoring.Act, run))
}

// newestOf are the newest backups of pairs, instances, or those that are named; of all pairs where none is.
func newestOf(d *session.Session, given []string) ([]string, error) {
	all, err := kept.All(d.Store)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range d.Farm.Pairs {
		if len(given) > 0 {
			break
		}
		for _, b := range backup.ToProve(d.Farm, p.Name, all) {
			out = append(out, b.ID)
		}
	}
	for _, name := range given {
		b, ok := backup.Newest(all, name, backup.Until{})
		if !ok {
			return nil, &farm.Error{Op: "find backup", Subject: name, Err: fmt.Errorf("%w: it has no backup", farm.ErrInput), Hint: "stowage backup list names them; stowage backup run takes one"}
		}
		out = append(out, b.ID)
	}
	if len(out) == 0 {
		return nil, &farm.Error{Op: "find backup", Err: fmt.Errorf("%w: there is no backup", farm.ErrInput), Hint: "stowage backup run"}
	}
	return out, nil
}
