package report

import (
	"fmt"
	"strings"
	"time"

	"stowage/placement"
)

// longSpan is a time in seconds for people: 40 s, 2 h 5 min, 4.5 days. It is
// an estimate, so tenths of seconds mean nothing.
func longSpan(s float64) string {
	switch {
	case s >= 3*86400:
		return fmt.Sprintf("%.1f days", s/86400)
	case s < 60:
		return fmt.Sprintf("%.0f s", s)
	}
	text := span(time.Duration(s * float64(time.Second)))
	text, _ = strings.CutSuffix(text, " 0 s")
	text, _ = strings.CutSuffix(text, " 0 min")
	return text
}

// mostWaves is how many waves the table lists.
const mostWaves = 150

// waveSpan is one wave of the plan.
type waveSpan struct {
	number, stage, moves int
	bytes                int64
	begin, end           float64 // seconds from the first move
	names                []string
}

func waves(p placement.Plan) []waveSpan {
	var out []waveSpan
	for _, m := range p.Moves {
		if len(out) == 0 || out[len(out)-1].number != m.Wave {
			out = append(out, waveSpan{number: m.Wave, stage: m.Stage, begin: m.Begin})
		}
		w := &out[len(out)-1]
		w.moves++
		w.bytes += m.Bytes
		w.begin, w.end = min(w.begin, m.Begin), max(w.end, m.Begin+m.Seconds)
		w.names = append(w.names, fmt.Sprintf("%s \u2192 %s", m.Name, m.Target))
	}
	return out
}

func (c *census) movesSection() planSection {
	p := c.plan
	s := planSection{ID: "moves", Name: "Moves"}
	if len(p.Moves) == 0 {
		s.Text = []string{"Nothing has to move."}
		return s
	}
	all := waves(p)
	text := fmt.Sprintf("%s in %s, %s to copy, about %s at the goals\u2019 rates", count(len(p.Moves), "move"), count(len(all), "wave"), size(p.Bytes()), longSpan(p.MoveSeconds))
	if stages := p.Moves[len(p.Moves)-1].Stage; stages > 1 {
		text += fmt.Sprintf(", in %d stages, each once the one before has left its room", stages)
	}
	s.Text = append(s.Text, text+fmt.Sprintf(". No order of these moves is faster than %s.", longSpan(p.MoveBound)))
	s.Text = append(s.Text, "Waves are an order, not barriers: a pair begins when there is room for it, and never has both sides on the way.")
	s.Chart = c.movesChart()
	s.Tables = append(s.Tables, c.waveTable(all))
	if len(all) > mostWaves {
		s.Notes = append(s.Notes, fmt.Sprintf("%s more waves: the plan file has them all.", whole(float64(len(all)-mostWaves))))
	}
	if len(p.Critical) > 0 {
		s.Tables = append(s.Tables, criticalTable(p))
	}
	return s
}

func (c *census) waveTable(all []waveSpan) planTable {
	t := planTable{Caption: "Waves: " + whole(float64(len(all))), Head: columns("#wave", "#stage", "#moves", "#to copy", "#begins after", "#over after", "what goes where"), Folded: len(all) > 12}
	for i, w := range all {
		if i == mostWaves {
			break
		}
		t.Rows = append(t.Rows, cells(whole(float64(w.number)), whole(float64(w.stage)), whole(float64(w.moves)), size(w.bytes), longSpan(w.begin), longSpan(w.end), listOf(w.names, 16)))
	}
	return t
}

// mostCritical is how many moves of the critical path are listed.
const mostCritical = 30

func criticalTable(p placement.Plan) planTable {
	t := planTable{
		Caption: fmt.Sprintf("Critical path: the %s that make it take so long", count(len(p.Critical), "move")),
		Head:    columns("move", "#begins after", "#takes", "waits for"), Folded: len(p.Critical) > 12,
	}
	for i, m := range p.Critical {
		if i == mostCritical {
			t.Caption += fmt.Sprintf("; the first %d", mostCritical)
			break
		}
		why := m.Why
		if why == "" {
			why = "nothing"
		}
		t.Rows = append(t.Rows, cells(m.What, longSpan(m.Begin), longSpan(m.Seconds), why))
	}
	return t
}
