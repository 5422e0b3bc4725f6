package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// rollSection is what a report says of a roll, and a page beside its grid.
type rollSection struct {
	RollFacts
	Words, Planned string
	IsBad          bool
	Stands         []rollKey
	Racks          []rollRack
	Out            []rollOut
	Legs           []rollLeg
	Waits          []rollWait
	Stuck          []rollTrouble
	Pauses         []rollPause // the newest first
	PausesCut      int         // so many more there are
	PauseWords     string
	Lines          []rollLine
	Pairs          []rollPair
	PairWords      string
	FailedWords    []string
	Minutes        *firstMinutes
}

type rollKey struct {
	Class, Sign, Name, Words string
	Count                    int
}

// rollOut is a host that is out now.
type rollOut struct{ Host, State, Since, Sides string }

// rollLeg is a pair of which one side is out now.
type rollLeg struct{ Pair, Out, On, Since string }

type rollWait struct{ Host, Why, Since string }

// rollTrouble is a host that failed.
type rollTrouble struct{ Host, State, Step, Why, Command string }

type rollPause struct{ Pair, Who, Host, At, Millis string }

// rollLine is one host in the table.
type rollLine struct {
	Row, Host, Rack, State            string
	Planned, Left, Back, Took, Beside string
	Done                              []rollDone
	Pairs                             string
	IsBad                             bool
}

type rollDone struct {
	Text  string
	IsBad bool
}

// rollPair is how long a pair was served by one side.
type rollPair struct {
	Pair, Total, Longest string
	Times                int
	total                time.Duration
}

// mostPauses is how many pauses are listed.
const mostPauses = 40

func newRollSection(f RollFacts) *rollSection {
	s := &rollSection{RollFacts: f, Racks: f.racks(), Minutes: newFirstMinutes(f.Minutes)}
	s.Words = fmt.Sprintf("%d of %s done", f.count(RollDone), count(f.of(), "host"))
	if n := f.count(RollStuck); n > 0 {
		s.Words += fmt.Sprintf(", %d stuck", n)
		s.IsBad = true
	}
	if f.Takes > 0 {
		s.Planned = fmt.Sprintf("The plan thinks that one host is out for %s.", span(f.Takes))
	}
	for _, x := range rollStands {
		if n := f.count(x.Stand); n > 0 {
			s.Stands = append(s.Stands, rollKey{strings.Fields(string(x.Stand))[0], x.Sign, string(x.Stand), x.Words, n})
		}
	}
	for _, h := range f.Hosts {
		s.now(h)
		if h.isIn() {
			s.Lines = append(s.Lines, f.line(h))
		}
	}
	s.pauses()
	s.pairs()
	for _, x := range f.Failed {
		text := fmt.Sprintf("Failed queries in that time, by %s: %s.", x.By, whole(float64(x.Failed)))
		if x.Again != "" {
			text += " Asked again by: " + x.Again + "."
		}
		s.FailedWords = append(s.FailedWords, text)
		s.IsBad = s.IsBad || x.Failed > 0
	}
	return s
}

// now adds what is true of a host at this moment: that it is out, waits, or has failed.
func (s *rollSection) now(h RollHost) {
	state := string(h.Stand)
	if d := h.doing(); d != "" && h.Stand != RollLeaving {
		state += ": " + d
	}
	if h.IsOut() || h.Stand == RollLeaving {
		since := h.Out
		if since.IsZero() {
			since = h.Since
		}
		s.Out = append(s.Out, rollOut{string(h.Name), state, moment(since), h.sides()})
		for _, x := range h.Sides {
			on := string(x.Twin) + " serves all its clients"
			switch x.Role {
			case "single":
				on = "nobody: its clients wait"
			case "primary":
				on = "the replica on " + string(x.Twin) + " takes the writes"
			case "replica":
				on = "its primary on " + string(x.Twin) + ", as before"
			}
			s.Legs = append(s.Legs, rollLeg{string(x.Pair), string(x.Side), on, moment(since)})
		}
	}
	if h.Holds && h.Stand != RollStuck && h.Stand != RollDone {
		s.Waits = append(s.Waits, rollWait{string(h.Name), h.Text, moment(h.Since)})
	}
	switch h.Stand {
	case RollStuck:
		s.Stuck = append(s.Stuck, rollTrouble{string(h.Name), "stays out", h.Step, h.Text, s.program() + " roll in " + string(h.Name)})
	case RollUndone:
		s.Stuck = append(s.Stuck, rollTrouble{string(h.Name), "serves as before", h.Step, h.Text, s.program() + " roll " + s.Plan})
	}
}

func (s *rollSection) program() string {
	if s.Program == "" {
		return "stowage"
	}
	return s.Program
}

// line is one host: what was planned, and what has happened.
func (f RollFacts) line(h RollHost) rollLine {
	l := rollLine{Row: "host-" + string(h.Name), Host: string(h.Name), Rack: h.Rack, State: string(h.Stand), Pairs: h.sides(), IsBad: h.Stand == RollStuck}
	if f.Takes > 0 {
		l.Planned = span(f.Takes)
		if !h.Planned.IsZero() {
			l.Planned += " from " + moment(h.Planned)
		}
	}
	if !h.Out.IsZero() {
		l.Left, l.Took = moment(h.Out), span(h.out(f.Now))
		if h.Back.IsZero() {
			l.Took += ", still out"
		} else {
			l.Back = moment(h.Back)
		}
		if f.Takes > 0 {
			l.Beside = fmt.Sprintf("%.2f%s", h.out(f.Now).Seconds()/f.Takes.Seconds(), times)
		}
	}
	for _, d := range h.Did {
		l.Done = append(l.Done, d.line())
	}
	for _, x := range h.Fresh {
		l.Done = append(l.Done, rollDone{"tune finds, and did not before: " + x, true})
	}
	for _, x := range h.Gone {
		l.Done = append(l.Done, rollDone{"tune no longer finds: " + x, false})
	}
	if (h.Stand == RollStuck || h.Stand == RollUndone) && h.Text != "" {
		l.Done = append(l.Done, rollDone{h.Text, true})
	}
	return l
}

