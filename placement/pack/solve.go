package pack

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	streams      = 2         // searches side by side, whatever the machine
	probeWork    = 1_500_000 // for ejections when a level is tried the first time
	repairRounds = 40        // work for repairing a level, over that for ejections
	roundWork    = 5_000_000 // of one stream between two comparisons
	patience     = 8         // rounds without gain after which the search ends
	searchRounds = 14        // rounds at most, times Effort
	unitWork     = 25_000    // of one round for each unit: small problems need less
)

// Solve looks for a place for every item, with as little of the objectives as
// it can find. Errors wrap ErrProblem. Items that found no place are in
// Solution.Unplaced; everything else keeps all rules even then.
//
// Frozen items are facts: they stay where they are even if that breaks a
// rule, and a bin they overfill takes no more of what it lacks.
func Solve(p Problem, o Options) (Solution, error) {
	if err := p.Check(); err != nil {
		return Solution{}, err
	}
	if o.Effort <= 0 {
		o.Effort = 1
	}
	s := &solver{model: newModel(&p), o: o, objectives: p.objectives()}
	s.run()
	return s.solution(), nil
}

// solver is one call of Solve.
type solver struct {
	*model
	o          Options
	objectives []Objective
	goal       int64 // of the first objective: enough
	bound      int64
	best       *answer
	stopped    atomic.Bool
	searchOnly bool   // for tests: without the exact search of small problems
	calls      uint64 // streams started so far: no two have the same dice
}

func (s *solver) run() {
	s.setBound()
	steps := s.newLadder()
	s.keep(s.firstFit(steps.order).answer())
	if s.objectives[0] != Moved && !s.atGoal() {
		s.perfect(steps)
	}
	if s.objectives[0] != Moved && !s.atGoal() {
		s.climb(steps)
		s.descend()
	}
	if s.hasHomes() {
		s.stayHome(steps)
	}
	if !s.searchOnly {
		s.exact(steps.order)
	}
}

// newLadder climbs by the first objective that is about bins.
func (s *solver) newLadder() *ladder { return newLadder(s.model, s.prices(s.objectives)) }

// setBound finds what the first objective cannot be below.
func (s *solver) setBound() {
	if o := s.objectives[0]; o != Moved {
		price := s.prices(s.objectives[:1])
		if f := s.floor(price, s.demands()); !math.IsInf(f, 1) {
			s.bound = int64(math.Ceil(f - 1e-6))
		}
	}
	s.bound = max(s.bound, s.o.LowerBound)
	s.goal = s.bound
}

// atGoal says that nothing better can be found: the first objective is at its
// bound, everything is placed, and no other objective could still gain.
func (s *solver) atGoal() bool {
	return s.best.missing == 0 && s.best.value[0] <= s.goal && s.alike()
}

// alike says that all types cost the same in all objectives, so that bins can
// be counted and need not be chosen.
func (s *solver) alike() bool {
	seen := map[[2]int64]bool{}
	for b, t := range s.typ {
		if s.usable(int32(b)) {
			seen[[2]int64{s.p.Types[t].Cost, s.p.Types[t].Watts}] = true
		}
	}
	return len(seen) <= 1
}

// keep takes over an answer if it is better. It reports whether it was.
func (s *solver) keep(a *answer) bool {
	if a == nil || !a.better(s.best) {
		return false
	}
	s.best = a
	return true
}

func (s *solver) stop() bool {
	if s.stopped.Load() || s.o.Stop != nil && s.o.Stop() {
		s.stopped.Store(true)
		return true
	}
	return false
}

// newSearch gives every search dice of its own.
func (s *solver) newSearch(l *layout, budget int64) *search {
	s.calls++
	var stop func() bool
	if s.o.Stop != nil {
		stop = s.stop
	}
	return newSearch(l, s.o.Seed, s.calls, budget, stop)
}

