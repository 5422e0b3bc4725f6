package window

import (
	"math"
	"slices"

	"stowage/farm"
)

// bound is the least time in which all bytes can go out, each pair from all of its sides at once if need be, and what sets it: the resources of a smallest
// cut, or the one stream of a pair.
func (a *atlas) bound(jobs []*job) (float64, Binding) {
	seconds, binding := a.longest(jobs)
	if seconds == 0 {
		return 0, Binding{}
	}
	for {
		total, cut := a.cut(jobs, seconds)
		if cut == nil {
			return seconds, binding
		}
		b := Binding{Bytes: total}
		for _, r := range cut {
			b.Names = append(b.Names, a.limitName(r))
			b.Rate += a.cap(r)
		}
		slices.Sort(b.Names)
		next := b.Bytes / b.Rate
		if next <= seconds*(1+1e-9) {
			return seconds, binding
		}
		seconds, binding = next, b
	}
}

// limitName says what of a resource binds: its rate, or that it lets so few streams through.
func (a *atlas) limitName(r int) string {
	if x := a.all[r]; a.cap(r) < x.rate {
		return farm.Counted(x.slots, "stream") + " at once, " + x.name
	}
	return a.all[r].name
}

// longest is the pair that takes longest by itself, from its fastest side.
func (a *atlas) longest(jobs []*job) (float64, Binding) {
	seconds, binding := 0.0, Binding{}
	for _, j := range jobs {
		best := j.sides[0]
		for _, o := range j.sides {
			if o.rate > best.rate {
				best = o
			}
		}
		if t := j.bytes / best.rate; t > seconds {
			name := "one backup of " + string(j.pair.Name)
			for _, r := range best.path {
				if a.cap(r) <= best.rate {
					name = a.limitName(r)
				}
			}
			seconds, binding = t, Binding{[]string{name}, j.bytes, best.rate}
		}
	}
	return seconds, binding
}

// cut sends all bytes through the resources within a time. When that is not enough for all it has the resources of a smallest cut, and the bytes of the pairs that
// must pass them; nil: it is enough.
func (a *atlas) cut(jobs []*job, seconds float64) (bytes float64, cut []int) {
	const source, sink = 0, 1
	n := &net{}
	n.node()
	n.node()
	pairs := make([]int, len(jobs))
	in, out := make([]int, len(a.all)), make([]int, len(a.all)) // of each resource: its edge limits it
	for r := range a.all {
		in[r], out[r] = n.node(), n.node()
		n.edge(in[r], out[r], min(a.cap(r)*seconds, math.MaxFloat64))
	}
	total := 0.0
	linked := map[[2]int]bool{}
	link := func(from, to int) {
		if !linked[[2]int{from, to}] {
			linked[[2]int{from, to}] = true
			n.edge(from, to, math.Inf(1))
		}
	}
	for i, j := range jobs {
		pairs[i] = n.node()
		n.edge(source, pairs[i], j.bytes)
		total += j.bytes
		for _, o := range j.sides {
			at := pairs[i]
			for _, r := range o.path {
				link(at, in[r])
				at = out[r]
			}
			link(at, sink)
		}
	}
	if n.most(source, sink, total) >= total*(1-1e-9) {
		return 0, nil
	}
	near := n.reached(source, total*1e-12)
	for i, j := range jobs {
		if near[pairs[i]] {
			bytes += j.bytes
		}
	}
	for r := range a.all {
		if near[in[r]] && !near[out[r]] {
			cut = append(cut, r)
		}
	}
	return bytes, cut
}

// net is a network with capacities; edges stand in twos, there and back.
type net struct {
	out   [][]int // by node, edges
	to    []int
	left  []float64
	level []int
}

func (n *net) node() int {
	n.out = append(n.out, nil)
	return len(n.out) - 1
}

func (n *net) edge(from, to int, room float64) {
	n.out[from] = append(n.out[from], len(n.to))
	n.out[to] = append(n.out[to], len(n.to)+1)
	n.to, n.left = append(n.to, to, from), append(n.left, room, 0)
}

// most is the largest flow (Dinic 1970); what is less than a part in 10^12 of total is nothing.
func (n *net) most(source, sink int, total float64) float64 {
	least, sum := total*1e-12, 0.0
	for n.levels(source, sink, least) {
		next := make([]int, len(n.out))
		for {
			f := n.push(source, sink, math.Inf(1), least, next)
			if f <= least {
				break
			}
			sum += f
		}
	}
	return sum
}

// levels are the distances from source; false: sink is not reached.
func (n *net) levels(source, sink int, least float64) bool {
	n.level = make([]int, len(n.out))
	for i := range n.level {
		n.level[i] = -1
	}
	n.level[source] = 0
	queue := []int{source}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, e := range n.out[at] {
			if to := n.to[e]; n.left[e] > least && n.level[to] < 0 {
				n.level[to] = n.level[at] + 1
				queue = append(queue, to)
			}
		}
	}
	return n.level[sink] >= 0
}

// push sends along one path of rising levels; next are the edges that each node has not given up.
func (n *net) push(at, sink int, room, least float64, next []int) float64 {
	if at == sink {
		return room
	}
	for ; next[at] < len(n.out[at]); next[at]++ {
		e := n.out[at][next[at]]
		if n.left[e] <= least || n.level[n.to[e]] != n.level[at]+1 {
			continue
		}
		if f := n.push(n.to[e], sink, min(room, n.left[e]), least, next); f > least {
			n.left[e] -= f
			n.left[e^1] += f
			return f
		}
	}
	return 0
}

// reached are the nodes that more could still be sent to.
func (n *net) reached(source int, least float64) []bool {
	n.levels(source, 1, least)
	out := make([]bool, len(n.out))
	for i, l := range n.level {
		out[i] = l >= 0
	}
	return out
}
