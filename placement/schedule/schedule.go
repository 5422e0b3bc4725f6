package schedule

import (
	"fmt"
	"sort"
	"strings"
)

// Move takes one side of a pair to another host. Hosts are indexes.
type Move struct {
	Pair, Side int
	From, To   int
	Bytes      int64
	Needs      []int64 // on either host, by dimension
}

// Host is what Make and Time know of a host.
type Host struct {
	Name  string
	Rack  string  // shares the rack's rate; empty: none
	Limit []int64 // by dimension, without headroom: it may be borrowed on the way; negative: no limit
	Used  []int64 // by everything on it before the first move
}

// Rules hold for all moves.
type Rules struct {
	Parallel int // sides on their way at once, at least 1
	PerHost  int // of these, to one host, at least 1
	// At is the host of a side before the first move; negative: not known, as
	// are all when it is nil.
	At func(pair, side int) int
	// Sides is how many sides a pair has; nil: two.
	Sides func(pair int) int
}

// Step is a move in its place in the order.
type Step struct {
	Move  int // index into the moves given
	Wave  int // from 1
	Stage int // from 1: everything of the stages before is finished first
}

// Stuck says that no order exists: moves wait for each other's room.
type Stuck struct {
	Left  []int    // moves that found no turn
	Hosts []string // the hosts they wait for
}

func (s *Stuck) Error() string {
	return fmt.Sprintf("%d moves wait for each other's room on %s", len(s.Left), strings.Join(s.Hosts, ", "))
}

// Make orders moves. The error is a *Stuck when hosts wait for each other.
func Make(moves []Move, hosts []Host, r Rules) ([]Step, error) {
	m := newMaker(moves, hosts, r)
	for m.left > 0 {
		wave := m.choose(true)
		if len(wave) == 0 && m.settle() {
			continue
		}
		if len(wave) == 0 {
			wave = m.choose(false)
		}
		if len(wave) == 0 {
			return m.steps, m.stuck()
		}
		m.run(wave)
	}
	return m.steps, nil
}

type maker struct {
	moves []Move
	hosts []Host
	rules Rules
	used  [][]int64 // now
	held  [][]int64 // of used: has left in this stage, and may not be counted on before the next
	at    map[[2]int]int
	order []int // moves in the order of preference
	next  []int // by place in order: the next that is still to come; 0 is before the first
	left  int   // moves to come
	steps []Step
	wave  int
	stage int
}

func newMaker(moves []Move, hosts []Host, r Rules) *maker {
	m := &maker{moves: moves, hosts: hosts, rules: r, at: map[[2]int]int{}, stage: 1}
	m.rules.Parallel, m.rules.PerHost = max(1, r.Parallel), max(1, r.PerHost)
	for _, h := range hosts {
		m.used = append(m.used, append([]int64(nil), h.Used...))
		m.held = append(m.held, make([]int64, len(h.Used)))
	}
	for i, v := range moves {
		m.at[[2]int{v.Pair, v.Side}] = v.From
		m.order = append(m.order, i)
	}
	// B sides before A sides: until the last B has moved, every pair still has its A where it always was. Of one side,
	// what takes longest first.
	sort.SliceStable(m.order, func(a, b int) bool {
		x, y := moves[m.order[a]], moves[m.order[b]]
		if x.Side != y.Side {
			return x.Side > y.Side
		}
		return x.Bytes > y.Bytes
	})
	m.left = len(moves)
	m.next = make([]int, len(moves)+1)
	for k := range m.next {
		m.next[k] = k + 1
	}
	return m
}

// choose picks the moves of the next wave: each that fits beside what was chosen. Targets are kept as different as the
// wave allows. A side that comes later in the order of preference waits for its twin, unless that would be for ever.
func (m *maker) choose(patient bool) []int {
	var wave []int
	chosen := map[int]bool{}
	pairs, targets := map[int]bool{}, map[int]int{}
	extra := map[int][]int64{}
	for limit := 1; limit <= m.rules.PerHost; limit++ {
		waits := map[int]bool{} // pairs of which an earlier side still waits
		for k := m.next[0]; k <= len(m.order); k = m.next[k] {
			i := m.order[k-1]
			v := m.moves[i]
			if len(wave) == m.rules.Parallel {
				return wave
			}
			if chosen[i] {
				continue
			}
			if !pairs[v.Pair] && !(waits[v.Pair] && patient) && targets[v.To] < limit && m.fits(v, extra[v.To]) && m.apart(v) {
				wave = append(wave, i)
				chosen[i], pairs[v.Pair] = true, true
				targets[v.To]++
				extra[v.To] = add(extra[v.To], v.Needs)
			}
			waits[v.Pair] = true
		}
	}
	return wave
}

func add(sum, v []int64) []int64 {
	if sum == nil {
		sum = make([]int64, len(v))
	}
	for d := range v {
		sum[d] += v[d]
	}
	return sum
}

// fits says whether the target has room beside extra, with everything that left it in this stage still there.
func (m *maker) fits(v Move, extra []int64) bool {
	limit, used := m.hosts[v.To].Limit, m.used[v.To]
	for d, need := range v.Needs {
		if need == 0 || limit[d] < 0 {
			continue
		}
		sum := used[d] + need
		if extra != nil {
			sum += extra[d]
		}
		if sum > limit[d] {
			return false
		}
	}
	return true
}

// apart says whether the move may go where no other side of its pair is now.
func (m *maker) apart(v Move) bool {
	sides := 2
	if m.rules.Sides != nil {
		sides = m.rules.Sides(v.Pair)
	}
	for side := range sides {
		if side == v.Side {
			continue
		}
		at, moves := m.at[[2]int{v.Pair, side}]
		if !moves && m.rules.At == nil {
			continue
		}
		if !moves {
			at = m.rules.At(v.Pair, side)
		}
		if at == v.To {
			return false
		}
	}
	return true
}

// run makes the wave's moves: they arrive now, and what they leave is free from the next stage on.
func (m *maker) run(wave []int) {
	m.wave++
	sort.Ints(wave)
	gone := map[int]bool{}
	for _, i := range wave {
		v := m.moves[i]
		m.steps = append(m.steps, Step{Move: i, Wave: m.wave, Stage: m.stage})
		m.used[v.To] = add(m.used[v.To], v.Needs)
		m.held[v.From] = add(m.held[v.From], v.Needs)
		m.at[[2]int{v.Pair, v.Side}] = v.To
		gone[i] = true
	}
	m.left -= len(wave)
	for k, found := 0, 0; found < len(wave); k = m.next[k] {
		for next := m.next[k]; next <= len(m.order) && gone[m.order[next-1]]; next = m.next[k] {
			m.next[k] = m.next[next]
			found++
		}
	}
}

// settle ends a stage. It reports whether that freed anything.
func (m *maker) settle() bool {
	freed := false
	for h := range m.held {
		for d, v := range m.held[h] {
			if v > 0 {
				freed = true
				m.used[h][d] -= v
				m.held[h][d] = 0
			}
		}
	}
	if freed {
		m.stage++
	}
	return freed
}

func (m *maker) stuck() error {
	s := &Stuck{}
	seen := map[int]bool{}
	for k := m.next[0]; k <= len(m.order); k = m.next[k] {
		i := m.order[k-1]
		s.Left = append(s.Left, i)
		if to := m.moves[i].To; !seen[to] {
			seen[to] = true
			s.Hosts = append(s.Hosts, m.hosts[to].Name)
		}
	}
	sort.Strings(s.Hosts)
	return s
}
