package pack

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"stowage/internal/raced"
	"stowage/internal/turns"
)

// pairs doubles the items: side A, then side B of each, on different bins and
// different values of label 0.
func pairs(p Problem) Problem {
	n := len(p.Items)
	for i := range n {
		p.Items = append(p.Items, p.Items[i])
		two := []int{i, n + i}
		p.Groups = append(p.Groups, Group{Items: two, Domain: Each, Max: 1}, Group{Items: two, Domain: Label(0), Max: 1})
	}
	return p
}

// TestPairsOnFeeds: 60 pairs, both sides at full size, hosts on two power
// feeds. It takes as many hosts as two farms of one side.
func TestPairsOnFeeds(t *testing.T) {
	p := pairs(farmProblem(makeFarm(1, 3), true))
	one := mustSolve(t, farmProblem(makeFarm(1, 3), true), Options{Effort: 0.2})
	p.Types[0].Limit = 0
	for b := range 40 {
		p.Bins = append(p.Bins, Bin{Labels: []int{b % 2, b / 4}})
	}
	for g := range 10 { // and of each 12 pairs at most 3 instances share a rack
		group := Group{Domain: Label(1), Max: 3}
		for i := 12 * g; i < 12*g+12; i++ {
			group.Items = append(group.Items, i)
		}
		p.Groups = append(p.Groups, group)
	}
	s := mustSolve(t, p, Options{Effort: 0.2})
	if s.Count != 2*one.Count {
		t.Errorf("%d hosts for both sides, %d for one", s.Count, one.Count)
	}
}

// TestMixOfTypes: fewest, cheapest and least thirsty are three different
// mixes, each the best by its own measure.
func TestMixOfTypes(t *testing.T) {
	turns.One(t, 6)
	if raced.On {
		t.Skip("a search takes twenty times as long with the race detector: the tests that are left race the same goroutines")
	}
	base := farmProblem(makeFarm(2, 5), false)
	add := func(limit, cost, watts int64, raw [5]float64) Type {
		ty := Type{Cost: cost, Watts: watts, Limit: int(limit)}
		for d, v := range raw {
			ty.Capacity = append(ty.Capacity, int64(v*hostUnits[d]*hostUsable[d]/[]float64{7680, 512, 56, 300e3, 20e3}[d]))
		}
		return ty
	}
	base.Types = []Type{
		add(-1, 14000, 450, [5]float64{7680, 512, 56, 300e3, 20e3}),
		add(-1, 9500, 360, [5]float64{3840, 384, 40, 200e3, 20e3}),
		add(12, 27000, 700, [5]float64{15360, 1024, 96, 900e3, 50e3}),
	}
	orders := []Objective{Count, Cost, Watts}
	var got []Solution
	for _, o := range orders {
		p := base
		p.Objectives = []Objective{o}
		s := mustSolve(t, p, Options{Effort: 0.3})
		if v := s.Value(o); float64(v) > 1.01*float64(s.Bound) {
			t.Errorf("%s %d is more than 1%% above the bound of %d", o, v, s.Bound)
		}
		got = append(got, s)
	}
	for i, o := range orders {
		for j := range got {
			if got[j].Value(o) < got[i].Value(o) {
				t.Errorf("minimising %s gives %d, minimising %s %d", o, got[i].Value(o), orders[j], got[j].Value(o))
			}
		}
	}
}

