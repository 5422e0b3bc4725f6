package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/inventory"
	"stowage/store"
	"stowage/workspace"
)

func (a *app) inventoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inventory",
		Short: "Ask every server what it is, and show where it disagrees with farm.yaml",
		Long: `Asks every instance of farm.yaml for its version, identity, replication and the
size of every shard, compares the answers with farm.yaml and against each
other, and keeps them. Reads only. Exit code 1 with a blocker or a warning, 0 with notes
alone.

There is no farm.yaml yet? 'stowage inventory discover' drafts one of servers that run. More sources than
farm.yaml and servers? 'stowage inventory check' compares them all with each other.

` + exitHelp,
		Example: "  stowage inventory discover db001 db002 --follow\n  stowage inventory\n  stowage inventory --json | jq .findings\n  stowage inventory accept",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			inv, err := a.inventory(c.Context())
			if err != nil {
				return err
			}
			if err := a.emit(inv, inv.WriteText, a.afterInventory(inv)...); err != nil {
				return err
			}
			if slices.ContainsFunc(inv.Findings, func(f farm.Finding) bool { return f.Severity != farm.Note }) {
				return farm.ErrFindings
			}
			return nil
		},
	}
	cmd.AddCommand(a.discoverCommand(), a.checkCommand(), a.graphCommand(), a.loadCommand(), a.acceptCommand())
	return cmd
}

func (a *app) acceptCommand() *cobra.Command {
	var fromSources, fromLoad, fromTune bool
	cmd := &cobra.Command{
		Use:   "accept",
		Short: "Write measured sizes or load, findings of tune, or what sources have decided, into farm.yaml",
		Long: `Writes what the newest inventory measured into farm.yaml: the size of every shard,
and next_server_id when servers know higher ids. Comments, order and all other
values stay as they are.

With --sources it checks the sources of inventory.yaml and writes where they surely contradict
farm.yaml: addresses, types and labels of hosts, host, port and datadir of instances, topologies, and pair and
size of shards. What is not sure is listed and left. Other sources are never written.

With --load it writes what the newest 'stowage inventory load' has measured: cpu, iops, memory and growth of each shard.
What was not measured, or only poorly, is listed and stays as it was. measured.json, beside farm.yaml, remembers which
figures were measured and when: a plan says how many of the figures it rests on were.

With --options it writes what the newest 'stowage tune --all' would change in servers as options of their host types.
Where servers of one type ask for different values, neither is written. 'stowage roll options' brings servers there.

` + exitHelp,
		Example: "  stowage inventory && stowage inventory accept && git diff farm.yaml\n  stowage inventory load --for 10m && stowage inventory accept --load\n  stowage inventory accept --sources && git diff farm.yaml",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case fromSources && fromLoad, fromSources && fromTune, fromLoad && fromTune:
				return usage(c, errors.New("--sources, --load and --options cannot be combined"))
			case fromTune:
				out, err := a.acceptOptions()
				if err != nil {
					return err
				}
				return a.emit(out, out.writeText, a.cmd("roll options"))
			case fromLoad:
				out, err := a.acceptLoad()
				if err != nil {
					return err
				}
				return a.emit(out, out.writeText, a.cmd("plan"))
			case fromSources:
				out, err := a.acceptSources(c.Context())
				if err != nil {
					return err
				}
				return a.emit(out, out.writeText, a.cmd("inventory check"))
			}
			n, err := a.acceptInventory()
			if err != nil {
				return err
			}
			return a.emit(map[string]int{"shards": n}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "farm.yaml: wrote the measured sizes of %s\n", farm.Counted(n, "shard"))
				return err
			}, a.cmd("plan"))
		},
	}
	cmd.Flags().BoolVar(&fromSources, "sources", false, "write what the sources of inventory.yaml have decided, instead of measured sizes")
	cmd.Flags().BoolVar(&fromTune, "options", false, "write what tune --all found as options of host types")
	cmd.Flags().BoolVar(&fromLoad, "load", false, "write the measured load of shards, instead of measured sizes")
	return cmd
}

// inventory surveys the farm and keeps the answer.
func (a *app) inventory(ctx context.Context) (inventory.Inventory, error) {
	d, err := a.open()
	if err != nil {
		return inventory.Inventory{}, err
	}
	defer d.Close()
	if err := d.Login(); err != nil {
		return inventory.Inventory{}, err
	}
	var answered atomic.Int64
	done := a.working(func() string { return fmt.Sprintf("asking servers: %d of %d", answered.Load(), d.Farm.InstanceCount()) })
	inv, err := inventory.Survey(ctx, d.Farm, d.Server, func(n, _ int) { answered.Store(int64(n)) })
	done()
	if err != nil {
		return inv, err
	}
	return inv, d.Store.PutDocument("inventory", d.Farm.Name, time.Now(), inv)
}

// acceptInventory writes measured sizes into farm.yaml and counts them.
func (a *app) acceptInventory() (int, error) {
	d, err := a.open()
	if err != nil {
		return 0, err
	}
	defer d.Close()
	var inv inventory.Inventory
	_, err = d.Store.LatestDocument("inventory", "", &inv)
	if errors.Is(err, store.ErrNone) {
		return 0, &farm.Error{Op: "accept inventory", Err: fmt.Errorf("%w: none has been taken in this workspace", farm.ErrInput), Hint: "take one first: stowage inventory"}
	}
	if err != nil {
		return 0, err
	}
	sizes := inv.ShardBytes()
	if len(sizes) == 0 && len(d.Farm.Pairs) > 0 {
		return 0, &farm.Error{Op: "accept inventory", Err: fmt.Errorf("%w: the newest one measured nothing", farm.ErrInput),
			Hint: "see why, and take another: stowage inventory"}
	}
	n := 0
	err = d.EditFarm(func(e *workspace.Edit) error {
		n = 0
		for _, p := range e.Farm().Pairs {
			for _, s := range p.Shards {
				bytes, measured := sizes[s.Name]
				if !measured || bytes == 0 { // a database without tables says nothing of what its shard needs
					continue
				}
				needs := farm.Resources{}
				needs.Add(s.Needs)
				needs[farm.Disk] = float64(bytes)
				e.SetShardNeeds(s.Name, needs)
				n++
			}
		}
		if high := inv.HighestServerID(); high >= e.Farm().NextServerID {
			e.SetNextServerID(high + 1)
		}
		return nil
	})
	return n, err
}
