package report

import (
	"fmt"

	"stowage/farm"
)

// tile is one figure of the strip.
type tile struct {
	Name, Link    string
	Before, After string // Before may be empty
	Note          string
	IsBad         bool
}

// IsLong reports whether the figure needs smaller type to fit.
func (t tile) IsLong() bool { return len(t.Before)+len(t.After) > 13 }

// title is the whole report in one line.
func title(f Facts) string {
	if f.Plan == nil && f.Road == nil {
		return "Farm " + f.Farm
	}
	before, after := f.hosts()
	if f.Plan == nil {
		return fmt.Sprintf("%s became %d", count(before, "host"), after)
	}
	verb := "would become"
	switch lanes := readLanes(f.Events); {
	case len(lanes) > 0 && allDone(lanes) && len(lanes) >= len(f.Plan.Moves):
		verb = "became"
	case len(lanes) > 0:
		verb = "are becoming"
	}
	return fmt.Sprintf("%s %s %d", count(before, "host"), verb, after)
}

func allDone(lanes []*lane) bool {
	for _, l := range lanes {
		if !l.isDone() {
			return false
		}
	}
	return true
}

// tiles are the strip, in two rows of five when all is known: what became of
// the farm, and what its clients noticed.
func tiles(f Facts, t *timeline, p *pauses, tr *traffic) []tile {
	var out []tile
	if f.Plan != nil {
		out = append(out, planTiles(f)...)
	}
	if t != nil {
		note := fmt.Sprintf("%d of %s moved", t.Done, count(t.Sides, "side"))
		name := "the move took"
		if t.Done < t.Sides {
			name = "the move so far"
		}
		if f.Road != nil {
			took := 0.0
			for _, l := range f.Road.Legs {
				took += l.Seconds
			}
			out = append(out, tile{Name: "the moves took", Link: "#road", After: span(seconds(took)), Note: count(len(f.Road.Legs), "move"), IsBad: t.Done < t.Sides})
		} else {
			out = append(out, tile{Name: name, Link: "#move", After: t.Took, Note: note, IsBad: t.Done < t.Sides})
		}
	}
	switch {
	case f.Proof != nil:
		out = append(out, proofTiles(f.Proof)...)
	case f.Ledger != nil:
		out = append(out, ledgerTiles(f.Ledger)...)
	}
	if pause, ok := longestPause(f, p); ok {
		out = append(out, pause)
	}
	if tr != nil {
		out = append(out, tile{Name: "queries", Link: "#traffic", After: tr.Verdict, Note: tr.Common + " at p95", IsBad: tr.Verdict == "slower"})
	}
	if f.Plan == nil && f.Proof == nil && t == nil && tr == nil && f.Findings != nil {
		out = append(out, tile{Name: "findings", Link: "#findings", After: whole(float64(len(f.Findings))), IsBad: farm.Blocks(f.Findings)})
	}
	return out
}

func planTiles(f Facts) []tile {
	p, first := f.Plan, f.before()
	before, after := f.hosts()
	shards := 0
	for _, pair := range p.Basis.Pairs {
		shards += len(pair.Shards)
	}
	out := []tile{
		{Name: "hosts", Link: "#packing", Before: whole(float64(before)), After: whole(float64(after)), Note: fewer(float64(before), float64(after), "fewer", "more")},
		{Name: "instances", Link: "#packing", After: whole(float64(len(p.Assignments))), Note: count(shards, "logical shard") + ", " + count(len(p.Basis.Pairs), "pair")},
	}
	if first.WattsBefore > 0 {
		out = append(out, tile{Name: "power", Link: "#plan", Before: whole(first.WattsBefore), After: whole(p.Watts) + " W", Note: fewer(first.WattsBefore, p.Watts, "less", "more")})
	}
	if first.CostBefore > 0 {
		out = append(out, tile{Name: "price of the hosts", Link: "#plan", Before: whole(first.CostBefore), After: whole(p.Cost), Note: "farm.yaml\u2019s currency, " + fewer(first.CostBefore, p.Cost, "less", "more")})
	}
	return out
}

func proofTiles(p *Proof) []tile {
	of := "of " + whole(float64(p.Acknowledged)) + " acknowledged"
	return []tile{
		{Name: "writes lost", Link: "#proof", After: whole(float64(p.Lost)), Note: of, IsBad: p.Lost > 0},
		{Name: "writes doubled", Link: "#proof", After: whole(float64(p.Duplicated)), Note: of, IsBad: p.Duplicated > 0},
		{Name: "queries failed", Link: "#proof", After: whole(float64(p.FailedQueries)), Note: "at any client", IsBad: p.FailedQueries > 0},
	}
}

func ledgerTiles(l *farm.Ledger) []tile {
	of := "of " + whole(float64(l.Acknowledged)) + " acknowledged"
	out := []tile{
		{Name: "writes lost", Link: "#ledger", After: whole(float64(l.Lost)), Note: of, IsBad: l.Lost > 0},
		{Name: "writes doubled", Link: "#ledger", After: whole(float64(l.Duplicated)), Note: of, IsBad: l.Duplicated > 0},
	}
	if l.Failed != nil {
		out = append(out, tile{Name: "queries failed", Link: "#ledger", After: whole(float64(*l.Failed)), Note: "at any client", IsBad: *l.Failed > 0})
	}
	return out
}

func longestPause(f Facts, p *pauses) (tile, bool) {
	t := tile{Name: "longest pause", Link: "#pauses"}
	switch {
	case f.Proof != nil:
		t.After, t.Note = millis(f.Proof.MaxPauseMillis), "for one query; p99 "+millis(f.Proof.PauseP99)
	case p != nil:
		t.After, t.Note = p.Groups[0].Max, "a gate was closed; p99 "+p.Groups[0].P99
	default:
		return t, false
	}
	return t, true
}

// gap is a section that could not be written.
type gap struct{ What, How string }

func gaps(f Facts) []gap {
	var out []gap
	add := func(missing bool, what, how string) {
		if missing {
			out = append(out, gap{what, how})
		}
	}
	add(f.Plan == nil, "the plan and the packing", "stowage plan")
	add(f.Plan != nil && f.Now == nil, "how full the old hosts were", "stowage inventory accept, which writes what shards need to farm.yaml")
	add(len(f.Events) == 0, "the move", "stowage move PLAN")
	add(f.Compare == nil, "the traffic before and after", "stowage digest compare BEFORE AFTER")
	add(f.Proof == nil && f.Ledger == nil, "the proof of a ledger", "stowage demo, whose clients keep one; figures of your own: report.yaml")
	add(f.Findings == nil, "findings", "stowage inventory")
	return out
}
