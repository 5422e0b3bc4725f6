package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/move"
	"stowage/report"
	"stowage/route"
	"stowage/serve"
	"stowage/session"
	"stowage/store"
)

// move is what `stowage status` says, without asking anybody: where routing is not kept in the workspace, closed gates are not known.
func (s *shelf) move(context.Context) (serve.Move, error) { return s.moveOf("") }

// moveOf is move of one run; "" is the newest that has not ended, or the newest.
func (s *shelf) moveOf(run string) (serve.Move, error) {
	d, err := s.desk()
	if err != nil {
		return serve.Move{}, err
	}
	defer d.Close()
	t, unknown := s.routing(d)
	status, err := statusOf(d, t, run, func(run string) (*act.Board, error) { return s.boards.board(d.Store, run) })
	if err != nil {
		return serve.Move{}, err
	}
	if err := status.noTable(d, t, unknown); err != nil {
		return serve.Move{}, err
	}
	out := serve.Move{
		Run: status.Run, Plan: status.Plan, State: status.State, Started: status.Started, Ended: status.Ended, Done: status.SidesDone, Sides: len(status.Sides), Parts: status.parts(),
		Alarms: status.alarms(), Unknown: unknown, Said: status.said(), Command: s.line("status"), JSON: status,
	}
	for _, g := range status.Waiting {
		out.Waits = append(out.Waits, serve.Wait{Part: g.Part, Step: g.Step, Since: g.Since, Command: inWorkspace(s.ws.Dir, status.approval(g))})
	}
	if status.Steering != nil {
		for _, l := range status.Steering.Lost {
			if l.IsOpen() {
				out.Waits = append(out.Waits, serve.Wait{Part: l.Part, Step: "settle, because its way back is lost: " + l.Why, Since: l.Since,
					Command: inWorkspace(s.ws.Dir, status.ofRun("stowage approve --without-way-back --reason WHY --lane "+shellWord(l.Part)))})
			}
		}
	}
	for _, next := range status.NextSteps {
		out.Next = append(out.Next, inWorkspace(s.ws.Dir, next))
	}
	if status.WritePauses != nil {
		out.WritePauses = status.WritePauses.String()
	}
	if status.board == nil {
		return out, nil
	}
	out.Gates, out.LongestGate = len(status.board.Pauses), status.board.Quantile(1)
	for _, r := range status.board.Rows() {
		state, more := r.State(time.Now())
		out.Lanes = append(out.Lanes, serve.Lane{Name: r.Key.String(), Step: r.Step, Number: r.Number, Of: r.Of, State: state, Text: more, Since: r.Since, IsDone: r.IsDone()})
		if slices.Contains(fenced, r.Step) && !r.IsDone() && !r.Undone {
			out.Alarms = append(out.Alarms, fmt.Sprintf("FENCED: %s takes no writes (step %s); its twin serves all clients of the pair", r.Key, r.Step))
		}
	}
	if p, err := s.planHead(status.Plan); err == nil && status.Plan != "" {
		out.Sides = max(out.Sides, p.Moves) // those that have not begun have told nothing
	}
	return out, nil
}

// fenced are the steps of move.Replace in which the side is out of rotation from beginning to end. Within out and in it is for a part of the time.
var fenced = []string{"rewire", "catch-up", "check", "warm"}

// keptRouting is the routing table where the workspace has it; otherwise why not.
func keptRouting(d *session.Session) (t *route.Table, unknown string) {
	switch kind := d.Farm.Routing.Kind; kind {
	case "", farm.RoutingFile, farm.RoutingHAProxy: // the file says what HAProxy is to show
		t, err := route.ReadFile(d.Path("routing.json"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, "whether gates are closed: " + blame(err)
		}
		return t, ""
	default:
		return nil, fmt.Sprintf("whether gates are closed: routing is kept by %s, which is not asked from here; stowage status asks it", kind)
	}
}

// keptTable is what keptRouting has answered, and of which file.
type keptTable struct {
	mu      sync.Mutex
	stamp   string // empty: it is to be read again
	table   *route.Table
	unknown string
}

// settled is how old a file is that has not been written twice within one tick of the clock that its time of change is from.
const settled = time.Second

// routing is keptRouting, read again when the file or farm.yaml has changed: a table of thousands of pairs has megabytes. A file that was written a moment ago is
// always read again.
func (s *shelf) routing(d *session.Session) (*route.Table, string) {
	k := &s.routed
	k.mu.Lock()
	defer k.mu.Unlock()
	stamp := ""
	if info, err := os.Stat(d.Path("routing.json")); err == nil && time.Since(info.ModTime()) > settled {
		stamp = fmt.Sprintf("%p %d %d", d.Farm, info.Size(), info.ModTime().UnixNano())
	}
	if stamp == "" || stamp != k.stamp {
		k.table, k.unknown = keptRouting(d)
		k.stamp = stamp
	}
	return k.table, k.unknown
}

// watchedBoards are what the events of runs say, of which only new ones are read.
type watchedBoards struct {
	mu sync.Mutex
	of map[string]*watchedBoard
}

type watchedBoard struct {
	after int64
	board *act.Board
}

// watchedRuns is of how many runs boards are kept. A run whose board is dropped is read again from its first event.
const watchedRuns = 16

func (w *watchedBoards) board(from *store.Store, run string) (*act.Board, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.of[run]
	if b == nil {
		if b = (&watchedBoard{board: act.NewBoard()}); w.of == nil || len(w.of) >= watchedRuns {
			w.of = map[string]*watchedBoard{}
		}
		w.of[run] = b
	}
	events, after, err := from.Events(run, b.after)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		b.board.Apply(e)
	}
	b.after = after
	return b.board, nil
}

// history is what the report says of the newest run, whichever act it is of.
func (s *shelf) history() (report.Piece, error) {
	d, err := s.desk()
	if err != nil {
		return report.Piece{}, err
	}
	defer d.Close()
	facts := report.Facts{Farm: d.Farm.Name, Made: time.Now(), Now: d.Farm}
	run, err := act.Latest(d.Store)
	switch {
	case errors.Is(err, store.ErrNone):
		return report.Piece{}, nil
	case err != nil:
		return report.Piece{}, err
	case run.Kind == move.Name:
		if p, err := s.planHead(run.Subject); err == nil {
			facts.Moves = p.Moves
		}
		err = addMoveRun(d, run, &facts)
	default:
		facts.Acts = make([]report.Act, 1)
		facts.Acts[0], err = actOf(d, run)
	}
	if err != nil {
		return report.Piece{}, err
	}
	return report.ActPiece(facts)
}
