package placement

import (
	"math"
	"slices"

	"stowage/farm"
)

// slots is the resource that stands for max_instances: every instance needs
// one. Treating it as one more dimension keeps it out of every loop below.
const slots farm.ResourceName = "max_instances"

// tolerance forgives the rounding of adding up needs in another order.
const tolerance = 1e-9

// item is one side of a pair: what is placed as a whole.
type item struct {
	pair  int // index into Farm.Pairs
	side  farm.SideName
	name  farm.InstanceName
	needs []float64 // by dimension
	size  float64   // largest share of any one host's dimension
	from  int       // room it is in now, or -1 when that host is not packed onto
	twin  int       // index of the other side's item
}

// room is one host to pack onto.
type room struct {
	host   farm.Host
	limits []float64 // by dimension, headroom taken off; +Inf: no limit
	labels []string  // values of the spread labels
	closed bool      // takes no newcomers
}

// problem is a farm and goals in the shape the search works on. It is not
// changed after newProblem.
type problem struct {
	farm   *farm.Farm
	goals  Goals
	dims   []farm.ResourceName
	items  []item
	rooms  []room
	demand []float64 // all items together, by dimension
}

func newProblem(f *farm.Farm, g Goals) *problem {
	p := &problem{farm: f, goals: g, dims: dimensions(f)}
	byHost := map[farm.HostName]int{}
	types := map[farm.HostTypeName]farm.HostType{}
	for _, t := range f.HostTypes {
		types[t.Name] = t
	}
	for _, h := range f.Hosts {
		if g.packsOnto(h.Type) {
			byHost[h.Name] = len(p.rooms)
			p.rooms = append(p.rooms, p.newRoom(h, types[h.Type]))
		}
	}
	p.demand = make([]float64, len(p.dims))
	for i, pair := range f.Pairs {
		needs := p.vector(pair.Needs())
		for _, side := range farm.SideNames {
			from, ok := byHost[pair.Sides[side].Host]
			if !ok {
				from = -1
			}
			me := len(p.items)
			p.items = append(p.items, item{
				pair: i, side: side, name: pair.Instance(side), needs: needs,
				size: p.size(needs), from: from, twin: me ^ 1, // sides come in twos
			})
			for d, v := range needs {
				p.demand[d] += v
			}
		}
	}
	return p
}

// dimensions are all resources any shard needs or any host type limits, and
// the slots, in a fixed order.
func dimensions(f *farm.Farm) []farm.ResourceName {
	all := farm.Resources{}
	for _, t := range f.HostTypes {
		all.Add(t.Capacity)
	}
	for _, p := range f.Pairs {
		all.Add(p.Needs())
	}
	return append(all.Names(), slots)
}

func (p *problem) vector(r farm.Resources) []float64 {
	v := make([]float64, len(p.dims))
	for d, n := range p.dims {
		v[d] = r[n]
	}
	v[len(v)-1] = 1
	return v
}

func (p *problem) newRoom(h farm.Host, t farm.HostType) room {
	r := room{host: h, limits: make([]float64, len(p.dims)), closed: h.Dir == ""}
	for d, n := range p.dims {
		r.limits[d] = math.Inf(1)
		if c, ok := t.Capacity[n]; ok {
			r.limits[d] = c * (1 - p.goals.Headroom[n])
		}
	}
	if t.MaxInstances > 0 {
		r.limits[len(p.dims)-1] = float64(t.MaxInstances)
	}
	for _, l := range p.goals.SpreadLabels {
		r.labels = append(r.labels, h.Labels[l])
	}
	return r
}

// size is the largest share the needs take of the roomiest host.
func (p *problem) size(needs []float64) float64 {
	size := 0.0
	for d, v := range needs {
		if most := p.roomiest(d); v > 0 && !math.IsInf(most, 1) {
			size = max(size, v/most)
		}
	}
	return size
}

// roomiest is the largest limit of one dimension over all rooms.
func (p *problem) roomiest(d int) float64 {
	most := 0.0
	for i := range p.rooms {
		most = max(most, p.rooms[i].limits[d])
	}
	return most
}

// layout is where items are: the state of one attempt.
type layout struct {
	*problem
	where  []int       // room by item, -1: nowhere yet
	used   [][]float64 // by room and dimension
	inside [][]int     // items by room
	shut   []bool      // rooms that take no newcomers
	open   []int       // the rooms of this attempt, in order of preference
}

func newLayout(p *problem, open []int) *layout {
	l := &layout{problem: p, open: open, where: make([]int, len(p.items))}
	l.used = make([][]float64, len(p.rooms))
	l.inside = make([][]int, len(p.rooms))
	l.shut = make([]bool, len(p.rooms))
	for i := range l.where {
		l.where[i] = -1
	}
	for i := range p.rooms {
		l.used[i] = make([]float64, len(p.dims))
		l.shut[i] = p.rooms[i].closed
	}
	return l
}

func (l *layout) put(i, r int) {
	l.where[i] = r
	l.inside[r] = append(l.inside[r], i)
	for d, v := range l.items[i].needs {
		l.used[r][d] += v
	}
}

func (l *layout) take(i int) {
	r := l.where[i]
	l.where[i] = -1
	at := slices.Index(l.inside[r], i)
	l.inside[r] = slices.Delete(l.inside[r], at, at+1)
	for d, v := range l.items[i].needs {
		l.used[r][d] -= v
	}
}

// lacks is the first dimension of which room r has too little for item i, or
// -1.
func (l *layout) lacks(i, r int) int {
	used, limits := l.used[r], l.rooms[r].limits
	for d, v := range l.items[i].needs {
		if v > 0 && used[d]+v > limits[d]*(1+tolerance) {
			return d
		}
	}
	return -1
}

// clashes is why the twin's place forbids room r to item i: "twin", the name of
// a spread label, or "".
func (l *layout) clashes(i, r int) string {
	other := l.where[l.items[i].twin]
	if other < 0 {
		return ""
	}
	if other == r {
		return "twin"
	}
	for n, v := range l.rooms[r].labels {
		if v == l.rooms[other].labels[n] {
			return l.goals.SpreadLabels[n]
		}
	}
	return ""
}

func (l *layout) fits(i, r int) bool {
	return l.lacks(i, r) < 0 && l.clashes(i, r) == ""
}

// inUse counts the rooms with something in them.
func (l *layout) inUse() int {
	n := 0
	for _, in := range l.inside {
		if len(in) > 0 {
			n++
		}
	}
	return n
}
