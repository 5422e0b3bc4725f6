package pack

import (
	"math/rand/v2"
	"slices"
	"testing"

	"stowage/internal/raced"
)

// randomProblem has every kind of rule, is tiny, and is often tight.
func randomProblem(r *rand.Rand) Problem {
	dims := 1 + r.IntN(3)
	vector := func(least, most int) []int64 {
		v := make([]int64, dims)
		for d := range v {
			v[d] = int64(least + r.IntN(most-least+1))
		}
		return v
	}
	some := func(one int) bool { return r.IntN(one) == 0 }
	var p Problem
	for range 1 + r.IntN(2) {
		t := Type{Capacity: vector(8, 14), Cost: int64(1 + r.IntN(9)), Watts: int64(r.IntN(5)), Limit: r.IntN(4) - 1}
		if some(3) {
			t.MaxItems = 1 + r.IntN(4)
		}
		p.Types = append(p.Types, t)
	}
	for range r.IntN(4) {
		b := Bin{Type: r.IntN(len(p.Types)), Labels: []int{r.IntN(2), r.IntN(3) - 1}, Held: some(4), Closed: some(8), Drained: some(8)}
		if some(4) {
			b.Used = vector(0, 6)
		}
		p.Bins = append(p.Bins, b)
	}
	n := 1 + r.IntN(6)
	for range n {
		it := Item{Demand: vector(0, 8)}
		if nb := len(p.Bins); nb > 0 {
			if some(2) {
				it.Home, it.MoveCost, it.Frozen = At(r.IntN(nb)), int64(r.IntN(50)), some(8)
			}
			if some(10) && !it.Frozen {
				it.Pin = At(r.IntN(nb))
			}
			if some(5) {
				it.NotBins = []int{r.IntN(nb)}
			}
		}
		if some(8) {
			it.NotTypes = []int{r.IntN(len(p.Types))}
		}
		p.Items = append(p.Items, it)
	}
	items := r.Perm(n)
	if n >= 2 && some(3) {
		g := Group{Items: slices.Clone(items[:2+r.IntN(n-1)]), Max: 1 + r.IntN(2), Domain: Each}
		if some(2) {
			g.Domain = Label(r.IntN(2))
		}
		p.Groups = append(p.Groups, g)
	}
	if n >= 3 && some(4) {
		p.Together = [][]int{{items[n-1], items[n-2]}}
	}
	orders := [][]Objective{nil, {Count, Moved}, {Cost}, {Watts, Cost}, {Moved, Count}, {Cost, Moved}, {Count, Cost}}
	p.Objectives = orders[r.IntN(len(orders))]
	return p
}

// brute tries every layout. It returns the best values in the order of the
// objectives, or nil when some item has no place in any of them.
func brute(p Problem) []int64 {
	bins := make([]Opened, 0, 8)
	for b, bin := range p.Bins {
		bins = append(bins, Opened{Type: bin.Type, Bin: At(b)})
	}
	for t, typ := range p.Types {
		limit := typ.Limit
		if limit < 0 || limit > len(p.Items) {
			limit = len(p.Items)
		}
		for range limit {
			bins = append(bins, Opened{Type: t})
		}
	}
	var best []int64
	where := make([]int, len(p.Items))
	var place func(i int)
	place = func(i int) {
		if i == len(p.Items) {
			if v := valueOf(p, bins, where); v != nil && (best == nil || slices.Compare(v, best) < 0) {
				best = v
			}
			return
		}
		for b := range bins {
			if b > 0 && bins[b].Bin == Nowhere && bins[b-1] == bins[b] && !slices.Contains(where[:i], b-1) {
				continue // bins without a name are opened in order
			}
			where[i] = b
			var in []int
			for j, at := range where[:i+1] {
				if at == b {
					in = append(in, j)
				}
			}
			if judgeBin(p, part(p, bins, where[:i+1]), b, in) != "" || judgeItem(p, part(p, bins, where[:i+1]), i) != "" {
				continue
			}
			place(i + 1)
		}
	}
	place(0)
	return best
}

