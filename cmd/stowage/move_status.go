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
	"stowage/route"
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
	GatesUnknown  string           `json:"gates_unknown,omitempty"` // why closed_gates says nothing
	HeldShards    []farm.ShardName `json:"held_shards"`             // no pair lists them
	NextSteps     []string         `json:"next_steps"`

	WritePauses *move.WritePauses `json:"write_pauses,omitempty"` // of switchovers

	Steering *move.Steering `json:"steering,omitempty"`
	Waiting  []move.Gate    `json:"waiting"` // for a person

	board *move.Board // nil where no move has been begun
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
	router, err := routerOf(d.Workspace, d.farm, a.log)
	if err != nil {
		return moveStatus{}, err
	}
	unknown := ""
	t, err := router.Read(c.Context())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		unknown = fmt.Sprintf("whether gates are closed is not known: %v", err)
		a.say("%s", unknown)
	}
	if err != nil {
		t = nil
	}
	s, err := statusOf(d, t, func(run string) (*move.Board, error) {
		events, _, err := d.store.Events(run, 0)
		board := move.NewBoard()
		for _, e := range events {
			board.Apply(e)
		}
		return board, err
	})
	s.GatesUnknown = unknown
	return s, err
}

// statusOf is how far the newest move has come, by what the workspace keeps. t is nil where gates are not known; boardOf is what the events of a run say.
func statusOf(d *desk, t *route.Table, boardOf func(run string) (*move.Board, error)) (moveStatus, error) {
	s := moveStatus{FormatVersion: 1, State: "none", Sides: []sideRow{}, ClosedGates: []gateLine{}, HeldShards: []farm.ShardName{}, Waiting: []move.Gate{}, NextSteps: []string{"stowage plan", "stowage move PLAN"}}
	if t != nil {
		s.gates(d.farm, t)
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
	board, err := boardOf(run.ID)
	if err != nil {
		return s, err
	}
	s.board, s.SidesDone, s.WritePauses = board, board.Done(), board.WritePauses()
	for _, r := range board.Rows() {
		s.Sides = append(s.Sides, sideRow{r.Key.Pair, r.Key.Side, r.Step, r.IsDone(), r.Text, r.Bytes, r.Total, r.Line(time.Now())})
	}
	return s, nil
}

// gates adds what holds clients back, by the routing table.
func (s *moveStatus) gates(f *farm.Farm, t *route.Table) {
	s.HeldShards = heldShards(f, t)
	for _, p := range f.Pairs {
		for _, side := range farm.SideNames {
			if r := t.Pairs[p.Name]; r != nil && r.GateIsClosed(side) {
				s.ClosedGates = append(s.ClosedGates, gateLine{p.Name, side})
			}
		}
	}
}

// alarms are what holds clients back, one sentence each.
func (s moveStatus) alarms() []string {
	var out []string
	for _, g := range s.ClosedGates {
		out = append(out, fmt.Sprintf("GATE CLOSED: clients of %s side %s are waiting", g.Pair, g.Side))
	}
	for _, shard := range s.HeldShards {
		out = append(out, fmt.Sprintf("SHARD HELD: clients of %s are waiting, for not exactly one pair lists it", shard))
	}
	return out
}

// said is what people ordered, one sentence each.
func (s moveStatus) said() []string {
	now := s.Steering
	if now == nil || s.State != string(store.Running) && s.State != "interrupted" {
		return nil
	}
	var out []string
	if now.Ending != nil {
		out = append(out, fmt.Sprintf("ENDING %s", now.Ending))
	}
	if now.Paused != nil {
		out = append(out, fmt.Sprintf("PAUSED %s", now.Paused))
	}
	if now.Throttle != nil {
		out = append(out, fmt.Sprintf("THROTTLED to %g MB/s %s", float64(*now.Throttle)/1e6, now.ThrottleBy))
	}
	return out
}

func (s moveStatus) writeText(w io.Writer) error {
	for _, alarm := range s.alarms() {
		fmt.Fprintln(w, alarm)
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