// TestReplan: a farm that was just packed, six pairs 40 % larger and one host
// drained. Moving little comes first, so about what sat on that host moves,
// and nothing moves in a farm that did not change.
func TestReplan(t *testing.T) {
	turns.One(t, 8)
	p := farmProblem(makeFarm(1, 8), true)
	first := mustSolve(t, p, Options{Effort: 0.2})
	p.Types[0].Limit = 4
	for _, o := range first.Bins {
		p.Bins = append(p.Bins, Bin{Type: o.Type})
	}
	for i := range p.Items {
		p.Items[i].Home, p.Items[i].MoveCost = At(first.Where[i]), p.Items[i].Demand[0]
	}
	p.Objectives = []Objective{Count, Moved}
	if s := mustSolve(t, p, Options{Effort: 0.2}); s.Moves != 0 || s.Count != first.Count {
		t.Errorf("nothing changed, and %d moves to %d hosts from %d", s.Moves, s.Count, first.Count)
	}
	p.Bins[0].Drained = true
	p.Objectives = []Objective{Moved, Count}
	for i := 0; i < len(p.Items); i += 10 {
		p.Items[i].Demand = slices.Clone(p.Items[i].Demand)
		p.Items[i].Demand[0] = p.Items[i].Demand[0] * 14 / 10
	}
	must := int64(0)
	for _, it := range p.Items {
		if it.Home == At(0) {
			must += it.MoveCost
		}
	}
	s := mustSolve(t, p, Options{Effort: 0.2})
	if s.Moved < must || s.Moved > must*3/2 {
		t.Errorf("moved %d, and %d sat on the drained host", s.Moved, must)
	}
	p.Objectives = []Objective{Count, Moved}
	fewer := mustSolve(t, p, Options{Effort: 0.2})
	if fewer.Count > s.Count || fewer.Count == s.Count && fewer.Moved > s.Moved {
		t.Errorf("by count: %d hosts, %d moved; by moves: %d hosts, %d moved", fewer.Count, fewer.Moved, s.Count, s.Moved)
	}
}

// TestShrinkMovesLittle: of 20 half-empty hosts 10 are enough, and then
// nothing moves but what sat on the other 10.
func TestShrinkMovesLittle(t *testing.T) {
	p := Problem{Types: []Type{{Capacity: []int64{100}}}}
	for b := range 20 {
		p.Bins = append(p.Bins, Bin{})
		for range 5 {
			p.Items = append(p.Items, Item{Demand: []int64{10}, Home: At(b), MoveCost: int64(100 + b)})
		}
	}
	s := mustSolve(t, p, Options{})
	if want := int64(50*100 + 5*45); s.Count != 10 || s.Moved != want || s.Moves != 50 {
		t.Errorf("%d hosts, %d moved in %d moves; want 10, %d and 50", s.Count, s.Moved, s.Moves, want)
	}
}

