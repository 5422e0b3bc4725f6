package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/farm"
	"stowage/placement"
	"stowage/roll"
	"stowage/session"
	"stowage/store"
	"stowage/workspace"
)

func (a *app) sideCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "side", Short: "Take one side of a pair out of rotation, and bring it back",
		Long: `Takes one side of a pair out of rotation without a failed query, holds it out for as long
as you need, and brings it back: caught up, checked and warm. What you do to its server
meanwhile is yours: a restart, a reboot, a disk, an option.

An active-active pair is served by the other side meanwhile. The writes of a primary go to
its replica and come back; the clients of a replica read elsewhere.

` + exitHelp,
		Example: "  stowage side out dbshard001/A --reason \"new memory\"\n  systemctl restart mariadb@dbshard001a\n  stowage side in dbshard001/A",
		Args:    args(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	out := &cobra.Command{
		Use: "out PAIR/SIDE", Short: "Send the clients of a side to its twin and hold the side out",
		Long: `Asks whether the twin can carry both, sends the clients there, and fences the side: it
takes no writes, also after a restart. Ends when the side is out; nothing of Stowage has to
run while it is held. 'stowage status' shows it. 'stowage undo' sends the clients back
without the checks of 'side in'.

` + exitHelp,
		Example: "  stowage side out dbshard001/A --reason \"new memory\"",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			pair, side, err := sideOf(given[0])
			if err != nil {
				return usage(c, err)
			}
			return a.sideOut(c.Context(), pair, side)
		},
	}
	var changed []string
	in := &cobra.Command{
		Use: "in PAIR/SIDE", Short: "Bring a side back that 'side out' holds out",
		Long: `Waits until the side's server answers and has caught up, compares its variables with what
they were before it left and its tables with its twin's, fills its buffer pool, and sends
its clients back in steps, each one watched. --changed names variables that you changed on
purpose; others that differ keep the side out, and are named. Try again when that is
remedied.

` + exitHelp,
		Example: "  stowage side in dbshard001/A\n  stowage side in dbshard001/A --changed version,innodb_buffer_pool_size",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			pair, side, err := sideOf(given[0])
			if err != nil {
				return usage(c, err)
			}
			return a.sideIn(c.Context(), pair, side, changed)
		},
	}
	in.Flags().StringSliceVar(&changed, "changed", nil, "variables that may differ from what they were")
	for _, sub := range []*cobra.Command{out, in} {
		a.engineFlag(sub.Flags())
		a.reasonFlag(sub.Flags())
		cmd.AddCommand(sub)
	}
	return cmd
}

// sideOf reads PAIR/SIDE; farm.yaml tells which sides there are.
func sideOf(word string) (farm.PairName, farm.SideName, error) {
	pair, side, ok := strings.Cut(word, "/")
	if !ok || pair == "" || side == "" {
		return "", "", fmt.Errorf("%q is not PAIR/SIDE, as dbshard001/A", word)
	}
	return farm.PairName(pair), farm.SideName(side), nil
}

// rolling opens what taking sides out needs.
func (a *app) rolling() (*session.Session, *roll.Act, error) {
	d, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	bare, goals, err := a.bareAct(d)
	if err != nil {
		d.Close()
		return nil, nil, err
	}
	return d, newRoll(bare, goals), nil
}

func (a *app) sideOut(ctx context.Context, pair farm.PairName, side farm.SideName) error {
	d, rolling, err := a.rolling()
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Turn(ctx, fmt.Sprintf("side out %s/%s", pair, side)); err != nil {
		return err
	}
	run, findings, err := rolling.Begin(ctx, pair, side)
	writeFindings(a.stderr, findings)
	if err != nil {
		return err
	}
	return a.ended(a.carry(ctx, rolling.Act, run))
}

func (a *app) sideIn(ctx context.Context, pair farm.PairName, side farm.SideName, changed []string) error {
	d, rolling, err := a.rolling()
	if err != nil {
		return err
	}
	defer d.Close()
	last, err := roll.Newest(d.Store, pair, side)
	if errors.Is(err, store.ErrNone) || err == nil && last.State == store.Done {
		return &farm.Error{Op: "bring back", Subject: fmt.Sprintf("%s/%s", pair, side), Err: fmt.Errorf("%w: it is not out", farm.ErrRefused), Hint: "stowage status says where its clients are"}
	}
	if err != nil {
		return err
	}
	if err := a.awaitLock(ctx, d); err != nil {
		return err
	}
	run, err := rolling.GoOn(ctx, last, func(h *workspace.Held) { a.say("%v; waiting for it to end", h) })
	if errors.Is(err, store.ErrNone) {
		return a.ended(a.endOf(d, run))
	}
	if err != nil {
		return err
	}
	if err := rolling.LetBackIn(run, changed, a.terms.Reason); err != nil {
		return err
	}
	return a.ended(a.carry(ctx, rolling.Act, run))
}

// newRoll makes taking sides out what an act carries out. A share of the clients that come back is watched for as long as in a move.
func newRoll(bare *act.Act, goals placement.Goals) *roll.Act {
	return roll.NewAct(bare, act.SwingSettings(goals))
}
