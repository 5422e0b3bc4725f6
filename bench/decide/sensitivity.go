package decide

import (
	"cmp"
	"math"
	"slices"
)

// sensitivity is found by judging again with something changed.
func (t *table) sensitivity(order []int) Sensitivity {
	s := Sensitivity{Weights: t.flips(order), Prices: []Turn{}, Figures: []Turn{}}
	if len(order) < 2 {
		return s
	}
	for _, i := range order {
		for _, k := range t.keys(i) {
			turn, ok := t.turn(i, k, order[0])
			switch {
			case !ok:
			case k.What == "price":
				s.Prices = append(s.Prices, turn)
			default:
				s.Figures = append(s.Figures, turn)
			}
		}
	}
	near := func(a, b Turn) int { return cmp.Compare(a.distance(), b.distance()) }
	slices.SortStableFunc(s.Prices, near)
	slices.SortStableFunc(s.Figures, near)
	return s
}

// distance is how far a turn is from the figure as it is, as a logarithm. Those of unknown figures come first.
func (t Turn) distance() float64 {
	if t.Value == nil {
		return -1
	}
	return math.Abs(math.Log(t.At / *t.Value))
}

// knob is one weight.
type knob struct {
	name         string
	aspect, goal int // goal -1: of the whole aspect
}

// flips finds for every weight the nearest value, above and below it, at which somebody else is ahead.
func (t *table) flips(order []int) []Flip {
	out := []Flip{}
	if len(order) < 2 {
		return out
	}
	for i, a := range t.d.Aspects {
		knobs := []knob{{AspectTitle(a.Name), i, -1}}
		for k, g := range a.Goals {
			if a.weighing() > 1 { // of a single one any weight is the whole of its aspect
				knobs = append(knobs, knob{AspectTitle(a.Name) + ": " + g.Name(), i, k})
			}
		}
		for _, k := range knobs {
			now := t.d.weight(k)
			if now <= 0 {
				continue
			}
			for _, to := range []float64{0, now * 1e6} {
				if f, ok := t.flip(k, now, to, order[0]); ok {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

func (d Decision) weight(k knob) float64 {
	if k.goal < 0 {
		return d.Aspects[k.aspect].Weight
	}
	return d.Aspects[k.aspect].Goals[k.goal].Weight
}

// weighing is how many goals have a weight.
func (a Aspect) weighing() int {
	n := 0
	for _, g := range a.Goals {
		if g.Weight > 0 {
			n++
		}
	}
	return n
}

// withWeight is the decision with another weight.
func (d Decision) withWeight(k knob, w float64) Decision {
	d.Aspects = slices.Clone(d.Aspects)
	a := &d.Aspects[k.aspect]
	if k.goal < 0 {
		a.Weight = w
		return d
	}
	a.Goals = slices.Clone(a.Goals)
	a.Goals[k.goal].Weight = w
	return d
}

// flip looks for the weight between now and to at which first is no longer ahead. The lead over each other is a quotient of two straight lines in
// any one weight, so that it changes its sign once at most, and so does being ahead.
func (t *table) flip(k knob, now, to float64, first int) (Flip, bool) {
	// Weights take no part in what the cells are.
	ahead := func(w float64) int {
		next := *t
		next.d = t.d.withWeight(k, w)
		next.entries = entries(next.d.Aspects)
		if at := next.first(); at >= 0 {
			return at
		}
		return first // nothing counts any more
	}
	if ahead(to) == first {
		return Flip{}, false
	}
	near, far := now, to
	for range 80 {
		middle := (near + far) / 2
		if to > now {
			middle = math.Sqrt(near * far)
		}
		if ahead(middle) == first {
			near = middle
		} else {
			far = middle
		}
	}
	return Flip{Of: k.name, Weight: now, At: far, Winner: t.d.Candidates[ahead(far)].Name}, true
}

// first is who is ahead, -1 where nobody is left or nothing counts.
func (t *table) first() int {
	order := t.order()
	if len(order) == 0 || !t.weighs() {
		return -1
	}
	return order[0]
}

// keys are the given figures that a candidate's goals with a weight rest on, those that are unknown too, in the order of the goals.
func (t *table) keys(i int) []Key {
	var out []Key
	for k, e := range t.entries {
		if e.share == 0 {
			continue
		}
		v := t.cells[i][k].view
		for _, key := range append(slices.Clone(v.used), v.missing...) {
			if key.What != "capacity" && key.What != "usable" && !slices.Contains(out, key) {
				out = append(out, key)
			}
		}
	}
	return out
}

// reach is how far, as a factor, a figure is moved in search of a turn.
const reach = 1e6

// turn looks for the value of one figure at which somebody else is ahead: one that is better for whoever is not, one that is worse for who is. A
// candidate that a limit throws out on the way is no longer ahead either.
func (t *table) turn(i int, k Key, first int) (Turn, bool) {
	f := t.d.Candidates[i].Figures[k]
	from := f.Value
	if !f.Known() {
		if from = t.like(i, k); from == 0 {
			return Turn{}, false
		}
	}
	w := words[k.What]
	out := Turn{Candidate: t.d.Candidates[i].Name, Figure: k.String(), What: k.What, Step: k.Step, Unit: w.unit, Value: known(f.Value), Basis: f.Basis}
	if !f.Known() {
		out.Value = nil
	}
	ahead := func(v float64) int { return t.with(i, k, v).first() }
	near, far := from, from*reach // where nothing has changed yet, where it may have
	if w.more == (i == first) {
		far = from / reach
	}
	if !f.Known() {
		near = from * from / far // beyond the other end: known, and as bad or good as can be
		if ahead(near) < 0 || (ahead(near) == i) == (ahead(far) == i) {
			return Turn{}, false
		}
	} else if (ahead(far) == i) == (i == first) {
		return Turn{}, false
	}
	was := ahead(near) == i
	for range 60 {
		middle := math.Sqrt(near * far)
		if (ahead(middle) == i) == was {
			near = middle
		} else {
			far = middle
		}
	}
	out.At, out.Below = far, far < near
	out.Winner = out.Candidate
	if w := ahead(far); w >= 0 {
		out.Winner = t.d.Candidates[w].Name
	}
	out.Within = f.IsBounded() && f.Low < f.High && out.At >= f.Low && out.At <= f.High
	return out, true
}

// like is what others have of a figure that a candidate lacks: their geometric mean, as a place to begin. 0 where nobody has any.
func (t *table) like(i int, k Key) float64 {
	sum, n := 0.0, 0.0
	for j, c := range t.d.Candidates {
		if f := c.Figures[k]; j != i && f.Known() {
			sum, n = sum+math.Log(f.Value), n+1
		}
	}
	if n == 0 {
		return 0
	}
	return math.Exp(sum / n)
}
