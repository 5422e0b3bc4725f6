package bound

import (
	"fmt"
	"math"
	"slices"
)

// Effort is how long to look for a better bound. It is counted in work, not in
// seconds, so that the same problem gives the same bound on every machine.
type Effort int

const (
	Quick  Effort = iota // milliseconds
	Normal               // a few seconds at most
	Deep                 // minutes
)

// work of each effort, in units of roughly a nanosecond.
var work = [...]int64{Quick: 30_000_000, Normal: 4_000_000_000, Deep: 150_000_000_000}

// Options steer Lower.
type Options struct {
	Effort Effort
	Upper  int64       // a packing of that value is known: a bound that reaches it is good enough; 0: none known
	Stop   func() bool // asked now and then; true ends the search early with the bound so far. May be nil
}

// Result is a bound and its proof.
type Result struct {
	Bound      int64 `json:"bound"`
	Infeasible bool  `json:"infeasible,omitempty"` // no packing exists; Bound means nothing
	// Settled: the configuration LP of the problem gives no better bound than
	// this. A better one may exist, but not by this method.
	Settled     bool        `json:"settled,omitempty"`
	Method      string      `json:"method"` // in words
	Volume      int64       `json:"volume"` // the bound by sums alone, for comparison
	Certificate Certificate `json:"certificate"`
}

// Lower is the best bound it can find for the objective: no packing of the
// problem has less. Errors wrap ErrInvalid, and nothing is claimed then.
func Lower(p Problem, o Objective, opt Options) (Result, error) {
	if err := p.Check(); err != nil {
		return Result{}, fmt.Errorf("bound %s: %w", o, err)
	}
	if o != Bins && o != Cost && o != Watts {
		return Result{}, fmt.Errorf("bound: %w", invalid("unknown objective %q", o))
	}
	opt.Effort = min(max(opt.Effort, Quick), Deep)
	w := &meter{limit: work[opt.Effort], stop: opt.Stop}
	r := lower(p, o, opt, w)
	if parts := p.domains(); !r.Infeasible && (opt.Upper == 0 || r.Bound < opt.Upper) && len(parts) > 0 {
		if d := sumOfDomains(parts, o, opt); d.Infeasible || d.Bound > r.Bound {
			d.Volume = r.Volume
			r = d
		}
	}
	r.Certificate.Objective = o
	r.Certificate.Bound, r.Certificate.Infeasible = r.Bound, r.Infeasible
	r.Method = r.Certificate.Claim
	return r, nil
}

func lower(p Problem, o Objective, opt Options, w *meter) Result {
	if len(p.Items) == 0 {
		return Result{Settled: true, Certificate: Certificate{Kind: "nothing", Claim: "nothing to place"}}
	}
	s := &search{p: p, m: newModel(p, o), opt: opt, work: w}
	s.consider(s.m.sums()...)
	r := Result{Volume: s.bound}
	if !s.done() {
		s.consider(s.m.copiesCut())
		s.consider(s.m.cliques(p)...)
		s.shapes()
	}
	if !s.done() {
		r.Settled = s.columns()
	}
	r.Bound, r.Infeasible = s.bound, s.infeasible
	r.Certificate = s.certificate()
	return r
}

// search collects cuts as long as they raise the bound.
type search struct {
	p    Problem
	m    *model
	opt  Options
	work *meter

	cuts       []Cut
	bound      int64
	infeasible bool
}

// mixBudget is how many nodes a mix of bins is worth; a node costs as many
// steps as there are pairs of types.
func (m *model) mixBudget() int { return max(500, 100_000/(1+len(m.price)*len(m.price)/25)) }

// maxTypes is the largest number of types of bins that columns are generated
// for: each has its own knapsack to solve in every round.
const maxTypes = 30

// consider adds cuts and raises the bound to what all of them give together.
func (s *search) consider(cuts ...Cut) {
	s.cuts = append(s.cuts, cuts...)
	b, feasible, _ := s.m.cheapest(s.cuts, s.m.mixBudget())
	s.bound = max(s.bound, b)
	s.infeasible = !feasible
}

func (s *search) done() bool {
	return s.infeasible || s.opt.Upper > 0 && s.bound >= s.opt.Upper
}

// sums are the cuts by volume, one for each dimension, and by number of items.
func (m *model) sums() []Cut {
	var cuts []Cut
	for k := range m.dims {
		cut := Cut{Kind: Sum, Factors: make([]int64, m.dims)}
		cut.Factors[k] = 1
		for _, room := range m.room {
			cut.Most = append(cut.Most, room[k])
		}
		cuts = append(cuts, cut)
	}
	return cuts
}

