package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/move"
	"stowage/route"
	"stowage/store"
	"stowage/swing"
	"stowage/workspace"
)

func (a *app) moveCommand() *cobra.Command {
	var address string
	var dry bool
	cmd := &cobra.Command{
		Use:   "move PLAN",
		Short: "Carry out a plan, live",
		Long: `Carries out a plan of 'stowage plan' while clients write. First everything is
checked: the plan, the farm against what the plan was made from, every pair it touches;
--dry-run stops there (docs/preflight.md says what is asked, and why). Then

  a side of an active-active pair  is seeded from its twin, attached, caught up, compared
                                   row by row, and swung: out, rewire, check, warm, in
  a primary, a single instance     hands over to its copy while writes are held for some
                                   tens of milliseconds: docs/switchover.md
  a shard (plan --unit shard)      is carried by rows and binary log into another pair:
                                   docs/move-shard.md

It survives a kill at any moment (go on with 'stowage resume'). What fails is put
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
				return a.moveDry(c.Context(), given[0], address)
			}
			out, err := a.move(c.Context(), given[0], address)
			return a.ended(out, err)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "ask everything, print all that was found with its remedies, and touch nothing")
	a.repairFlag(cmd.PersistentFlags())
	engineFlag(cmd.PersistentFlags(), &address)
	a.reasonFlag(cmd.PersistentFlags())
	cmd.Flags().StringSliceVar(&a.terms.ApproveBefore, "approve-before", nil, "steps before which a person decides, besides those of goals.yaml: out, retire")
	cmd.AddCommand(a.moveShardCommand(&address), a.moveInstanceCommand(&address))
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
	State         string  `json:"state"` // done, failed, nothing-to-do
	Sides         int     `json:"sides"`
	Moved         int     `json:"sides_moved"`
	Seconds       float64 `json:"seconds"`
	GateP50       float64 `json:"gate_p50_ms"` // how long gates were closed
	GateP95       float64 `json:"gate_p95_ms"`
	GateMax       float64 `json:"gate_max_ms"`
	// WritePauses are those of the switchovers among them.
	WritePauses *act.WritePauses `json:"write_pauses,omitempty"`
	Outcome     *act.Outcome     `json:"outcome,omitempty"`
	// Forward are those that have settled without a way back.
	Forward []act.LostWay `json:"without_way_back,omitempty"`

	what string // is counted: sides, or shards
}

// ended prints how a move ended. The error decides the exit code.
func (a *app) ended(s moveSummary, err error) error {
	if s.Run == "" && (err != nil || s.State == "") {
		return err // or it has been said
	}
	printErr := a.emit(s, func(w io.Writer) error {
		if s.State == "nothing-to-do" && s.Plan == "" {
			_, err := fmt.Fprintln(w, "nothing to go on with: nothing has been begun in this workspace")
			return err
		}
		if s.State == "nothing-to-do" {
			_, err := fmt.Fprintln(w, "nothing to do: farm.yaml shows every side where the plan wants it")
			return err
		}
		if s.WritePauses != nil {
			fmt.Fprintf(w, "%s: %s\n", s.Run, s.WritePauses)
		}
		what := "sides"
		if s.what != "" {
			what = s.what
		}
		_, err := fmt.Fprintf(w, "%s: %d of %d %s moved in %.1f s; gates were closed for %s (median), %s (p95), %s (longest)\n",
			s.Run, s.Moved, s.Sides, what, s.Seconds, farm.Millis(s.GateP50), farm.Millis(s.GateP95), farm.Millis(s.GateMax))
		writeForward(w, s.Forward)
		if s.Outcome != nil {
			writeBack(w, s.Outcome.Back, s.Outcome.NoBack)
		}
		return err
	})
	return errors.Join(err, printErr)
}

// move begins a plan and carries it out.
func (a *app) move(ctx context.Context, plan, address string) (moveSummary, error) {
	d, moving, done, err := a.act(address)
	if err != nil {
		return moveSummary{}, err
	}
	defer done()
	release, err := d.Lock("move " + plan)
	if err != nil {
		return moveSummary{}, err
	}
	defer release()
	run, findings, err := moving.Begin(ctx, plan)
	writeFindings(a.stderr, findings)
	if err != nil {
		return moveSummary{}, err
	}
	if run.ID == "" {
		return moveSummary{FormatVersion: 1, Plan: plan, State: "nothing-to-do"}, nil
	}
	return a.carry(ctx, d, moving, run)
}

// resume goes on with the run that has not ended, waiting for a process that
// still works on it.
func (a *app) resume(ctx context.Context, address string) (moveSummary, error) {
	d, moving, done, err := a.actOpen(address)
	if err != nil {
		return moveSummary{}, err
	}
	defer done()
	if goesOn, err := a.unpause(d); err != nil || goesOn {
		return moveSummary{}, err
	}
	cut := d.cutInPreflight()
	release, err := a.awaitLock(ctx, d)
	if err != nil {
		return moveSummary{}, err
	}
	defer release()
	run, err := moving.Unfinished()
	if errors.Is(err, store.ErrNone) && cut != nil {
		return moveSummary{}, a.emit(cut, cut.writeText)
	}
	if errors.Is(err, store.ErrNone) {
		return a.lastEnd(d)
	}
	if err != nil {
		return moveSummary{}, err
	}
	a.say("going on with %s, begun %s", run.ID, run.Started.Local().Format(time.DateTime))
	return a.carry(ctx, d, moving, run)
}

// lastEnd reports the newest run that has ended already.
func (a *app) lastEnd(d *desk) (moveSummary, error) {
	run, err := act.Latest(d.store)
	if errors.Is(err, store.ErrNone) {
		return moveSummary{FormatVersion: 1, State: "nothing-to-do"}, nil
	}
	if err != nil {
		return moveSummary{}, err
	}
	a.say("%s has ended: %s", run.ID, run.State)
	return summarize(d, run, nil)
}

// awaitLock waits for another process that works in the workspace.
func (a *app) awaitLock(ctx context.Context, d *desk) (release func(), err error) {
	for told := false; ; told = true {
		release, err = d.Lock("resume")
		var held *workspace.Held
		if err == nil || !errors.As(err, &held) {
			return release, err
		}
		if !told {
			a.say("%v; waiting for it to end", held)
		}
		select {
		case <-ctx.Done():
			return nil, &farm.Error{Op: "resume", Err: farm.ErrInterrupted}
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// carry shows a run's progress while it is carried out.
func (a *app) carry(ctx context.Context, d *desk, moving *move.Act, run store.Run) (moveSummary, error) {
	if err := a.noteRouting(ctx, d, moving, run); err != nil {
		return moveSummary{}, err
	}
	recorder := d.store.Record()
	screen := a.newScreen(run.ID)
	moving.Sink = func(e farm.Event) {
		recorder.Add(e)
		screen.Add(e)
	}
	out, err := moving.Carry(ctx, run)
	screen.Close()
	if closeErr := recorder.Close(); err == nil {
		err = closeErr
	}
	if out.Run == "" {
		return moveSummary{}, err
	}
	s, sumErr := summarize(d, run, &out)
	return s, errors.Join(err, sumErr)
}

// noteRouting keeps where clients are sent, and what was agreed, when a run
// begins or goes on.
func (a *app) noteRouting(ctx context.Context, d *desk, moving *move.Act, run store.Run) error {
	events, _, err := d.store.Events(run.ID, 0)
	if err != nil {
		return err
	}
	if err := d.Keep(); err != nil {
		return err
	}
	return route.Begin(ctx, moving.Mover.Router, len(events) == 0)
}

func summarize(d *desk, run store.Run, out *act.Outcome) (moveSummary, error) {
	events, _, err := d.store.Events(run.ID, 0)
	if err != nil {
		return moveSummary{}, err
	}
	board := act.NewBoard()
	for _, e := range events {
		board.Apply(e)
	}
	s := moveSummary{FormatVersion: 1, Run: run.ID, Plan: run.Subject, State: "done", Sides: len(board.Sides), Moved: board.Done(),
		Seconds: board.Last.Sub(board.First).Seconds(), GateP50: board.Quantile(0.5), GateP95: board.Quantile(0.95), GateMax: board.Quantile(1), WritePauses: board.WritePauses(), Outcome: out}
	now, err := act.SteeringOf(d.store, run.ID)
	if err != nil {
		return s, err
	}
	s.Forward = slices.DeleteFunc(slices.Clone(now.Lost), func(w act.LostWay) bool { return w.Forward == nil })
	if all, done := board.Shards(); all > 0 { // pairs that are made or retired for them are no moves
		s.Sides, s.Moved, s.what = all, done, "shards"
	}
	if out != nil && !out.Whole() || run.State == store.Failed {
		s.State = "failed"
	}
	return s, nil
}

// act gathers what carrying out a plan needs.
func (a *app) act(address string) (*desk, *move.Act, func(), error) {
	d, err := a.open()
	return a.actAt(d, err, address)
}

// actOpen is act for the run that has not ended.
func (a *app) actOpen(address string) (*desk, *move.Act, func(), error) {
	d, err := a.openRun()
	return a.actAt(d, err, address)
}

func (a *app) actAt(d *desk, err error, address string) (*desk, *move.Act, func(), error) {
	if err != nil {
		return nil, nil, nil, err
	}
	if err := d.login(); err != nil {
		d.close()
		return nil, nil, nil, err
	}
	goals, err := d.goals()
	if err != nil {
		d.close()
		return nil, nil, nil, err
	}
	router, err := routerOf(d.Workspace, d.farm, a.log)
	if err != nil {
		d.close()
		return nil, nil, nil, err
	}
	settings := swing.Defaults()
	settings.Soak = min(goals.Soak, act.WatchAtMost)
	moving := move.NewAct(&act.Act{
		Workspace: d.Workspace, Store: d.store, Address: address, Terms: a.terms,
		Engine:    engine.Options{Dir: d.State(), Log: a.log},
		Conductor: &act.Conductor{Log: a.log, Border: a.border},
	}, &move.Mover{
		Router: router,
		Admin:  d.admin, Replication: d.replication, Backup: d.backup, Path: d.Path,
		Record: func(p farm.PairName, s farm.SideName, to farm.Side) error {
			return d.EditFarm(func(e *workspace.Edit) error { e.SetSide(p, s, to); return nil })
		},
		RecordShard: move.RecordShardIn(d.Workspace),
		Farm:        d.Farm,
		Logs:        filepath.Join(d.State(), "errorlogs"),
		AddPair: func(p farm.Pair) error {
			return d.EditFarm(func(e *workspace.Edit) error { e.AddPair(p); return nil })
		},
		RemovePair: func(p farm.PairName) error {
			return d.EditFarm(func(e *workspace.Edit) error { e.RemovePair(p); return nil })
		},
		Settings: settings, Repair: a.repair,
	})
	moving.Elsewhere = func() error { return noDomainsOpen(d) }
	hosts, err := a.hosts(d, moving)
	if err != nil {
		d.close()
		return nil, nil, nil, err
	}
	moving.Mover.Host, moving.Mover.Greet = hosts.host, hosts.greet
	return d, moving, func() { hosts.close(); d.close() }, nil
}
