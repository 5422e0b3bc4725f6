package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"stowage/act"
	"stowage/farm"
	"stowage/roll"
	"stowage/store"
)

// screen shows a run while it goes on, one line a part at work: on a terminal a
// block that is painted over, otherwise the same lines every two seconds.
// Failures and what was undone are printed at once.
type screen struct {
	mu    sync.Mutex
	out   io.Writer
	board *act.Board
	kind  act.Kind
	width int // 0: not a terminal
	rows  int // painted last time
	// printed is when lines were last written to something that is not a
	// terminal.
	printed time.Time
	stop    chan struct{}
	done    chan struct{}
}

func (a *app) newScreen(run store.Run) *screen {
	s := &screen{out: a.stderr, board: act.NewBoard(), kind: kindOf(run).Kind, stop: make(chan struct{}), done: make(chan struct{})}
	if f, ok := a.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) && !a.verbose {
		s.width, _, _ = term.GetSize(int(f.Fd()))
	}
	a.say("%s: one line for each %s; the farm goes on serving", run.ID, cmp.Or(s.kind.Part, "side"))
	go s.run()
	return s
}

// Add takes an event; it is a farm.Sink.
func (s *screen) Add(e farm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board.Apply(e)
	switch e.Kind {
	case farm.WayBackLost:
		s.aloud(string(e.Shard) + ": " + e.Text)
	case farm.Forged:
		s.aloud("SOMEBODY INTERFERES: " + e.Text + "\n  docs/reference/security.md: a host that an attacker controls")
		return
	}
	if e.Kind == farm.StepWaiting && e.Step == roll.StepWindow { // for hours, perhaps
		s.aloud(string(e.Host) + ": " + e.Text)
		return
	}
	if s.width == 0 {
		s.line(e)
	}
}

// aloud prints, whole, what a person has to read; the block goes on below.
func (s *screen) aloud(text string) {
	if s.rows > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.rows)
		s.rows = 0
	}
	fmt.Fprintln(s.out, text)
}

// line prints one event of those worth a line of their own.
func (s *screen) line(e farm.Event) {
	row := s.board.Sides[act.KeyOf(e)]
	text := row.Line(time.Now(), s.width/3)
	switch e.Kind {
	case farm.WayBackLost: // Add has
	case farm.StepFailed, farm.StepUndone:
		fmt.Fprintln(s.out, "  "+text)
	default:
		s.print()
	}
}

// print writes the block of lines, at most every two seconds.
func (s *screen) print() {
	if time.Since(s.printed) < 2*time.Second {
		return
	}
	s.printed = time.Now()
	for _, l := range s.lines() {
		fmt.Fprintln(s.out, l)
	}
}

func (s *screen) run() {
	defer close(s.done)
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			s.paint(true)
			return
		case <-tick.C:
			s.paint(false)
		}
	}
}

// paint draws the parts at work over the block drawn before.
func (s *screen) paint(last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.width == 0 {
		return
	}
	var b strings.Builder
	if s.rows > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.rows)
	}
	lines := s.lines()
	if last {
		lines = lines[:1]
	}
	for _, l := range lines {
		if len(l) >= s.width {
			l = l[:s.width-1]
		}
		b.WriteString("\x1b[2K" + l + "\n")
	}
	b.WriteString("\x1b[J")
	s.rows = len(lines)
	fmt.Fprint(s.out, b.String())
}

// lines are the headline and the parts at work.
func (s *screen) lines() []string {
	lines := []string{s.headline()}
	for _, r := range s.board.Rows() {
		if !r.IsDone() && len(lines) < 16 {
			lines = append(lines, "  "+r.Line(time.Now(), s.width/3))
		}
	}
	return lines
}

func (s *screen) headline() string {
	done, atWork := s.board.Counted(s.kind)
	took := time.Since(s.board.First).Round(time.Second)
	if s.board.First.IsZero() {
		took = 0
	}
	text := fmt.Sprintf("%s done, %d running, %v", done, atWork, took)
	if !s.kind.Ungated || len(s.board.Pauses) > 0 {
		text += "; longest gate " + farm.Millis(s.board.Quantile(1))
	}
	return text
}

// Close paints a last time.
func (s *screen) Close() {
	close(s.stop)
	<-s.done
}
