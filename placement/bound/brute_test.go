package bound_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"stowage/placement/bound"
	"stowage/placement/bound/verify"
)

// optimum is the least objective of any packing, by trying all of them, or -1
// if there is none.
func optimum(p bound.Problem, o bound.Objective) int64 {
	var copies []int
	for i, it := range p.Items {
		for range it.Count {
			copies = append(copies, i)
		}
	}
	b := &brute{p: p, o: o, copies: copies, best: -1, used: make([]int, len(p.Bins)), domain: map[string]map[int]int{}}
	b.place(0, 0)
	return b.best
}

type brute struct {
	p      bound.Problem
	o      bound.Objective
	copies []int
	open   []openBin
	used   []int
	domain map[string]map[int]int // copies of each item in each domain
	best   int64
}

type openBin struct {
	kind  int
	items []int
}

func (b *brute) place(n int, cost int64) {
	if b.best >= 0 && cost >= b.best {
		return
	}
	if n == len(b.copies) {
		b.best = cost
		return
	}
	i := b.copies[n]
	for k := range b.open {
		b.put(n, i, k, cost)
	}
	for t, bin := range b.p.Bins {
		if bin.Available > 0 && b.used[t] >= bin.Available {
			continue
		}
		b.open = append(b.open, openBin{kind: t})
		b.used[t]++
		price := int64(1)
		switch b.o {
		case bound.Cost:
			price = bin.Cost
		case bound.Watts:
			price = bin.Watts
		}
		b.put(n, i, len(b.open)-1, cost+price)
		b.used[t]--
		b.open = b.open[:len(b.open)-1]
	}
}

func (b *brute) put(n, i, k int, cost int64) {
	bin := b.p.Bins[b.open[k].kind]
	it := b.p.Items[i]
	if b.domain[bin.Domain] == nil {
		b.domain[bin.Domain] = map[int]int{}
	}
	inside := append(slices.Clone(b.open[k].items), i)
	if bin.MaxItems > 0 && len(inside) > bin.MaxItems {
		return
	}
	if bin.Domain != "" && it.PerDomain > 0 && b.domain[bin.Domain][i] >= it.PerDomain {
		return
	}
	same := 0
	for _, j := range inside {
		if j == i {
			same++
		}
	}
	if it.PerBin > 0 && same > it.PerBin {
		return
	}
	for _, g := range b.p.Apart {
		members := 0
		for _, j := range inside {
			if slices.Contains(g, j) {
				members++
			}
		}
		if members > 1 {
			return
		}
	}
	for d, room := range bin.Room {
		var sum int64
		for _, j := range inside {
			sum += b.p.Items[j].Needs[d]
		}
		if sum > room {
			return
		}
	}
	old := b.open[k].items
	b.open[k].items = inside
	b.domain[bin.Domain][i]++
	b.place(n+1, cost)
	b.domain[bin.Domain][i]--
	b.open[k].items = old
}

// someProblem makes a small problem of any kind.
func someProblem(r *rand.Rand) bound.Problem {
	var p bound.Problem
	d := 1 + r.IntN(3)
	scale := []int64{10, 100, 1_000_000_007}[r.IntN(3)]
	for range 1 + r.IntN(3) {
		b := bound.Bin{Cost: int64(r.IntN(20)), Watts: int64(r.IntN(5)) * 50}
		for range d {
			b.Room = append(b.Room, scale/2+r.Int64N(scale))
		}
		if r.IntN(3) == 0 {
			b.MaxItems = 1 + r.IntN(4)
		}
		if r.IntN(3) == 0 {
			b.Available = 1 + r.IntN(3)
		}
		p.Bins = append(p.Bins, b)
	}
	if r.IntN(3) == 0 {
		for t := range p.Bins {
			p.Bins[t].Domain = []string{"a", "b"}[r.IntN(2)]
		}
		if r.IntN(4) == 0 {
			p.Bins[0].Domain = ""
		}
	}
	left := 2 + r.IntN(6)
	for left > 0 {
		it := bound.Item{Count: 1 + r.IntN(min(left, 3))}
		left -= it.Count
		for range d {
			w := r.Int64N(scale)
			if r.IntN(6) == 0 {
				w = 0
			}
			it.Needs = append(it.Needs, w*int64(1+r.IntN(3))/3)
		}
		if r.IntN(4) == 0 {
			it.PerBin = 1 + r.IntN(2)
		}
		if r.IntN(3) == 0 {
			it.PerDomain = 1 + r.IntN(2)
		}
		p.Items = append(p.Items, it)
	}
	if r.IntN(4) == 0 && len(p.Items) > 1 {
		g := r.Perm(len(p.Items))
		p.Apart = append(p.Apart, g[:1+r.IntN(len(g))])
	}
	return p
}