// part is the solution in which only the first items have a place.
func part(p Problem, bins []Opened, where []int) Solution {
	s := Solution{Bins: slices.Clone(bins), Where: make([]int, len(p.Items))}
	for i := range s.Where {
		s.Where[i] = -1
		if i < len(where) {
			s.Where[i] = where[i]
		}
	}
	for b := range s.Bins {
		s.Bins[b].Used = slices.Contains(s.Where, b)
		if b < len(p.Bins) {
			s.Bins[b].Used = s.Bins[b].Used || p.Bins[b].Held || slices.ContainsFunc(p.Bins[b].Used, func(v int64) bool { return v > 0 })
			for _, it := range p.Items {
				s.Bins[b].Used = s.Bins[b].Used || it.Pin == At(b) || it.Frozen && it.Home == At(b)
			}
		}
	}
	return s
}

func valueOf(p Problem, bins []Opened, where []int) []int64 {
	s := part(p, bins, where)
	for _, o := range s.Bins {
		if o.Used {
			s.Count++
			s.Cost += p.Types[o.Type].Cost
			s.Watts += p.Types[o.Type].Watts
		}
	}
	for i, it := range p.Items {
		if it.Home != Nowhere && it.Home != At(where[i]) {
			s.Moved += it.MoveCost
			s.Moves++
		}
	}
	if judge(p, s) != "" {
		return nil
	}
	return values(p, s)
}

// values in the order of the objectives; count by default.
func values(p Problem, s Solution) []int64 {
	var v []int64
	for _, o := range p.Objectives {
		v = append(v, s.Value(o))
	}
	if v == nil {
		v = []int64{s.Count}
	}
	return v
}

func TestTinyAgainstBruteForce(t *testing.T) {
	if raced.On {
		t.Skip("a search takes twenty times as long with the race detector: the tests that are left race the same goroutines")
	}
	cases := 1000
	if testing.Short() {
		cases = 250
	}
	feasible, missed, poor := 0, 0, 0
	for seed := range uint64(cases) {
		p := randomProblem(rand.New(rand.NewPCG(seed, 7)))
		best := brute(p)
		s, err := Solve(p, Options{Seed: seed, Effort: 0.03})
		if err != nil {
			if best != nil && p.Check() == nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		if fault := judge(p, s); fault != "" {
			t.Fatalf("seed %d: %s\n%+v\n%+v", seed, fault, p, s)
		}
		if best == nil {
			continue
		}
		feasible++
		if len(s.Unplaced) > 0 || !slices.Equal(values(p, s), best) {
			t.Fatalf("seed %d: %v with %v unplaced, all layouts tried: %v\n%+v\n%+v", seed, values(p, s), s.Unplaced, best, p, s)
		}
		if first := append(p.Objectives, Count)[0]; first != Moved && s.Bound > s.Value(first) {
			t.Fatalf("seed %d: bound %d of %s above %d", seed, s.Bound, first, s.Value(first))
		}
		if alone := searchOnly(p, seed); len(alone.Unplaced) > 0 {
			missed++
		} else if !slices.Equal(values(p, alone), best) {
			poor++
		}
	}
	t.Logf("%d of %d solvable; search alone missed %d and was worse in %d", feasible, cases, missed, poor)
	if feasible < cases/2 || missed*100 > feasible || poor*50 > feasible {
		t.Errorf("%d of %d solvable; search alone missed %d and was worse in %d", feasible, cases, missed, poor)
	}
}

// searchOnly solves without the exact search of small problems.
func searchOnly(p Problem, seed uint64) Solution {
	s := &solver{model: newModel(&p), o: Options{Seed: seed, Effort: 0.02}, objectives: p.objectives(), searchOnly: true}
	s.run()
	return s.solution()
}
