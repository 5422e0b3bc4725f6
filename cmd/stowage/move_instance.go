package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/move"
)

func (a *app) moveInstanceCommand() *cobra.Command {
	var to string
	dry := false
	cmd := &cobra.Command{
		Use: "instance PAIR/SIDE --to HOST", Short: "Move one instance to another host, live, without a plan",
		Long: `Moves one instance to a host of farm.yaml, in the way its pair's topology asks for: a
side of an active-active pair is replaced, the primary of a primary-replica pair and a
single instance hand over in a switchover, a replica is replaced as a replica. Preflight,
progress, status and resume are those of a plan. Only the disk of the host is checked:
a plan also checks memory, CPU and IOPS. --dry-run asks all that and touches nothing.

` + exitHelp,
		Example: "  stowage move instance dbshard001/A --to ssd01 --dry-run\n  stowage move instance dbshard001/A --to ssd01",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			pair, side, ok := strings.Cut(given[0], "/")
			if n := farm.SideName(side); !ok || n != farm.A && n != farm.B && !n.IsReplica() {
				return usage(c, fmt.Errorf("%q is not PAIR/A or PAIR/B", given[0]))
			}
			if to == "" {
				return usage(c, fmt.Errorf("--to is missing: the host that takes the instance"))
			}
			return a.moveInstance(c.Context(), move.InstanceMove{Pair: farm.PairName(pair), Side: farm.SideName(side), To: farm.HostName(to)}, dry)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the host that takes the instance")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "ask everything, print all that was found with its remedies, and touch nothing")
	cmd.Flags().StringSliceVar(&a.terms.ApproveBefore, "approve-before", nil, "steps before which a person decides: cutover, retire")
	return cmd
}

func (a *app) moveInstance(ctx context.Context, m move.InstanceMove, dry bool) error {
	d, moving, err := a.moving()
	if err != nil {
		return err
	}
	defer d.Close()
	if dry {
		moving.Dry = true
		_, findings, err := m.Begin(ctx, moving)
		if err != nil && len(findings) == 0 {
			return err // not even asked
		}
		return a.preflightOf("move", fmt.Sprintf("instance %s/%s to %s", m.Pair, m.Side, m.To), findings, err)
	}
	if err := d.Turn(ctx, fmt.Sprintf("move instance %s/%s", m.Pair, m.Side)); err != nil {
		return err
	}
	run, findings, err := m.Begin(ctx, moving)
	writeFindings(a.stderr, findings)
	if err != nil {
		return err
	}
	out, err := a.carry(ctx, moving.Act, run)
	return a.ended(out, err)
}
