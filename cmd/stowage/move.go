package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/farm"
	"stowage/route"
	"stowage/session"
	"stowage/store"
	"stowage/workspace"
)

func (a *app) moveCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "move PLAN",
		Short: "Carry out a plan, live",
		Long: `Carries out a plan of 'stowage plan' while clients write. First everything is
checked: the plan, the farm against what the plan was made from, every pair it touches;
--dry-run stops there (docs/reference/preflight.md says what is asked, and why). Then

  a side of an active-active pair  is seeded from its twin, attached, caught up, compared
                                   row by row, and swung: out, rewire, check, warm, in
  a primary, a single instance     hands over to its copy while writes are held for some
                                   tens of milliseconds: docs/guide/switchover.md
  a shard (plan --unit shard)      is carried by rows and binary log into another pair:
                                   docs/guide/move-shard.md

It survives a kill at any moment (continue with 'stowage resume'). What fails is put
back as it was. Ctrl-C lets running steps end and stops; resume continues. From another
terminal: status, pause, throttle, approve, abort, undo, log.

` + exitHelp,
		Example: "  stowage move first --dry-run\n  stowage move first\n  stowage status\n  stowage resume",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if err := a.meantTheVerb(c, given[0]); err != nil {
				return err
			}
			if dry {
				return a.moveDry(c.Context(), given[0])
			}
			out, err := a.move(c.Context(), given[0])
			return a.ended(out, err)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "run all checks, print findings and remedies, and change nothing")
	a.repairFlag(cmd.PersistentFlags())
	a.engineFlag(cmd.PersistentFlags())
	a.reasonFlag(cmd.PersistentFlags())
	cmd.Flags().StringSliceVar(&a.terms.ApproveBefore, "approve-before", nil, "steps before which a person decides, besides those of goals.yaml: out, retire")
	cmd.AddCommand(a.moveShardCommand(), a.moveInstanceCommand())
	return cmd
}

// meantTheVerb answers a person who steers as Stowage was steered once: those
// verbs stood below move. A plan of that name is meant when there is one.
func (a *app) meantTheVerb(c *cobra.Command, word string) error {
	verb, _, err := c.Root().Find([]string{word})
	if err != nil || verb == c.Root() || verb.GroupID != steerGroup {
		return nil
	}
	if ws, err := workspace.Open(a.dir); err != nil || slices.Contains(ws.PlanNames(), word) {
		return nil
	}
	return usage(c, fmt.Errorf("there is no plan %q; the verb that steers what runs is: stowage %s", word, word))
}

// move begins a plan and carries it out.
func (a *app) move(ctx context.Context, plan string) (moveSummary, error) {
	d, moving, err := a.moving()
	if err != nil {
		return moveSummary{}, err
	}
	defer d.Close()
	if err := d.Turn(ctx, "move "+plan); err != nil {
		return moveSummary{}, err
	}
	run, findings, err := moving.Begin(ctx, plan)
	writeFindings(a.stderr, findings)
	if err != nil {
		return moveSummary{}, err
	}
	if run.ID == "" {
		return moveSummary{FormatVersion: 1, Plan: plan, State: "nothing-to-do", Next: []string{"stowage inventory", "stowage report"}}, nil
	}
	return a.carry(ctx, moving.Act, run)
}

// resume continues with the run that has not ended, waiting for a process that
// still works on it.
func (a *app) resume(ctx context.Context) (moveSummary, error) {
	d, err := a.openRun()
	if err != nil {
		return moveSummary{}, err
	}
	defer d.Close()
	cut := cutInPreflight(d)
	last, err := act.Choose(d.Store, a.run, "resume")
	if errors.Is(err, store.ErrNone) && cut == nil {
		return moveSummary{FormatVersion: 1, State: "nothing-to-do", Next: afterNothing(d)}, nil
	}
	if err != nil && !errors.Is(err, store.ErrNone) {
		return moveSummary{}, err
	}
	going, err := a.actOf(d, last.Kind)
	if err != nil {
		return moveSummary{}, err
	}
	if goesOn, err := a.unpause(d, last); err != nil || goesOn {
		return moveSummary{}, err
	}
	if err := a.awaitLock(ctx, d); err != nil {
		return moveSummary{}, err
	}
	run, err := going.GoOn(ctx, last, func(h *workspace.Held) { a.say("%v; waiting for it to end", h) })
	if errors.Is(err, store.ErrNone) && cut != nil {
		if err := d.Turn(ctx, "resume"); err != nil { // it is forgotten with that
			return moveSummary{}, err
		}
		return moveSummary{}, a.emit(cut, cut.writeText, a.within(cut.Command))
	}
	if errors.Is(err, store.ErrNone) {
		return a.endOf(d, run)
	}
	if err != nil {
		return moveSummary{}, err
	}
	a.say("continuing with %s, begun %s", run.ID, run.Started.Local().Format(time.DateTime))
	return a.carry(ctx, going, run)
}

// endOf reports a run that has ended already.
func (a *app) endOf(d *session.Session, run store.Run) (moveSummary, error) {
	a.say("%s has ended: %s", run.ID, run.State)
	return summarize(d, run, nil)
}

// awaitLock waits for another process that has the workspace for itself.
func (a *app) awaitLock(ctx context.Context, d *session.Session) error {
	for told := false; ; told = true {
		err := d.Share()
		var held *workspace.Held
		if err == nil || !errors.As(err, &held) {
			return err
		}
		if !told {
			a.say("%v; waiting for it to end", held)
		}
		select {
		case <-ctx.Done():
			return &farm.Error{Op: "resume", Err: farm.ErrInterrupted}
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// carry shows a run's progress while it is carried out.
func (a *app) carry(ctx context.Context, going *act.Act, run store.Run) (moveSummary, error) {
	if err := a.noteRouting(ctx, going, run); err != nil {
		return moveSummary{}, err
	}
	until, hold := context.WithCancelCause(ctx)
	defer hold(nil)
	held := false
	recorder := going.Store.Record()
	screen := a.newScreen(run)
	going.Sink = func(e farm.Event) {
		recorder.Add(e)
		screen.Add(e)
		if k := kindOf(run); e.Kind == farm.StepWaiting && e.Step == k.holdsBefore && isHeld(going.Store, run) {
			hold(errHeld)
		}
	}
	out, err := going.Carry(until, run)
	screen.Close()
	if errors.Is(context.Cause(until), errHeld) && errors.Is(err, farm.ErrInterrupted) {
		err = nil
		held = true
	}
	if closeErr := recorder.Close(); err == nil {
		err = closeErr
	}
	if held {
		return moveSummary{FormatVersion: 1, Run: run.ID, Plan: run.Subject, State: stateHeld, Next: kindOf(run).letsGoOn(run)}, err
	}
	if errors.Is(err, farm.ErrInterrupted) {
		a.then(a.within("stowage resume --run "+run.ID), a.within("stowage status --run "+run.ID))
	}
	if out.Run == "" {
		return moveSummary{}, err
	}
	s, sumErr := summarize(going.Session, run, &out)
	return s, errors.Join(err, sumErr)
}

// noteRouting keeps where clients are sent, and what was agreed, when a run
// begins or goes on.
func (a *app) noteRouting(ctx context.Context, going *act.Act, run store.Run) error {
	events, _, err := going.Store.Events(run.ID, 0)
	if err != nil {
		return err
	}
	if err := going.Keep(); err != nil {
		return err
	}
	mine, err := going.MayNote(run)
	if err != nil {
		return err
	}
	return route.Begin(ctx, going.Router, len(events) == 0, mine)
}
