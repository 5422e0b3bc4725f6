package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/farm"
	"stowage/route"
	"stowage/session"
	"stowage/store"
	"stowage/workspace"
)

// moveStatus is how far the newest move has come.
type moveStatus struct {
	FormatVersion int              `json:"format_version"`
	Run           string           `json:"run,omitempty"`
	Plan          string           `json:"plan,omitempty"`
	State         string           `json:"state"` // none, running, interrupted, held, done, failed
	PID           int              `json:"pid,omitempty"`
	Started       time.Time        `json:"started,omitzero"`
	Ended         time.Time        `json:"ended,omitzero"`
	SidesDone     int              `json:"sides_done"`
	Sides         []sideRow        `json:"sides"`
	ClosedGates   []gateLine       `json:"closed_gates"`
	GatesUnknown  string           `json:"gates_unknown,omitempty"` // why closed_gates says nothing
	HeldShards    []farm.ShardName `json:"held_shards"`             // no pair lists them
	// NotReplicating are servers in rotation whose replication stands still.
	NotReplicating []linkLine `json:"not_replicating"`
	LinksUnknown   string     `json:"links_unknown,omitempty"` // servers that could not be asked
	// Forged are steps and answers of this move that were refused: somebody interferes.
	Forged []string `json:"forged,omitempty"`
	// AlsoOpen are other runs that have not ended.
	AlsoOpen []alsoOpen `json:"also_open,omitempty"`
	// Claim is what the run has for itself until it ends.
	Claim *claimLine `json:"claim,omitempty"`
	// RoutingLost: the move has not ended, and there is no routing table.
	RoutingLost bool `json:"routing_lost,omitempty"`
	// NotBegun is a later move, killed while it asked whether it may begin.
	NotBegun *cutMove `json:"not_begun,omitempty"`
	routingTruth
	NextSteps []string `json:"next_steps,omitempty"`

	WritePauses *act.WritePauses `json:"write_pauses,omitempty"` // of switchovers

	Steering *act.Steering  `json:"steering,omitempty"`
	Waiting  []act.Approval `json:"waiting"` // for a person

	board *act.Board // nil where nothing has been begun
	kind  act.Kind   // of the run
	dir   string     // as the person has named the workspace
}

// alsoOpen is a run that has not ended, besides the one that is shown.
type alsoOpen struct {
	Run   string `json:"run"`
	Plan  string `json:"plan"`
	State string `json:"state"`
}

// claimLine is what no other run may touch.
type claimLine struct {
	Whole bool            `json:"whole,omitempty"` // the whole farm
	Pairs []farm.PairName `json:"pairs,omitempty"`
	Hosts []farm.HostName `json:"hosts,omitempty"`
}

func claimed(d *session.Session, run store.Run) (*claimLine, error) {
	c, err := d.ClaimOf(run.ID)
	if errors.Is(err, fs.ErrNotExist) || run.State != store.Running {
		return nil, nil
	}
	return &claimLine{c.Whole, c.Pairs, c.Hosts}, err
}

func (c claimLine) String() string {
	if c.Whole {
		return "the whole farm"
	}
	return fmt.Sprintf("%s on %s", farm.Counted(len(c.Pairs), "pair"), farm.Counted(len(c.Hosts), "host"))
}

type sideRow struct {
	Pair  farm.PairName `json:"pair"`
	Side  farm.SideName `json:"side"`
	Host  farm.HostName `json:"host,omitempty"` // it is rolled: all its sides
	Step  string        `json:"step"`
	Done  bool          `json:"done"`
	Text  string        `json:"text,omitempty"`
	Bytes int64         `json:"bytes,omitempty"`
	Total int64         `json:"total,omitempty"`
	line  string
	short string // for one screen: long names without their middle
}

type gateLine struct {
	Pair farm.PairName `json:"pair"`
	Side farm.SideName `json:"side"`
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show how far a run has come", Args: args(cobra.NoArgs),
		Long:    "Shows the newest run that has not ended, or the newest, side by side, any gate that is closed, any side in rotation that does not\nreplicate, and what to do next.\nReads only; works while it runs and after it was killed.\n\n" + exitHelp,
		Example: "  stowage status",
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.status(c)
			if err != nil {
				return err
			}
			next := a.allWithin(s.NextSteps)
			s.NextSteps, s.dir = nil, a.dir // emit has them
			return a.emit(s, s.writeText, next...)
		},
	}
}

