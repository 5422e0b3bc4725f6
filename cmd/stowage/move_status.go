package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/move"
	"stowage/store"
)

// moveStatus is how far the newest move has come.
type moveStatus struct {
	FormatVersion int              `json:"format_version"`
	Run           string           `json:"run,omitempty"`
	Plan          string           `json:"plan,omitempty"`
	State         string           `json:"state"` // none, running, interrupted, done, failed
	PID           int              `json:"pid,omitempty"`
	Started       time.Time        `json:"started,omitzero"`
	Ended         time.Time        `json:"ended,omitzero"`
	SidesDone     int              `json:"sides_done"`
	Sides         []sideRow        `json:"sides"`
	ClosedGates   []gateLine       `json:"closed_gates"`
	HeldShards    []farm.ShardName `json:"held_shards"` // no pair lists them
	NextSteps     []string         `json:"next_steps"`

	WritePauses *move.WritePauses `json:"write_pauses,omitempty"` // of switchovers

	Steering *move.Steering `json:"steering,omitempty"`
	Waiting  []move.Gate    `json:"waiting"` // for a person
}

type sideRow struct {
	Pair  farm.PairName `json:"pair"`
	Side  farm.SideName `json:"side"`
	Step  string        `json:"step"`
	Done  bool          `json:"done"`
	Text  string        `json:"text,omitempty"`
	Bytes int64         `json:"bytes,omitempty"`
	Total int64         `json:"total,omitempty"`
	line  string
}

type gateLine struct {
	Pair farm.PairName `json:"pair"`
	Side farm.SideName `json:"side"`
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show how far the newest move has come", Args: args(cobra.NoArgs),
		Long:    "Shows the newest move, side by side, any gate that is closed, and what to do next.\nReads only; works while a move runs and after it was killed.\n\n" + exitHelp,
		Example: "  stowage move status",
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.status(c)
			if err != nil {
				return err
			}
			return a.emit(s, s.writeText)
		},
	}
}

func (a *app) status(c *cobra.Command) (moveStatus, error) {
	d, err := a.open()
	if err != nil {
		return moveStatus{}, err
	}
	defer d.close()
	s := moveStatus{FormatVersion: 1, State: "none", Sides: []sideRow{}, ClosedGates: []gateLine{}, HeldShards: []farm.ShardName{}, Waiting: []move.Gate{}, NextSteps: []string{"stowage plan", "stowage move PLAN"}}
	router, err := routerOf(d.Workspace, d.farm, a.log)
	if err != nil {
		return moveStatus{}, err
	}
	t, err := router.Read(c.Context())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.say("whether gates are closed is not known: %v", err)
	}
	if err == nil {
		s.HeldShards = heldShards(d.farm, t)
		for _, p := range d.farm.Pairs {
			for _, side := range farm.SideNames {
				if r := t.Pairs[p.Name]; r != nil && r.GateIsClosed(side) {
					s.ClosedGates = append(s.ClosedGates, gateLine{p.Name, side})
				}
			}
		}
	}
	run, err := d.store.LatestRun("move")
	if errors.Is(err, store.ErrNone) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Run, s.Plan, s.State, s.PID, s.Started, s.Ended = run.ID, run.Subject, string(run.State), run.PID, run.Started, run.Ended
	s.NextSteps = []string{"stowage report"}
	if run.State == store.Running {
		s.NextSteps = []string{"wait, or Ctrl-C in the process that runs it"}
		if syscall.Kill(run.PID, 0) != nil {
			s.State, s.NextSteps = "interrupted", []string{"stowage move resume"}
		}
	}
	if err := s.steered(d.store); err != nil {
		return s, err
	}
	events, _, err := d.store.Events(run.ID, 0)
	if err != nil {
		return s, err
	}
	board := move.NewBoard()
	for _, e := range events {
		board.Apply(e)
	}
	s.SidesDone, s.WritePauses = board.Done(), board.WritePauses()
	for _, r := range board.Rows() {
		s.Sides = append(s.Sides, sideRow{r.Key.Pair, r.Key.Side, r.Step, r.IsDone(), r.Text, r.Bytes, r.Total, r.Line(time.Now())})
	}
	return s, nil
}

func (s moveStatus) writeText(w io.Writer) error {
	for _, g := range s.ClosedGates {
		fmt.Fprintf(w, "GATE CLOSED: clients of %s side %s are waiting\n", g.Pair, g.Side)
	}
	for _, shard := range s.HeldShards {
		fmt.Fprintf(w, "SHARD HELD: clients of %s are waiting, for not exactly one pair lists it\n", shard)
	}
	if s.State == "none" {
		_, err := fmt.Fprintln(w, "no move has been begun in this workspace\n  next: stowage plan, then stowage move PLAN")
		return err
	}
	fmt.Fprintf(w, "%s of plan %s: %s, %d sides done\n", s.Run, s.Plan, s.State, s.SidesDone)
	if s.WritePauses != nil {
		fmt.Fprintf(w, "  %s\n", s.WritePauses)
	}
	s.writeSteering(w)
	for _, r := range s.Sides {
		fmt.Fprintln(w, "  "+r.line)
	}
	_, err := fmt.Fprintf(w, "  next: %s\n", s.NextSteps[0])
	return err
}
