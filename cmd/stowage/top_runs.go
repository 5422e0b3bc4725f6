package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/session"
	"stowage/store"
)

// topRun is a run that has not ended, in a list of them.
type topRun struct {
	Run     string   `json:"run"`
	Plan    string   `json:"plan"`
	State   string   `json:"state"`
	Parts   int      `json:"parts,omitempty"` // 0: not known
	Done    int      `json:"parts_done"`
	Waiting int      `json:"waiting"`          // approvals that it waits for
	Orders  []string `json:"orders,omitempty"` // paused, throttled, ending
	Chosen  bool     `json:"chosen"`           // its parts are shown, and keys act on it

	status moveStatus
}

// openRuns are the runs that have not ended, the newest first; none where there is no other than that of the view, which is chosen.
func (s *shelf) openRuns(d *session.Session, v topView) (out []topRun, err error) {
	open, err := act.Open(d.Store)
	if err != nil || !slices.ContainsFunc(open, func(r store.Run) bool { return r.ID != v.Status.Run }) {
		return nil, err
	}
	for _, run := range open {
		is, parts := v.Status, v.Parts
		if run.ID != is.Run {
			if is, err = statusOf(d, nil, run.ID, func(run string) (*act.Board, error) { return s.boards.board(d.Store, run) }); err != nil {
				return nil, err
			}
			if parts, err = partsOf(d, is); err != nil {
				return nil, err
			}
		}
		out = append(out, topRun{Run: run.ID, Plan: run.Subject, State: is.State, Parts: parts, Done: is.SidesDone, Waiting: len(is.Waiting), Orders: is.said(), Chosen: run.ID == v.Status.Run, status: is})
	}
	return out, nil
}

// neighbour is the run so many places further down the list than the chosen one; the list is a ring.
func (v topView) neighbour(by int) string {
	n := len(v.Open)
	if n == 0 {
		return v.Status.Run
	}
	at := slices.IndexFunc(v.Open, func(r topRun) bool { return r.Chosen })
	return v.Open[((at+by)%n+n)%n].Run
}

// openLines are the runs, one a line, with a bar and what people have to know of each.
func (v topView) openLines(now time.Time) []string {
	var b strings.Builder
	t := table.New(table.Narrow(&b, v.width), "  RUN\tSTATE\tPROGRESS").Cut("PROGRESS").Names("RUN")
	for _, r := range v.Open {
		mark := " "
		if r.Chosen {
			mark = ">"
		}
		text := fmt.Sprintf("%s, %v", r.status.progress(r.Parts), r.status.took(now))
		if r.Parts > 0 {
			text = bar(r.Done, r.Parts) + " " + text
		}
		if r.Waiting > 0 {
			text += "; WAITS FOR " + strings.ToUpper(farm.Counted(r.Waiting, "approval"))
		}
		for _, order := range r.Orders {
			text += "; " + order
		}
		t.Cells(mark+" "+r.Run, r.State, text)
	}
	_ = t.Flush() // a builder takes everything
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// bar is how much of it is done.
func bar(done, of int) string {
	const width = 12
	full := min(width, max(done, 0)*width/of)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

// progress is how many of so many parts are done and running; parts 0: of how many is not known.
func (s moveStatus) progress(parts int) string {
	done, running := s.board.Counted(s.kind)
	if parts > 0 {
		done = fmt.Sprintf("%d of %s", s.SidesDone, farm.Counted(parts, s.board.Part(s.kind)))
	}
	return fmt.Sprintf("%s done, %d running", done, running)
}

// took is how long the run has taken.
func (s moveStatus) took(now time.Time) time.Duration {
	if !s.Ended.IsZero() {
		now = s.Ended
	}
	return now.Sub(s.Started).Round(time.Second)
}