// line is one step of the work: what it was, and how it ended.
func (d RollDid) line() rollDone {
	text := clipText(d.What, 120)
	switch {
	case d.Failed != "" && d.Code != nil:
		text += fmt.Sprintf(" \u2192 exit code %d", *d.Code)
	case d.Failed != "":
		text += " \u2192 " + clipText(d.Failed, 200)
	case d.Code != nil:
		text += fmt.Sprintf(" \u2192 exit code %d", *d.Code)
	default:
		text += " \u2192 done"
	}
	if d.Runs > 1 {
		text += fmt.Sprintf(", begun %d times", d.Runs)
	}
	switch {
	case d.Noted:
		text += "; noted, the host has gone on"
	case d.Remedied:
		text += "; a person has seen to it"
	}
	return rollDone{text, d.Failed != "" && !d.Remedied}
}

// pauses are those of clients that were held back at a change.
func (s *rollSection) pauses() {
	role := map[string]string{}
	for _, h := range s.Hosts {
		for _, x := range h.Sides {
			role[string(x.Pair)+"/"+string(x.Side)] = x.Role
		}
	}
	var all []float64
	writes := 0
	for _, p := range slices.Backward(s.RollFacts.Pauses) {
		who := "clients of side " + string(p.Side)
		switch role[string(p.Pair)+"/"+string(p.Side)] {
		case "primary":
			who = "all writes"
			writes++
		case "single":
			who = "all clients"
		}
		all = append(all, p.Millis)
		if len(s.Pauses) < mostPauses {
			s.Pauses = append(s.Pauses, rollPause{string(p.Pair), who, fmt.Sprintf("%s, %s", p.Host, p.Step), moment(p.At), millis(p.Millis)})
		}
	}
	if s.PausesCut = len(all) - len(s.Pauses); len(all) == 0 {
		return
	}
	slices.Sort(all)
	s.PauseWords = fmt.Sprintf("Clients were held back %s: %s in the median, %s at most", timesOver(len(all)), millis(quantile(all, 0.5)), millis(all[len(all)-1]))
	if writes > 0 {
		s.PauseWords += fmt.Sprintf("; in %d of them all writes of a pair waited", writes)
	}
	s.PauseWords += "."
}

func timesOver(n int) string {
	if n == 1 {
		return "once"
	}
	return whole(float64(n)) + " times"
}

// pairs are how long each pair was served by one side.
func (s *rollSection) pairs() {
	at := map[farm.PairName]int{}
	longest := map[farm.PairName]time.Duration{}
	var order []farm.PairName
	for _, h := range s.Hosts {
		if h.Out.IsZero() {
			continue
		}
		for _, x := range h.Sides {
			n, known := at[x.Pair]
			if !known {
				n = len(s.Pairs)
				at[x.Pair], order = n, append(order, x.Pair)
				s.Pairs = append(s.Pairs, rollPair{Pair: string(x.Pair)})
			}
			s.Pairs[n].Times++
			s.Pairs[n].total += h.out(s.Now)
			longest[x.Pair] = max(longest[x.Pair], h.out(s.Now))
		}
	}
	var all []time.Duration
	for n, name := range order {
		s.Pairs[n].Total, s.Pairs[n].Longest = span(s.Pairs[n].total), span(longest[name])
		all = append(all, s.Pairs[n].total)
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	s.PairWords = fmt.Sprintf("%s had one side serving, for %s in the median, %s at most.", count(len(all), "pair"), span(all[len(all)/2]), span(all[len(all)-1]))
	slices.SortStableFunc(s.Pairs, func(a, b rollPair) int { return int(b.total - a.total) })
}

// Took is how long the roll has taken; "" while it has not ended: what grows would change a page every second.
func (s *rollSection) Took() string {
	if s.Ended.IsZero() {
		return ""
	}
	return span(s.Ended.Sub(s.Started))
}

// Began is when its first run began.
func (s *rollSection) Began() string { return moment(s.Started) }

// IsLarge: tables are folded.
func (s *rollSection) IsLarge() bool { return len(s.Lines) > 60 }

// RollBoard are the parts of a page about a roll that change while it runs.
type RollBoard struct {
	Plan  string // and when it began: another roll has other racks
	Head  template.HTML
	Racks []template.HTML // one each
	Now   template.HTML   // what is out, on one leg, waits, and was held back
}

// NewRollBoard draws them.
func NewRollBoard(f RollFacts) (RollBoard, error) {
	s := newRollSection(f)
	b := RollBoard{Plan: f.Plan + " " + f.Started.UTC().Format(time.RFC3339Nano)}
	draw := func(name string, of any) (template.HTML, error) {
		var p Piece
		err := p.fill(nil, nil, name, of)
		return p.Body, err
	}
	var err error
	if b.Head, err = draw("roll-head", s); err != nil {
		return b, err
	}
	for _, r := range s.Racks {
		html, err := draw("board-rack", r)
		if err != nil {
			return b, err
		}
		b.Racks = append(b.Racks, html)
	}
	b.Now, err = draw("roll-now", s)
	return b, err
}

// RollPiece is what the report says of a roll beside its grid: planned beside real, what was done, what failed.
func RollPiece(f RollFacts) (Piece, error) {
	p := Piece{Title: "Roll " + f.Plan}
	err := p.fill(nil, nil, "roll-hosts", newRollSection(f))
	return p, err
}