func (a *app) status(c *cobra.Command) (moveStatus, error) {
	d, err := a.openRun()
	if err != nil {
		return moveStatus{}, err
	}
	defer d.Close()
	router, err := d.Routing()
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
	s, err := statusOf(d, t, a.run, func(run string) (*act.Board, error) {
		events, _, err := d.Store.Events(run, 0)
		board := act.NewBoard()
		for _, e := range events {
			board.Apply(e)
		}
		return board, err
	})
	if err == nil {
		err = s.noTable(d, t, unknown)
	}
	if err != nil || t == nil {
		return s, err
	}
	open, err := openerOf(d)
	if err != nil {
		s.LinksUnknown = err.Error()
	} else {
		s.links(c.Context(), d, t, open)
	}
	s.routingTruth, err = truthOf(c.Context(), d, router, t, open)
	return s, err
}

// interrupted is the state of a run that has not ended and that no process carries out.
const interrupted = "interrupted"

// stateHeld is the state of a run that holds a side out until a person brings it back. No process has to carry it out meanwhile.
const stateHeld = "held"

// stateOf is how a run is: as the store has it, or interrupted.
func stateOf(ws *workspace.Workspace, r store.Run) string {
	if r.State == store.Running && act.Carrier(ws, r) == 0 {
		return interrupted
	}
	return string(r.State)
}

// statusOf is how far a run has come, by what the workspace keeps: the named one, the newest that has not ended, or the newest. t is nil where gates are not known; boardOf is what the events of a run say.
func statusOf(d *session.Session, t *route.Table, name string, boardOf func(run string) (*act.Board, error)) (moveStatus, error) {
	s := moveStatus{FormatVersion: 1, State: "none", Sides: []sideRow{}, ClosedGates: []gateLine{}, NotReplicating: []linkLine{}, HeldShards: []farm.ShardName{}, Waiting: []act.Approval{}, routingTruth: routingTruth{Differs: []route.Difference{}, Refusing: []refusingLine{}}, NextSteps: afterNothing(d)}
	if t != nil {
		s.gates(d.Farm, t)
	}
	s.NotBegun = cutInPreflight(d)
	open, err := act.Open(d.Store)
	if err != nil {
		return s, err
	}
	if name == "" && len(open) > 0 {
		name = open[0].ID
	}
	run, err := act.Choose(d.Store, name, "status")
	if errors.Is(err, store.ErrNone) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	for _, r := range open {
		if r.ID != run.ID {
			s.AlsoOpen = append(s.AlsoOpen, alsoOpen{r.ID, r.Subject, stateOf(d.Workspace, r)})
		}
	}
	if s.Claim, err = claimed(d, run); err != nil {
		return s, err
	}
	s.Run, s.Plan, s.State, s.PID, s.Started, s.Ended = run.ID, run.Subject, stateOf(d.Workspace, run), run.PID, run.Started, run.Ended
	if s.NextSteps, err = afterRun(d, run); err != nil {
		return s, err
	}
	if run.State == store.Running {
		s.NextSteps = []string{"stowage top", "stowage log --run " + run.ID}
		if s.State == interrupted {
			s.NextSteps = []string{s.ofRun("stowage resume")}
		}
	}
	if err := s.steered(d.Store); err != nil {
		return s, err
	}
	if s.State == interrupted && isHeld(d.Store, run) {
		s.State, s.NextSteps = stateHeld, kindOf(run).letsGoOn(run)
	}
	board, err := boardOf(run.ID)
	if err != nil {
		return s, err
	}
	s.board, s.kind, s.SidesDone, s.WritePauses = board, kindOf(run).Kind, board.Done(), board.WritePauses()
	s.Forged = board.Forged
	for _, r := range board.Rows() {
		s.Sides = append(s.Sides, sideRow{r.Key.Pair, r.Key.Side, r.Key.Host, r.Step, r.IsDone(), r.Text, r.Bytes, r.Total, r.Line(time.Now(), 0), r.Line(time.Now(), onTop)})
	}
	return s, nil
}