// sideBySide runs f for 0..n-1 at once and waits for all.
func sideBySide(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// window is how many of the bins opened last firstFit looks at.
const window = 128

// firstFit is a quick answer: every unit in the first bin that has room.
func (s *solver) firstFit(order []int32) *search {
	l := newLayout(s.model, order)
	f := s.newSearch(l, math.MaxInt64)
	units := f.homeless()
	f.bySize(units)
	used := 0
	for _, u := range units {
		if b := s.fixed[u]; b >= 0 && f.isOpen[b] && f.hasRoom(u, b) && f.may(u, b) {
			f.put(u, b)
		}
	}
	for _, u := range units {
		if f.where[u] >= 0 {
			continue
		}
		from := max(0, used-window)
		if s.notPlain(u) {
			from = 0
		}
		for k := from; k < len(order); k++ {
			if b := order[k]; f.hasRoom(u, b) && f.may(u, b) {
				f.put(u, b)
				used = max(used, k+1)
				break
			}
		}
	}
	return f
}

// notPlain says that unit u may not go everywhere.
func (s *solver) notPlain(u int32) bool {
	return len(s.notBins[u]) > 0 || s.fixed[u] >= 0 || s.ruleFrom[u] < s.ruleFrom[u+1]
}

// climb looks for the lowest level of the ladder on which everything finds a
// place, two levels at a time.
func (s *solver) climb(steps *ladder) {
	low, high := 0, steps.top+1 // below low: failed; high: succeeded
	for step := 1; low < high && high > steps.top && !s.stop(); step *= 2 {
		a, b := low, min(low+step, steps.top)
		switch s.probe(steps, a, b) {
		case 0:
			high = a
		case 1:
			low, high = a+1, b
		default:
			low = b + 1
			if b == steps.top {
				return
			}
		}
	}
	for low < high && !s.stop() {
		third := (high - low) / 3
		a, b := low+third, min(low+2*third+1, high-1)
		switch s.probe(steps, a, max(a, b)) {
		case 0:
			high = a
		case 1:
			low, high = a+1, b
		default:
			low = max(a, b) + 1
		}
	}
}

// probe tries two levels side by side. It returns 0 or 1 for the first that
// worked, or -1.
func (s *solver) probe(steps *ladder, a, b int) int {
	levels := []int{a, b}
	if a == b {
		levels = levels[:1]
	}
	tries := make([]*search, len(levels))
	for i, k := range levels {
		tries[i] = s.newSearch(newLayout(s.model, steps.level(k)), math.MaxInt64)
	}
	worked := make([]bool, len(tries))
	sideBySide(len(tries), func(i int) { worked[i] = tries[i].attempt(s.roundOf() / 4) })
	won := slices.Index(worked, true)
	for _, t := range tries {
		s.keep(t.answer())
	}
	return won
}

// attempt places what is homeless: spread, repair, and for a short while
// ejections.
func (s *search) attempt(work int64) bool {
	s.spread()
	s.budget = s.work + repairRounds*work
	if s.repair() {
		return true
	}
	s.unload()
	s.budget = s.work + work
	return s.eject()
}

// descend empties one bin after another, or takes cheaper ones, from the best
// answer on. The streams compare after every round and go on from the better.
func (s *solver) descend() {
	rounds := int(math.Ceil(s.o.Effort * searchRounds))
	waits := int(math.Ceil(s.o.Effort * patience))
	down := make([]*descent, streams)
	for idle := 0; idle < waits && rounds > 0 && s.best.missing == 0 && !s.atGoal() && !s.stop(); rounds-- {
		for i := range down {
			if down[i] == nil || s.best.better(down[i].best) {
				l := layoutOf(s.model, s.best.open, s.best.where)
				down[i] = &descent{search: s.newSearch(l, 0), best: s.best, solver: s}
			}
		}
		sideBySide(streams, func(i int) { down[i].round(s.roundOf()) })
		idle++
		for _, d := range down {
			if s.keep(d.best) {
				idle = 0
			}
		}
	}
}

// roundOf is the work of one round. With many dimensions each operation on
// vectors takes longer, so there are fewer.
func (s *solver) roundOf() int64 {
	return min(roundWork, unitWork*int64(s.n)) * 10 / int64(max(10, s.d))
}

// solution is the best answer in the caller's words.
func (s *solver) solution() Solution {
	out := s.totals(s.best.where)
	out.Bound = s.bound
	out.Stopped = s.stopped.Load()
	used := make([]bool, s.nb)
	named := len(s.p.Bins)
	for _, b := range s.best.where {
		if b >= 0 {
			used[b] = true
		}
	}
	number := make([]int, s.nb)
	for b := range s.nb {
		if b >= named && !used[b] {
			continue
		}
		number[b] = len(out.Bins)
		o := Opened{Type: int(s.typ[b]), Used: used[b] || s.held[b]}
		if b < named {
			o.Bin = At(b)
		}
		out.Bins = append(out.Bins, o)
	}
	out.Where = make([]int, len(s.p.Items))
	for i, u := range s.unitOf {
		out.Where[i] = -1
		if b := s.best.where[u]; b >= 0 {
			out.Where[i] = number[b]
		} else {
			out.Unplaced = append(out.Unplaced, i)
		}
	}
	return out
}