// TestBoundAgainstBruteForce: the bound is at most the optimum, the verifier
// proves it, and it is the optimum often enough to be of use.
func TestBoundAgainstBruteForce(t *testing.T) {
	problems := 6000
	if testing.Short() {
		problems = 1500
	}
	r := rand.New(rand.NewPCG(1, 2))
	tight, feasible, impossible, proved := 0, 0, 0, 0
	kinds := map[string]int{}
	for n := range problems {
		p := someProblem(r)
		if p.Check() != nil {
			continue
		}
		o := []bound.Objective{bound.Bins, bound.Cost, bound.Watts}[n%3]
		best := optimum(p, o)
		res, err := bound.Lower(p, o, bound.Options{Effort: bound.Effort(n % 2)})
		if err != nil {
			t.Fatal(err)
		}
		if best >= 0 && (res.Infeasible || res.Bound > best) {
			t.Fatalf("bound %d (infeasible %v) by %q, but there is a packing of %d: %s", res.Bound, res.Infeasible, res.Method, best, text(p))
		}
		if res.Bound < res.Volume && !res.Infeasible {
			t.Fatalf("bound %d is below volume %d: %s", res.Bound, res.Volume, text(p))
		}
		again, err := verify.Certificate(p, overTheWire(t, res.Certificate))
		if err != nil {
			t.Fatalf("verify %d of %s by %q: %v\n%s\n%s", res.Bound, o, res.Method, err, text(p), text(res.Certificate))
		}
		if want := res.Bound; !res.Infeasible && again != want || res.Infeasible && again != verify.NoPacking {
			t.Fatalf("verified %d, want %d: %s", again, want, text(p))
		}
		kinds[res.Certificate.Kind]++
		if best < 0 {
			impossible++
			if res.Infeasible {
				proved++
			}
			continue
		}
		feasible++
		if res.Bound == best {
			tight++
		}
	}
	t.Logf("%d of %d bounds are the optimum; %d of %d impossible problems are proved so; by %v", tight, feasible, proved, impossible, kinds)
	if tight*100 < feasible*80 {
		t.Errorf("only %d of %d bounds are the optimum", tight, feasible)
	}
	for _, k := range []string{"sum", "dff", "clique", "copies", "content", "mix", "domains"} {
		if kinds[k] == 0 {
			t.Errorf("no bound by %s: the problems do not test it", k)
		}
	}
}

