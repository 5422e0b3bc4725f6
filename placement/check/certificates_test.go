package check_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"stowage/placement/bound"
	"stowage/placement/bound/verify"
)

// packed is a packing problem small enough to know all there is to know of it:
// what fits into a bin of each type, and what the best packing costs.
type packed struct {
	bound.Problem
	contents [][][]int // by type: copies of each item
}

// newPacked lists every content of every type of bin.
func newPacked(p bound.Problem) *packed {
	out := &packed{Problem: p}
	for _, b := range p.Bins {
		var all [][]int
		content := make([]int, len(p.Items))
		var fill func(i, n int)
		fill = func(i, n int) {
			if i == len(p.Items) {
				all = append(all, slices.Clone(content))
				return
			}
			for k := 0; k <= p.Items[i].Count; k++ {
				if p.Items[i].PerBin > 0 && k > p.Items[i].PerBin || b.MaxItems > 0 && n+k > b.MaxItems {
					break
				}
				content[i] = k
				if !fits(p, b, content[:i+1]) {
					break
				}
				fill(i+1, n+k)
			}
			content[i] = 0
		}
		fill(0, 0)
		out.contents = append(out.contents, all)
	}
	return out
}

func fits(p bound.Problem, b bound.Bin, content []int) bool {
	for d, room := range b.Room {
		sum := int64(0)
		for i, n := range content {
			sum += int64(n) * p.Items[i].Needs[d]
		}
		if sum > room {
			return false
		}
	}
	return true
}

// optimum is the least of an objective; ok is false where nothing packs it.
func (p *packed) optimum(o bound.Objective) (best int64, ok bool) {
	left := make([]int, len(p.Items))
	for i, it := range p.Items {
		left[i] = it.Count
	}
	used := make([]int, len(p.Bins))
	seen := map[string]int64{}
	var pack func(cost int64)
	pack = func(cost int64) {
		if ok && cost >= best {
			return
		}
		first := slices.IndexFunc(left, func(n int) bool { return n > 0 })
		if first < 0 {
			best, ok = cost, true
			return
		}
		key, _ := json.Marshal([][]int{left, used})
		if before, known := seen[string(key)]; known && before <= cost {
			return
		}
		seen[string(key)] = cost
		for t, b := range p.Bins {
			if b.Available > 0 && used[t] == b.Available {
				continue
			}
			price := map[bound.Objective]int64{bound.Bins: 1, bound.Cost: b.Cost, bound.Watts: b.Watts}[o]
			for _, c := range p.contents[t] {
				if c[first] == 0 || more(c, left) {
					continue
				}
				for i, n := range c {
					left[i] -= n
				}
				used[t]++
				pack(cost + price)
				used[t]--
				for i, n := range c {
					left[i] += n
				}
			}
		}
	}
	pack(0)
	return best, ok
}

func more(content, left []int) bool {
	for i, n := range content {
		if n > left[i] {
			return true
		}
	}
	return false
}

// isFalse says whether some content weighs more than a cut claims. Shapes are
// not looked at: their weights are a matter of theory.
func (p *packed) isFalse(c bound.Cut) bool {
	if len(c.Most) != len(p.Bins) {
		return true
	}
	for t := range p.Bins {
		for _, content := range p.contents[t] {
			sum := int64(0)
			for i, n := range content {
				sum += int64(n) * p.weight(c, i)
			}
			if sum > c.Most[t] {
				return true
			}
		}
	}
	return false
}

func (p *packed) weight(c bound.Cut, i int) int64 {
	switch c.Kind {
	case bound.Sum:
		if len(c.Factors) != len(p.Bins[0].Room)+1 {
			return 1 << 40
		}
		w := c.Factors[len(c.Factors)-1]
		for d, need := range p.Items[i].Needs {
			w += c.Factors[d] * need
		}
		return w
	case bound.Content:
		if len(c.Weights) != len(p.Items) {
			return 1 << 40
		}
		return c.Weights[i]
	case bound.Clique, bound.Copies:
		if slices.Contains(c.Items, i) {
			return 1
		}
	}
	return 0
}

