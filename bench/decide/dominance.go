package decide

import "math"

// dominance finds who is at least as good as another in every goal, and better in one. It is asked of all candidates, those that are out too, and
// of all goals, those without a weight too; where a figure is unknown nobody can say.
func (t *table) dominance() []Dominance {
	var out []Dominance
	for a := range t.cells {
		for b := range t.cells {
			if a == b {
				continue
			}
			if d, ok := t.dominates(a, b); ok {
				out = append(out, d)
			}
		}
	}
	return out
}

func (t *table) dominates(a, b int) (Dominance, bool) {
	d := Dominance{Better: t.d.Candidates[a].Name, Worse: t.d.Candidates[b].Name, Surely: true}
	better := 0
	for k, e := range t.entries {
		x, y := t.cells[a][k], t.cells[b][k]
		switch {
		case math.IsNaN(x.value) || math.IsNaN(y.value):
			return d, false
		case x.value == y.value:
			d.Equal++
			d.Surely = d.Surely && x.low == x.high && y.low == y.high
			continue
		case e.raw(x.value) < e.raw(y.value):
			return d, false
		}
		better++
		bad, fine := x.low, y.high
		if !e.kind.More {
			bad, fine = x.high, y.low
		}
		d.Surely = d.Surely && !math.IsNaN(bad) && !math.IsNaN(fine) && e.raw(bad) >= e.raw(fine)
	}
	return d, better > 0
}