// parts is what is counted of the run, of many.
func (s moveStatus) parts() string {
	if s.board == nil {
		return ""
	}
	return strings.TrimPrefix(farm.Counted(2, s.board.Part(s.kind)), "2 ")
}

// gates adds what holds clients back, by the routing table.
func (s *moveStatus) gates(f *farm.Farm, t *route.Table) {
	s.HeldShards, s.ClosedGates = heldShards(f, t), closedGates(f, t)
}

// noTable says why there is none: it is not known, or, in the middle of a move,
// lost.
func (s *moveStatus) noTable(d *session.Session, t *route.Table, unknown string) (err error) {
	if s.GatesUnknown = unknown; t != nil || unknown != "" {
		return nil
	}
	if _, s.RoutingLost, err = act.Unsettled(d.Store); s.RoutingLost {
		s.NextSteps = append([]string{"stowage routing init"}, s.NextSteps...)
	}
	return err
}

// closedGates are the sides of a farm whose clients wait at a gate.
func closedGates(f *farm.Farm, t *route.Table) []gateLine {
	out := []gateLine{}
	for _, p := range f.Pairs {
		for _, side := range farm.SideNames {
			if r := t.Pairs[p.Name]; r != nil && r.GateIsClosed(side) {
				out = append(out, gateLine{p.Name, side})
			}
		}
	}
	return out
}

// alarms are what holds clients back, one sentence each.
func (s moveStatus) alarms() []string {
	var out []string
	for _, g := range s.ClosedGates {
		out = append(out, fmt.Sprintf("GATE CLOSED: clients of %s side %s are waiting", g.Pair, g.Side))
	}
	for _, shard := range s.HeldShards {
		out = append(out, fmt.Sprintf("SHARD HELD: clients of %s wait: no pair lists it, or more than one does", shard))
	}
	for _, l := range s.NotReplicating {
		out = append(out, fmt.Sprintf("NOT REPLICATING: %s side %s (%s) is in rotation and does not apply the other side's writes: %s", l.Pair, l.Side, l.Address, l.Why))
	}
	for i, text := range s.Forged[max(0, len(s.Forged)-3):] {
		if more := len(s.Forged) - 3; i == 0 && more > 0 {
			text += fmt.Sprintf(" (and %d before)", more)
		}
		out = append(out, "SOMEBODY INTERFERES: "+text+"; what to do: docs/reference/security.md")
	}
	if s.RoutingLost {
		out = append(out, "ROUTING LOST: there is no routing table and the move has not ended; clients wait: stowage routing init writes it again")
	}
	return append(out, s.routingTruth.alarms()...)
}

// said is what people ordered, one sentence each.
func (s moveStatus) said() []string {
	now := s.Steering
	if now == nil || s.State != string(store.Running) && s.State != interrupted {
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
	if s.LinksUnknown != "" {
		fmt.Fprintf(w, "whether these replicate is not known: %s\n", s.LinksUnknown)
	}
	if s.WritesUnknown != "" && s.LinksUnknown == "" {
		fmt.Fprintf(w, "whether these take writes is not known: %s\n", s.WritesUnknown)
	}
	if s.NotBegun != nil {
		if err := s.NotBegun.writeText(w); err != nil {
			return err
		}
	}
	if s.State == "none" {
		_, err := fmt.Fprintln(w, "no run has begun in this workspace")
		return err
	}
	done, _ := s.board.Counted(s.kind)
	fmt.Fprintf(w, "%s of plan %s: %s, %s done\n", s.Run, s.Plan, s.State, done)
	for _, r := range s.AlsoOpen {
		fmt.Fprintf(w, "  not ended either: %s of %s, %s: stowage status --run %s\n", r.Run, r.Plan, r.State, r.Run)
	}
	if s.Claim != nil && len(s.AlsoOpen) > 0 {
		fmt.Fprintf(w, "  no other run touches %s of it until it ends\n", s.Claim)
	}
	if s.WritePauses != nil {
		fmt.Fprintf(w, "  %s\n", s.WritePauses)
	}
	s.writeSteering(w)
	for _, r := range s.Sides {
		fmt.Fprintln(w, "  "+r.line)
	}
	return nil
}