func anyProblem(r *rand.Rand) bound.Problem {
	var p bound.Problem
	dims := 1 + r.IntN(3)
	for range 1 + r.IntN(2) {
		b := bound.Bin{MaxItems: []int{0, 0, 3}[r.IntN(3)], Cost: int64(1 + r.IntN(9)), Watts: int64(1 + r.IntN(9)), Available: []int{0, 0, 6}[r.IntN(3)]}
		for range dims {
			b.Room = append(b.Room, int64(20+r.IntN(12)))
		}
		p.Bins = append(p.Bins, b)
	}
	for range 2 + r.IntN(4) {
		it := bound.Item{Count: 1 + r.IntN(3)}
		if it.Count == 2 && r.IntN(2) == 0 {
			it.PerBin = 1
		}
		for range dims {
			it.Needs = append(it.Needs, int64(r.IntN(20)))
		}
		p.Items = append(p.Items, it)
	}
	return p
}

// twins is Etsy's problem of 2016 with whole instances: two kinds, of which
// sums say that 28 hosts are enough.
func twins() bound.Problem {
	return bound.Problem{
		Items: []bound.Item{{Needs: []int64{1540, 1335}, Count: 6}, {Needs: []int64{770, 615}, Count: 6}},
		Bins:  []bound.Bin{{Room: []int64{6528, 4300}, MaxItems: 6, Cost: 5, Watts: 7}},
	}
}

// spoilings change a certificate. Hints may be anything.
var spoilings = map[string]func(r *rand.Rand, c *bound.Certificate) bool{
	"the bound is raised": func(r *rand.Rand, c *bound.Certificate) bool { c.Bound += int64(1 + r.IntN(3)); return true },
	"it says that nothing packs": func(_ *rand.Rand, c *bound.Certificate) bool {
		if c.Infeasible {
			return false
		}
		c.Infeasible = true
		return true
	},
	"a weight is inflated": func(r *rand.Rand, c *bound.Certificate) bool {
		w := cutOf(r, c).Weights
		if len(w) == 0 {
			return false
		}
		w[r.IntN(len(w))] += 1 + r.Int64N(3+w[0])
		c.Bound += int64(r.IntN(2))
		return true
	},
	"a factor is inflated": func(r *rand.Rand, c *bound.Certificate) bool {
		f := cutOf(r, c).Factors
		if len(f) == 0 {
			return false
		}
		f[r.IntN(len(f))] += 1 + r.Int64N(3)
		return true
	},
	"a factor is negative": func(r *rand.Rand, c *bound.Certificate) bool {
		f := cutOf(r, c).Factors
		if len(f) == 0 {
			return false
		}
		f[r.IntN(len(f))] = -1
		return true
	},
	"a limit is lowered": func(r *rand.Rand, c *bound.Certificate) bool {
		m := cutOf(r, c).Most
		if len(m) == 0 {
			return false
		}
		m[r.IntN(len(m))] -= 1 + r.Int64N(5)
		return true
	},
	"a limit is left out": func(r *rand.Rand, c *bound.Certificate) bool {
		cut := cutOf(r, c)
		if len(cut.Most) == 0 {
			return false
		}
		cut.Most = cut.Most[1:]
		return true
	},
	"a cut is left out": func(r *rand.Rand, c *bound.Certificate) bool {
		if len(c.Cuts) == 0 {
			return false
		}
		c.Cuts = c.Cuts[1:]
		return true
	},
	"an item is added": func(r *rand.Rand, c *bound.Certificate) bool {
		cut := cutOf(r, c)
		if len(cut.Items) == 0 {
			return false
		}
		cut.Items = append(cut.Items, r.IntN(6))
		return true
	},
	"the cut is of another kind": func(r *rand.Rand, c *bound.Certificate) bool {
		cut := cutOf(r, c)
		cut.Kind = []bound.CutKind{bound.Sum, bound.Clique, bound.Copies, bound.Content, bound.Shape, "guess"}[r.IntN(6)]
		return true
	},
	"the parameter of a shape": func(r *rand.Rand, c *bound.Certificate) bool {
		cut := cutOf(r, c)
		if cut.Kind != bound.Shape {
			return false
		}
		cut.Parameter = r.Int64N(40)
		cut.Most[0] -= r.Int64N(3)
		return true
	},
	"the objective is another": func(_ *rand.Rand, c *bound.Certificate) bool {
		if c.Objective == bound.Cost {
			c.Objective = bound.Watts
		} else {
			c.Objective = bound.Cost
		}
		return true
	},
	"the hints are wrong": func(r *rand.Rand, c *bound.Certificate) bool {
		cut := cutOf(r, c)
		for i := range cut.Hints {
			for k := range cut.Hints[i] {
				cut.Hints[i][k] = r.Int64N(100) - 10
			}
		}
		for i := range c.Blend {
			c.Blend[i] = r.Float64()*10 - 5
		}
		return len(cut.Hints)+len(c.Blend) > 0
	},
}