// overTheWire is the certificate after a trip through JSON.
func overTheWire(t *testing.T, c bound.Certificate) bound.Certificate {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back bound.Certificate
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// TestTamperedCertificates: a certificate that claims more than is so is
// refused, whatever was changed. The judge is brute force: a change that still
// proves a true bound is fine.
func TestTamperedCertificates(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	refused, harmless := 0, 0
	for n := 0; n < 4000 && !(testing.Short() && n > 1000); n++ {
		p := someProblem(r)
		if p.Check() != nil {
			continue
		}
		o := []bound.Objective{bound.Bins, bound.Cost, bound.Watts}[n%3]
		res, err := bound.Lower(p, o, bound.Options{})
		if err != nil {
			t.Fatal(err)
		}
		best := optimum(p, o)
		c := overTheWire(t, res.Certificate)
		c.Bound++
		if _, err := verify.Certificate(p, c); !c.Infeasible && !errors.Is(err, verify.ErrWrong) && best == res.Bound {
			t.Fatalf("bound %d is one too many and verify says %v: %s", c.Bound, err, text(p))
		}
		for range 4 {
			c := overTheWire(t, res.Certificate)
			tamper(r, &c)
			b, err := verify.Certificate(p, c)
			switch {
			case err != nil:
				refused++
			case best >= 0 && b > best:
				t.Fatalf("tampered certificate passes with %d, and there is a packing of %d:\n%s\n%s", b, best, text(p), text(c))
			default:
				harmless++
			}
		}
	}
	t.Logf("%d refused, %d harmless", refused, harmless)
	if refused < harmless {
		t.Errorf("only %d refused, %d harmless: tampering does too little", refused, harmless)
	}
}

// tamper changes one or two things in a certificate.
func tamper(r *rand.Rand, c *bound.Certificate) {
	if len(c.Domains) > 0 && r.IntN(2) == 0 {
		tamper(r, &c.Domains[r.IntN(len(c.Domains))].Certificate)
		c.Bound++
		return
	}
	if len(c.Domains) > 0 && r.IntN(2) == 0 {
		c.Domains = append(c.Domains, c.Domains[0])
	}
	c.Bound += int64(r.IntN(3))
	if r.IntN(8) == 0 {
		c.Infeasible = true
	}
	if len(c.Cuts) == 0 {
		c.Bound++
		return
	}
	cut := &c.Cuts[r.IntN(len(c.Cuts))]
	at := func(list []int64) *int64 {
		if len(list) == 0 {
			return new(int64)
		}
		return &list[r.IntN(len(list))]
	}
	switch r.IntN(9) {
	case 0, 1:
		m := at(cut.Most)
		*m = *m * int64(r.IntN(100)) / 100
	case 2:
		*at(cut.Weights) *= 2
	case 3:
		*at(cut.Weights) += 1 + r.Int64N(1<<20)
	case 4:
		cut.Items = append(cut.Items, r.IntN(5))
	case 5:
		cut.Parameter += int64(r.IntN(5)) - 2
	case 6:
		*at(cut.Factors) += r.Int64N(5) - 1
	case 7:
		cut.Kind = []bound.CutKind{bound.Sum, bound.Shape, bound.Clique, bound.Copies, bound.Content}[r.IntN(5)]
	case 8:
		for t := range cut.Hints {
			*at(cut.Hints[t]) = r.Int64N(1<<28) - 5
		}
		*at(cut.Most) -= 1 + r.Int64N(1<<16)
	}
}

// TestHintsDoNotMatter: with wrong hints a proof may get slow, not wrong.
func TestHintsDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	tried := 0
	for range 1500 {
		p := someProblem(r)
		if p.Check() != nil {
			continue
		}
		res, err := bound.Lower(p, bound.Bins, bound.Options{Effort: bound.Normal})
		if err != nil {
			t.Fatal(err)
		}
		c := overTheWire(t, res.Certificate)
		for k := range c.Cuts {
			for t := range c.Cuts[k].Hints {
				tried++
				switch r.IntN(3) {
				case 0:
					c.Cuts[k].Hints[t] = nil
				case 1:
					c.Cuts[k].Hints[t][0] = -7
				default:
					for d := range c.Cuts[k].Hints[t] {
						c.Cuts[k].Hints[t][d] = r.Int64N(1 << 40)
					}
				}
			}
		}
		for k := range c.Blend {
			c.Blend[k] = []float64{0, -1, math.Inf(1), math.NaN(), 1e300, 1e-300, r.Float64()}[r.IntN(7)]
		}
		if _, err := verify.Certificate(p, c); err != nil {
			t.Fatalf("with other hints: %v\n%s\n%s", err, text(p), fmt.Sprintf("%+v", c))
		}
	}
	if tried < 20 {
		t.Errorf("only %d hints tried", tried)
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}