// copiesCut is the cut of the one item whose copies need most bins.
func (m *model) copiesCut() Cut {
	best, most := 0, 0.0
	for i := range m.n {
		largest := int32(1)
		for t := range m.limit {
			largest = max(largest, m.limit[t][i])
		}
		if v := float64(m.count[i]) / float64(largest); v > most {
			best, most = i, v
		}
	}
	cut := Cut{Kind: Copies, Items: []int{best}}
	for t := range m.limit {
		cut.Most = append(cut.Most, int64(m.limit[t][best]))
	}
	return cut
}

// shapes considers dual feasible functions: with all kinds of bins alike only
// the best one counts; else all may count together.
func (s *search) shapes() {
	parameters := 200
	if s.opt.Effort == Quick {
		parameters = 40
	}
	parameters = max(10, min(parameters, 20_000_000/s.m.n/20))
	cuts := s.m.shapes(s.m.directions(), parameters)
	slices.SortStableFunc(cuts, func(a, b Cut) int {
		x, y := s.m.strength(a), s.m.strength(b)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		default:
			return 0
		}
	})
	s.consider(cuts[:min(len(cuts), 8)]...)
}

// strength is the bound a cut gives alone, in fractions.
func (m *model) strength(cut Cut) float64 {
	c := m.cover(cut)
	x := mix{m: m, covers: []cover{c}}
	for t := range m.price {
		x.order = append(x.order, t)
	}
	return x.relaxed(0, []float64{c.need})
}

// columns runs column generation from the best dual of the cuts so far.
func (s *search) columns() bool {
	// With many items in a bin sums are nearly exact, and contents too many.
	if s.m.n > maxItems || len(s.m.price) > maxTypes || s.opt.Effort < Deep && s.m.copies > 25*max(1, s.binsLeast()) {
		return false
	}
	cg := newColgen(s.m, s.work)
	_, _, factors := s.m.cheapest(s.cuts, 1)
	cg.start(s.cuts, factors)
	cg.target = s.opt.Upper
	settled := cg.climb()
	if cg.best.weights != nil {
		s.consider(cg.cut())
	}
	return settled
}

// binsLeast is a number of bins that no packing goes below.
func (s *search) binsLeast() int64 {
	most := 0.0
	for _, cut := range s.cuts {
		largest := int64(1)
		for _, w := range cut.Most {
			largest = max(largest, w)
		}
		most = math.Max(most, s.m.cover(cut).need/float64(largest))
	}
	return int64(math.Ceil(most))
}

// certificate keeps the cuts that matter.
func (s *search) certificate() Certificate {
	c := Certificate{Bound: s.bound, Infeasible: s.infeasible}
	c.Cuts = s.support()
	_, _, c.Blend = s.m.cheapest(c.Cuts, 1)
	for k, f := range c.Blend {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			c.Blend[k] = 0
		}
	}
	switch len(c.Cuts) {
	case 0:
		c.Kind, c.Claim = "nothing", "bins cost nothing"
	case 1:
		c.Kind = string(c.Cuts[0].Kind)
		c.Claim = s.words(c.Cuts[0])
		c.Blend = nil
	default:
		c.Kind, c.Claim = "mix", fmt.Sprintf("the cheapest mix of bins that satisfies %d sums at once", len(c.Cuts))
		for _, cut := range c.Cuts {
			c.Claim += "; " + s.words(cut)
		}
	}
	if c.Infeasible {
		c.Claim = "no packing exists: " + c.Claim
	}
	return c
}

// support drops cuts, the latest first, without which the bound is the same;
// but a single early cut that gives it alone is preferred to all.
func (s *search) support() []Cut {
	same := func(cuts []Cut) bool {
		b, feasible, _ := s.m.cheapest(cuts, s.m.mixBudget())
		return feasible != s.infeasible && (s.infeasible || b >= s.bound)
	}
	if same(nil) {
		return nil
	}
	for j := range s.cuts {
		if same(s.cuts[j : j+1]) {
			return s.cuts[j : j+1]
		}
	}
	kept := slices.Clone(s.cuts)
	for j := len(kept) - 1; j >= 0; j-- {
		if fewer := slices.Delete(slices.Clone(kept), j, j+1); same(fewer) {
			kept = fewer
		}
	}
	return kept
}

// words says what a cut claims.
func (s *search) words(c Cut) string {
	switch c.Kind {
	case Sum:
		if k := slices.Index(c.Factors, 1); k == s.m.dims-1 {
			return "number of items against max_items"
		} else {
			return fmt.Sprintf("volume of dimension %d", k)
		}
	case Shape:
		return fmt.Sprintf("dual feasible function %s %d of sizes %v", c.Function, c.Parameter, c.Factors)
	case Clique:
		return fmt.Sprintf("%d items, no two of them fit together", len(c.Items))
	case Copies:
		return fmt.Sprintf("copies of item %d", c.Items[0])
	default:
		return fmt.Sprintf("dual of the configuration LP: no content of a bin weighs more than %v", c.Most)
	}
}