func cutOf(r *rand.Rand, c *bound.Certificate) *bound.Cut {
	if len(c.Cuts) == 0 {
		return &bound.Cut{}
	}
	return &c.Cuts[r.IntN(len(c.Cuts))]
}

// A certificate is spoilt in every way there is. One that claims what is not
// so of any content of a bin is refused; and whatever the verifier accepts,
// the best packing there is does not contradict.
func TestSpoiltCertificatesAreCaught(t *testing.T) {
	refused, accepted, spoilt := 0, 0, map[string]int{}
	from, to := tries(120)
	for seed := from; seed < to; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		problem := anyProblem(r)
		if seed%20 == 0 {
			problem = twins()
		}
		if problem.Check() != nil {
			continue
		}
		p := newPacked(problem)
		for _, o := range []bound.Objective{bound.Bins, bound.Cost, bound.Watts} {
			found, err := bound.Lower(problem, o, bound.Options{Effort: bound.Normal})
			if err != nil {
				t.Fatal(err)
			}
			p.sound(t, seed, "as it is", found.Certificate)
			if v, err := verify.Certificate(problem, found.Certificate); err != nil || !found.Infeasible && v != found.Bound {
				t.Errorf("seed %d: %s: bound %d, verified %d, %v", seed, o, found.Bound, v, err)
			}
			for _, name := range slices.Sorted(maps.Keys(spoilings)) {
				spoil := spoilings[name]
				for range 6 {
					c := copiedCertificate(t, found.Certificate)
					if !spoil(r, &c) {
						continue
					}
					spoilt[name]++
					if p.sound(t, seed, name, c) {
						accepted++
					} else {
						refused++
					}
				}
			}
		}
		p.spoiltProblem(t, seed)
	}
	t.Logf("%d refused, %d accepted because what they say is so", refused, accepted)
	for name := range spoilings {
		if spoilt[name] == 0 {
			t.Errorf("no certificate could be spoilt: %s", name)
		}
	}
}

// sound verifies, and compares the verdict with what is known of the problem.
func (p *packed) sound(t *testing.T, seed int, what string, c bound.Certificate) bool {
	t.Helper()
	value, err := verify.Certificate(p.Problem, c)
	if err != nil {
		if !errors.Is(err, verify.ErrWrong) {
			t.Errorf("seed %d: %s: %v", seed, what, err)
		}
		return false
	}
	for _, cut := range c.Cuts {
		if cut.Kind != bound.Shape && p.isFalse(cut) {
			t.Errorf("seed %d: %s: accepted, and a content weighs more than %v: %+v", seed, what, cut.Most, cut)
		}
	}
	best, packs := p.optimum(c.Objective)
	if packs && value > best {
		t.Errorf("seed %d: %s: accepted %d, and a packing has %d", seed, what, value, best)
	}
	return true
}

// spoiltProblem: of a problem that makes no sense nothing is proved.
func (p *packed) spoiltProblem(t *testing.T, seed int) {
	t.Helper()
	found, err := bound.Lower(p.Problem, bound.Bins, bound.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*bound.Problem){
		"a negative need": func(q *bound.Problem) { q.Items[0].Needs[0] = -1 },
		"a negative room": func(q *bound.Problem) { q.Bins[0].Room[0] = -1 },
		"no copies":       func(q *bound.Problem) { q.Items[0].Count = 0 },
		"short needs":     func(q *bound.Problem) { q.Items[0].Needs = q.Items[0].Needs[1:] },
		"negative price":  func(q *bound.Problem) { q.Bins[0].Cost = -1 },
	} {
		data, _ := json.Marshal(p.Problem)
		var q bound.Problem
		if err := json.Unmarshal(data, &q); err != nil {
			t.Fatal(err)
		}
		spoil(&q)
		if _, err := verify.Certificate(q, found.Certificate); !errors.Is(err, verify.ErrWrong) {
			t.Errorf("seed %d: %s: %v, want ErrWrong", seed, name, err)
		}
		if _, err := bound.Lower(q, bound.Bins, bound.Options{}); !errors.Is(err, bound.ErrInvalid) {
			t.Errorf("seed %d: %s: a bound of it: %v, want ErrInvalid", seed, name, err)
		}
	}
}

func copiedCertificate(t *testing.T, c bound.Certificate) bound.Certificate {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var out bound.Certificate
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
