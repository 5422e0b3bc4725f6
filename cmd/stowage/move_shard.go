package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/move"
)

// shardAnswer is what `move shard --dry-run` prints.
type shardAnswer struct {
	FormatVersion int             `json:"format_version"`
	State         string          `json:"state"` // nothing-to-do, can-begin, refused
	Ways          []move.ShardWay `json:"shards"`
	Findings      []farm.Finding  `json:"findings"`
}

func (a *app) moveShardCommand() *cobra.Command {
	var to, how string
	var dry bool
	soak := time.Duration(-1)
	cmd := &cobra.Command{
		Use: "shard NAME... --to PAIR|INSTANCE", Short: "Carry single shards into another pair, live",
		Long: `Moves one logical shard (a database), or several one after the other, out of its pair
into another that serves already, while clients of the shard write and its neighbours
notice nothing. What will happen is printed first, then all findings of preflight, then
progress. --dry-run stops before anything is touched.

The shard's clients wait once, while the last changes are applied: usually well below a
second. Until the move settles everything written at the new place goes back to the old
one as well, and 'stowage undo' brings the shard home; --soak says how long.
'stowage status' and 'stowage resume' work as for a plan.

Clients must look up which pair lists their shard: docs/reference/routing.md, docs/guide/move-shard.md.

` + exitHelp,
		Example: "  stowage move shard etsy_shard_0002 --to dbshard002 --dry-run\n  stowage move shard etsy_shard_0002 --to dbshard002 --soak 24h\n  stowage move shard etsy_shard_0003 etsy_shard_0004 --to dbshard002b",
		Args:    args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if to == "" {
				return usage(c, fmt.Errorf("--to is missing: the pair or the instance that takes the shard"))
			}
			var moves []move.ShardMove
			for _, name := range given {
				moves = append(moves, move.ShardMove{Shard: farm.ShardName(name), To: to, How: move.How(how), Soak: soak})
			}
			return a.moveShards(c.Context(), moves, dry)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the pair, or the instance of a pair, that takes the shard")
	cmd.Flags().StringVar(&how, "how", "", "copier, or replication: the target's own; default: what suits, with the reason")
	cmd.Flags().DurationVar(&soak, "soak", -1, "how long the way back is kept open before the old copy is removed; default: soak of goals.yaml")
	cmd.Flags().Lookup("soak").DefValue = "0s" // -1 is nobody's default, but for the absence of one
	cmd.Flags().StringSliceVar(&a.terms.ApproveBefore, "approve-before", nil, "steps before which a person decides: cutover, settle")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "run all checks, print findings and remedies, and change nothing")
	return cmd
}

// moveShards begins the move of shards and carries it out.
func (a *app) moveShards(ctx context.Context, moves []move.ShardMove, dry bool) error {
	d, moving, err := a.moving()
	if err != nil {
		return err
	}
	defer d.Close()
	goals, err := d.GoalsFor(d.Farm)
	if err != nil {
		return err
	}
	for i := range moves {
		if moves[i].Soak < 0 {
			moves[i].Soak = goals.Soak
		}
	}
	if err := d.Turn(ctx, "move shard "+string(moves[0].Shard)); err != nil {
		return err
	}
	run, ways, findings, err := moving.BeginShards(ctx, moves, dry)
	if dry {
		return a.dryShards(ways, findings, err)
	}
	for _, w := range ways {
		for _, line := range w.Lines {
			a.say("%s", line)
		}
	}
	writeFindings(a.stderr, findings)
	if err != nil {
		return err
	}
	if run.ID == "" {
		return a.ended(moveSummary{FormatVersion: 1, Plan: "move shard", State: "nothing-to-do", Next: []string{"stowage inventory"}}, nil)
	}
	out, err := a.carry(ctx, moving.Act, run)
	return a.ended(out, err)
}

func (a *app) dryShards(ways []move.ShardWay, findings []farm.Finding, err error) error {
	if err != nil && len(ways) == 0 {
		return err
	}
	v := shardAnswer{FormatVersion: 1, State: "can-begin", Ways: ways, Findings: findings}
	switch {
	case err != nil:
		v.State = "refused"
	case len(ways) == 0:
		v.State = "nothing-to-do"
	}
	next := a.afterDry(err, findings)
	if v.State == "nothing-to-do" {
		next = []string{a.cmd("inventory")}
	}
	printErr := a.emit(v, func(w io.Writer) error {
		if len(ways) == 0 {
			_, err := fmt.Fprintln(w, "nothing to do: farm.yaml has every shard there")
			return err
		}
		for _, way := range ways {
			for _, line := range way.Lines {
				fmt.Fprintln(w, line)
			}
		}
		writeFindings(w, findings)
		return nil
	}, next...)
	if printErr != nil {
		return printErr
	}
	return err
}
