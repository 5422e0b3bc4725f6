package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/alter"
	"stowage/backup"
	"stowage/farm"
	"stowage/move"
	"stowage/reshape"
	"stowage/roll"
	"stowage/route"
	"stowage/session"
	"stowage/store"
	"stowage/swing"
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
back as it was. Ctrl-C lets running steps end and stops; resume goes on. From another
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
	cmd.Flags().BoolVar(&dry, "dry-run", false, "ask everything, print all that was found with its remedies, and touch nothing")
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

// moveSummary is what a finished move prints.
type moveSummary struct {
	FormatVersion int     `json:"format_version"`
	Run           string  `json:"run,omitempty"`
	Plan          string  `json:"plan,omitempty"`
	State         string  `json:"state"` // done, failed, held, nothing-to-do
	Sides         int     `json:"sides"`
	Moved         int     `json:"sides_moved"`
	Seconds       float64 `json:"seconds"`
	GateP50       float64 `json:"gate_p50_ms"` // how long gates were closed
	GateP95       float64 `json:"gate_p95_ms"`
	GateMax       float64 `json:"gate_max_ms"`
	// WritePauses are those of the switchovers among them.
	WritePauses *act.WritePauses `json:"write_pauses,omitempty"`
	Outcome     *act.Outcome     `json:"outcome,omitempty"`
	Hosts       []roll.HostEnd   `json:"hosts,omitempty"`   // of a roll
	Pairs       []alteredPair    `json:"pairs,omitempty"`   // of an alter
	Backups     []backupRow      `json:"backups,omitempty"` // that were made
	Tenants     []reshape.Ended  `json:"tenants,omitempty"` // of a reshape
	// FirstMinutes are how clients fared on sides that came back.
	FirstMinutes []swing.FirstMinute `json:"first_minutes,omitempty"`
	// Forward are those that have settled without a way back.
	Forward []act.LostWay `json:"without_way_back,omitempty"`
	// Next are the commands that follow: those by which a run that is held goes on, else what is looked at.
	Next []string `json:"-"` // emit has them

	part string // what is counted, in the singular
	did  string // what was done to it: moved, done

	ungated bool // nothing is said of gates
}

// ended prints how a move ended. The error decides the exit code.
func (a *app) ended(s moveSummary, err error) error {
	if s.Run == "" && (err != nil || s.State == "") {
		return err // or it has been said
	}
	if s.Outcome != nil && s.Outcome.Back != nil {
		s.Next = slices.Concat(wayBack(s.Outcome.Back), s.Next)
	}
	printErr := a.emit(s, func(w io.Writer) error {
		if s.State == "nothing-to-do" && s.Plan == "" {
			_, err := fmt.Fprintln(w, "nothing to continue: no run has begun in this workspace")
			return err
		}
		if s.State == "nothing-to-do" && s.Hosts != nil {
			_, err := fmt.Fprintln(w, "nothing to do: the plan has rolled every host")
			return err
		}
		if s.State == "nothing-to-do" && s.Pairs != nil {
			_, err := fmt.Fprintln(w, "nothing to do: the plan has changed every pair")
			return err
		}
		if s.State == "nothing-to-do" && s.Tenants != nil {
			_, err := fmt.Fprintln(w, "nothing to do: every tenant of the wave is done")
			return err
		}
		if s.State == "nothing-to-do" {
			_, err := fmt.Fprintln(w, "nothing to do: farm.yaml shows every side where the plan wants it")
			return err
		}
		if s.State == stateHeld {
			_, err := fmt.Fprintf(w, "%s: %s is out; its twin serves all clients of the pair\n  bring it back: %s\n", s.Run, s.Plan, s.Next[0])
			return err
		}
		if s.Hosts != nil {
			return errors.Join(s.writeHosts(w), writeFirstMinutes(w, s.FirstMinutes))
		}
		if s.Pairs != nil {
			return s.writePairs(w)
		}
		if s.WritePauses != nil {
			fmt.Fprintf(w, "%s: %s\n", s.Run, s.WritePauses)
		}
		if s.Tenants != nil {
			return s.writeTenants(w)
		}
		if s.ungated {
			return s.writeBackups(w)
		}
		_, err := fmt.Fprintf(w, "%s: %d of %s %s in %.1f s; gates were closed for %s (median), %s (p95), %s (longest)\n",
			s.Run, s.Moved, farm.Counted(s.Sides, s.part), s.did, s.Seconds, farm.Millis(s.GateP50), farm.Millis(s.GateP95), farm.Millis(s.GateMax))
		err = errors.Join(err, writeFirstMinutes(w, s.FirstMinutes))
		writeForward(w, s.Forward)
		if s.Outcome != nil {
			writeBack(w, s.Outcome.Back, s.Outcome.NoBack)
		}
		return err
	}, a.allWithin(s.Next)...)
	return errors.Join(err, s.wrongTenants(), printErr)
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

func summarize(d *session.Session, run store.Run, out *act.Outcome) (moveSummary, error) {
	events, _, err := d.Store.Events(run.ID, 0)
	if err != nil {
		return moveSummary{}, err
	}
	board := act.NewBoard()
	for _, e := range events {
		board.Apply(e)
	}
	s := moveSummary{FormatVersion: 1, Run: run.ID, Plan: run.Subject, State: "done", Sides: len(board.Sides), Moved: board.Done(),
		Seconds: board.Last.Sub(board.First).Seconds(), GateP50: board.Quantile(0.5), GateP95: board.Quantile(0.95), GateMax: board.Quantile(1), WritePauses: board.WritePauses(), Outcome: out, part: board.Part(kindOf(run).Kind), did: "done"}
	if run.Kind == move.Name {
		s.did = "moved"
	}
	now, err := act.SteeringOf(d.Store, run.ID)
	if err != nil {
		return s, err
	}
	if s.FirstMinutes, err = act.FirstMinutes(d.Store, run.ID); err != nil {
		return s, err
	}
	s.Forward = slices.DeleteFunc(slices.Clone(now.Lost), func(w act.LostWay) bool { return w.Forward == nil })
	if all, done := board.Shards(); all > 0 { // pairs that are made or retired for them are no moves
		s.Sides, s.Moved = all, done
	}
	if run.Kind == roll.Roll {
		if run, err = act.Choose(d.Store, run.ID, "roll"); err == nil {
			s.Hosts, err = roll.Ends(d.Store, run, time.Now())
		}
		if err != nil {
			return s, err
		}
	}
	if s.ungated = kindOf(run).Ungated; run.Kind == backup.Backup {
		made, err := backup.Made(d.Store, run.ID)
		if err != nil {
			return s, err
		}
		s.Backups = backupRows(made)
	}
	switch run.Kind {
	case alter.Name:
		s.Pairs = alteredPairs(run, out)
	case reshape.Name:
		if s.Tenants, err = reshape.OfRun(d.Store, run.ID); err != nil {
			return s, err
		}
	}
	if out != nil && !out.Whole() || run.State == store.Failed {
		s.State = "failed"
	}
	ended, err := act.Choose(d.Store, run.ID, "show")
	if err == nil && ended.State != store.Running {
		s.Next, err = afterRun(d, ended)
	}
	return s, err
}