// TestDeterminism: the same seed gives the same solution on one core and on
// two, and the bound given by the caller ends the search.
func TestDeterminism(t *testing.T) {
	turns.One(t, 6)
	if raced.On {
		t.Skip("a search takes twenty times as long with the race detector: the tests that are left race the same goroutines")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	problems := []Problem{farmProblem(makeFarm(6, 4), true), farmProblem(makeFarm(3, 4), false), pairs(farmProblem(makeFarm(1, 5), true))}
	for seed := range uint64(6) {
		problems = append(problems, randomProblem(rand.New(rand.NewPCG(seed, 99))))
	}
	for n, p := range problems {
		var first Solution
		for run := range 3 {
			runtime.GOMAXPROCS(1 + run%2)
			s, err := Solve(p, Options{Seed: 11, Effort: 0.1})
			if err != nil {
				break
			}
			if run == 0 {
				first = s
			} else if !reflect.DeepEqual(s, first) {
				t.Errorf("problem %d, run %d: another solution", n, run)
			}
		}
	}
}

// TestStop: a search that is stopped at once still places everything.
func TestStop(t *testing.T) {
	p := farmProblem(makeFarm(10, 1), false)
	s := mustSolve(t, p, Options{Stop: func() bool { return true }})
	if !s.Stopped || s.Count > 160 {
		t.Errorf("stopped %v with %d hosts", s.Stopped, s.Count)
	}
}

// TestLowerBound: reaching the bound the caller knows ends the search.
func TestLowerBound(t *testing.T) {
	turns.One(t, 8)
	p := farmProblem(makeFarm(4, 1), true)
	var asked atomic.Int64 // asked from several goroutines
	known := mustSolve(t, p, Options{Effort: 0.1}).Count
	s := mustSolve(t, p, Options{Effort: 1000, LowerBound: known, Stop: func() bool { return asked.Add(1) > 3000 }})
	if s.Stopped || s.Count != known || s.Bound != known {
		t.Errorf("stopped %v, %d hosts, bound %d, known %d", s.Stopped, s.Count, s.Bound, known)
	}
}

// TestDayProfile: 24 slots of 5 resources. Quiet hours are dropped; two
// halves of a farm that are busy at different hours share hosts.
func TestDayProfile(t *testing.T) {
	const slots, dims = 24, 5
	r := rand.New(rand.NewPCG(1, 24))
	p := Problem{Types: []Type{{Limit: -1, Capacity: make([]int64, slots*dims)}}}
	for d := range p.Types[0].Capacity {
		p.Types[0].Capacity[d] = 10_000
	}
	for i := range 1000 {
		demand := make([]int64, slots*dims)
		peak := float64(i % 2 * 12)
		size := 100 + 500*r.Float64()
		for k := range demand {
			hour := float64(k / dims)
			busy := 0.1
			if hour >= peak && hour < peak+12 {
				busy = 0.5 + 0.5*r.Float64()
			}
			demand[k] = int64(size * busy * (0.2 + 0.2*float64(k%dims)))
		}
		p.Items = append(p.Items, Item{Demand: demand})
	}
	s := mustSolve(t, p, Options{Effort: 0.1})
	if float64(s.Count) > 1.04*float64(s.Bound) || s.Count > 28 {
		t.Errorf("%d bins, bound %d", s.Count, s.Bound)
	}
}

func TestUndominated(t *testing.T) {
	p := Problem{Types: []Type{{Capacity: []int64{10, 20, 5, 1000}}}}
	for i := range 8 {
		p.Items = append(p.Items, Item{Demand: []int64{int64(i), int64(2*i + 1), int64(i / 2), 1}})
	}
	if m := newModel(&p); m.d != 1 || m.cap[0] != 20 {
		t.Errorf("kept %d dimensions: %v", m.d, m.cap)
	}
}

func TestRefusals(t *testing.T) {
	ok := func() Problem {
		return Problem{
			Types: []Type{{Capacity: []int64{10, 10}}},
			Bins:  []Bin{{}},
			Items: []Item{{Demand: []int64{1, 1}}, {Demand: []int64{1, 1}}},
		}
	}
	spoil := map[string]func(*Problem){
		"short demand":       func(p *Problem) { p.Items[1].Demand = []int64{1} },
		"negative demand":    func(p *Problem) { p.Items[1].Demand = []int64{1, -1} },
		"negative capacity":  func(p *Problem) { p.Types[0].Capacity[0] = -1 },
		"no type":            func(p *Problem) { p.Types = nil },
		"unknown type":       func(p *Problem) { p.Bins[0].Type = 1 },
		"unknown home":       func(p *Problem) { p.Items[0].Home = At(1) },
		"unknown pin":        func(p *Problem) { p.Items[0].Pin = At(-3) },
		"homeless frozen":    func(p *Problem) { p.Items[0].Frozen = true },
		"unknown forbidden":  func(p *Problem) { p.Items[0].NotBins = []int{1} },
		"member twice":       func(p *Problem) { p.Groups = []Group{{Items: []int{1, 1}}} },
		"unknown member":     func(p *Problem) { p.Groups = []Group{{Items: []int{2}}} },
		"together twice":     func(p *Problem) { p.Together = [][]int{{0, 1}, {1}} },
		"half frozen set":    func(p *Problem) { p.Items[0].Home, p.Items[0].Frozen, p.Together = At(0), true, [][]int{{0, 1}} },
		"unknown objective":  func(p *Problem) { p.Objectives = []Objective{9} },
		"sums out of range":  func(p *Problem) { p.Items[0].Demand[0] = maxTotal },
		"moves out of range": func(p *Problem) { p.Items[0].MoveCost = -1 },
	}
	p := ok()
	mustSolve(t, p, Options{})
	for name, f := range spoil {
		p := ok()
		f(&p)
		if _, err := Solve(p, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	p = Problem{}
	mustSolve(t, p, Options{})
	p = ok()
	p.Items[1].Demand = []int64{11, 0}
	if s, err := Solve(p, Options{}); err != nil || !slices.Equal(s.Unplaced, []int{1}) || judge(p, s) != "" {
		t.Errorf("an item larger than every bin: %+v, %v", s, err)
	}
}
