package check_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// mutant is a good plan, to be spoilt.
type mutant struct {
	*rand.Rand
	farm *farm.Farm
	p    placement.Plan
}

// planned is a task with its plan.
type planned struct {
	task
	p placement.Plan
}

// goodPlans are plans of drawn farms and of one with two stages, made once.
var goodPlans = sync.OnceValue(func() []planned {
	var out []planned
	add := func(x task) {
		if p, err := placement.Solve(x.farm, x.goals); err == nil && len(p.Moves) > 1 {
			out = append(out, planned{x, p})
		}
	}
	add(twoStages())
	drawn := tasks(8, 10)
	for seed := 0; len(out) < 30; seed++ {
		add(drawn.Example(seed))
	}
	return out
})

// twoStages is a farm in which one instance has to leave before another has
// room.
func twoStages() task {
	f := &farm.Farm{Name: "stages", NextServerID: 10, HostTypes: []farm.HostType{{Name: "small", Capacity: farm.Resources{farm.Disk: 10e9, farm.Memory: 10e9}, MaxInstances: 2, Price: 1000, Watts: 100}}}
	for i := range 5 {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("new%d", i)), Type: "small", Address: fmt.Sprintf("10.0.1.%d", i+1), Dir: "/srv/new", Labels: map[string]string{"rack": fmt.Sprint(i)}})
	}
	for i, at := range [][2]farm.HostName{{"new0", "new3"}, {"new1", "new4"}} {
		s := farm.Shard{Name: farm.ShardName(fmt.Sprintf("s%d", i)), Needs: farm.Resources{farm.Disk: 7e9, farm.Memory: 1e9}}
		f.Pairs = append(f.Pairs, farm.Pair{Name: farm.PairName(fmt.Sprintf("p%d", i)), Topology: farm.ActiveActive, Shards: []farm.Shard{s}, Sides: map[farm.SideName]farm.Side{
			farm.A: {Host: at[0], Port: 3306, Datadir: "/d"}, farm.B: {Host: at[1], Port: 3306, Datadir: "/d"},
		}})
	}
	g := placement.Defaults()
	g.Headroom = nil
	g.Pins = []placement.Binding{{What: []string{"p0a"}, Hosts: []farm.HostName{"new1"}}, {What: []string{"p1a"}, Hosts: []farm.HostName{"new2"}}}
	return task{f, g}
}

func (m *mutant) any(n int) int { return m.IntN(max(1, n)) }

// assignment is any assignment of what is not frozen, or nil.
func (m *mutant) assignment() *placement.Assignment {
	for range 20 {
		if a := &m.p.Assignments[m.any(len(m.p.Assignments))]; !m.isFrozen(*a) {
			return a
		}
	}
	return nil
}

func (m *mutant) isFrozen(a placement.Assignment) bool {
	return slices.Contains(m.p.Goals.Frozen, m.old(a))
}

// old is the pair in which an assignment's data is now.
func (m *mutant) old(a placement.Assignment) farm.PairName {
	for _, p := range m.farm.Pairs {
		if a.Shard == "" && p.Name == a.Pair || slices.ContainsFunc(p.Shards, func(s farm.Shard) bool { return s.Name == a.Shard }) {
			return p.Name
		}
	}
	return ""
}

func (m *mutant) twin(a placement.Assignment) placement.Assignment {
	at := slices.IndexFunc(m.p.Assignments, func(b placement.Assignment) bool {
		return b.Pair == a.Pair && b.Shard == a.Shard && b.Side == a.Side.Twin()
	})
	return m.p.Assignments[at]
}

func (m *mutant) move() *placement.Move    { return &m.p.Moves[m.any(len(m.p.Moves))] }
func (m *mutant) host() *placement.HostUse { return &m.p.Hosts[m.any(len(m.p.Hosts))] }
func (m *mutant) byShard() bool            { return m.p.Goals.Unit == placement.UnitShard }
func (m *mutant) factor() float64          { return 1 + (0.01+m.Float64())*float64(1-2*m.IntN(2))*0.9 }
func (m *mutant) typeOf(h farm.HostName) *farm.HostType {
	host, ok := m.farm.Host(h)
	if !ok {
		for _, b := range m.p.Goals.Buy {
			host.Type = b.Type
		}
	}
	for i := range m.farm.HostTypes {
		if m.farm.HostTypes[i].Name == host.Type {
			return &m.farm.HostTypes[i]
		}
	}
	return nil
}

// inOrder walks a map in the order of its keys.
func inOrder(use map[farm.ResourceName]float64) iter.Seq2[farm.ResourceName, float64] {
	return func(yield func(farm.ResourceName, float64) bool) {
		for _, n := range farm.Resources(use).Names() {
			if !yield(n, use[n]) {
				return
			}
		}
	}
}

// moving are the hosts that hold something that is not frozen.
func (m *mutant) moving() []placement.HostUse {
	var out []placement.HostUse
	for _, h := range m.p.Hosts {
		if slices.ContainsFunc(m.p.Assignments, func(a placement.Assignment) bool { return a.Host == h.Name && !m.isFrozen(a) }) {
			out = append(out, h)
		}
	}
	return out
}

// mutations spoil a plan. Each returns the rules of which one must find it, or
// nothing where this plan cannot be spoilt so. Why the plan is spoilt for sure
// stands with those where it is not plain.
var mutations = map[string]func(m *mutant) []string{
	"an assignment is dropped": func(m *mutant) []string {
		at := m.any(len(m.p.Assignments))
		m.p.Assignments = slices.Delete(m.p.Assignments, at, at+1)
		return []string{"assignment-once"}
	},
	"an assignment is there twice": func(m *mutant) []string {
		m.p.Assignments = append(m.p.Assignments, m.p.Assignments[m.any(len(m.p.Assignments))])
		return []string{"assignment-once"}
	},
	"an assignment of another side": func(m *mutant) []string {
		a := &m.p.Assignments[m.any(len(m.p.Assignments))]
		a.Side = a.Side.Twin()
		return []string{"assignment-once"}
	},
	"an assignment under another name": func(m *mutant) []string {
		a := &m.p.Assignments[m.any(len(m.p.Assignments))]
		a.Instance += "x"
		return []string{"assignment-name"}
	},
	"an assignment of nothing": func(m *mutant) []string {
		a := m.p.Assignments[0]
		a.Pair, a.Shard = "nobody", "nothing"
		m.p.Assignments = append(m.p.Assignments, a)
		return []string{"assignment-known"}
	},
	"an unknown host": func(m *mutant) []string {
		m.p.Assignments[m.any(len(m.p.Assignments))].Host = "nowhere"
		return []string{"host-known"}
	},
	"both sides on one host": func(m *mutant) []string {
		a := &m.p.Assignments[m.any(len(m.p.Assignments))]
		if m.byShard() { // the whole instance, so that it still has one place
			from, to := a.Instance, m.twin(*a).Host
			for i := range m.p.Assignments {
				if m.p.Assignments[i].Instance == from {
					m.p.Assignments[i].Host = to
				}
			}
		} else {
			a.Host = m.twin(*a).Host
		}
		return []string{"sides-apart", "frozen"}
	},
	"both sides in one rack": func(m *mutant) []string {
		a := m.assignment()
		if a == nil {
			return nil
		}
		m.p.Goals.SpreadLabels = append(m.p.Goals.SpreadLabels, "room")
		for i := range m.farm.Hosts {
			h := &m.farm.Hosts[i]
			h.Labels["room"] = string(h.Name)
			if h.Name == m.twin(*a).Host {
				h.Labels["room"] = string(a.Host)
			}
		}
		return []string{"labels-apart"}
	},
	"a host without the label": func(m *mutant) []string {
		if a := m.assignment(); a == nil {
			return nil
		}
		m.p.Goals.SpreadLabels = []string{"room"}
		return []string{"labels-apart"}
	},
	"an instance in two places": func(m *mutant) []string {
		for i := range m.p.Assignments {
			a := &m.p.Assignments[i]
			for _, b := range m.p.Assignments[:i] {
				if a.Instance == b.Instance {
					a.Port++
					return []string{"assignment-place"}
				}
			}
		}
		return nil
	},
	"the sides of a shard in two pairs": func(m *mutant) []string {
		for i := range m.p.Assignments {
			a := &m.p.Assignments[i]
			for _, b := range m.p.Assignments {
				if m.byShard() && b.Pair != a.Pair && !m.isFrozen(*a) {
					a.Pair, a.Instance = b.Pair, farm.Pair{Name: b.Pair}.Instance(a.Side)
					return []string{"assignment-pair"}
				}
			}
		}
		return nil
	},
	"more shards in an instance than may be": func(m *mutant) []string {
		held := map[farm.InstanceName]int{}
		most := 0
		for _, a := range m.p.Assignments {
			if held[a.Instance]++; !m.isFrozen(a) {
				most = max(most, held[a.Instance])
			}
		}
		if !m.byShard() || most < 2 {
			return nil
		}
		m.p.Goals.ShardsPerInstance = most - 1
		return []string{"shards-per-instance"}
	},
	"a new pair with an old name": func(m *mutant) []string {
		a := m.assignment()
		if !m.byShard() || a == nil {
			return nil
		}
		from, to := a.Pair, m.farm.Pairs[0].Name
		for i := range m.p.Assignments {
			if b := &m.p.Assignments[i]; b.Pair == from {
				b.Pair, b.Instance = to, farm.Pair{Name: to}.Instance(b.Side)
			}
		}
		return []string{"assignment-name"}
	},

	"a move is dropped": func(m *mutant) []string {
		at := m.any(len(m.p.Moves))
		m.p.Moves = slices.Delete(m.p.Moves, at, at+1)
		return []string{"move-matches"}
	},
	"a move is there twice": func(m *mutant) []string {
		m.p.Moves = append(m.p.Moves, m.p.Moves[m.any(len(m.p.Moves))])
		return []string{"move-once"}
	},
	"a move of nothing": func(m *mutant) []string {
		move := *m.move()
		move.Pair, move.Shard = "nobody", "nothing"
		m.p.Moves = append(m.p.Moves, move)
		return []string{"move-known"}
	},
	"a move to another host than assigned": func(m *mutant) []string {
		move := m.move()
		for _, h := range m.farm.Hosts {
			if h.Name != move.To.Host && h.Name != move.From.Host {
				move.To.Host, move.Target, move.To.Address = h.Name, h.Name, h.Address
				return []string{"move-matches"}
			}
		}
		return nil
	},
	"a move to another port than assigned": func(m *mutant) []string {
		m.move().To.Port++
		return []string{"move-matches"}
	},
	"a move from elsewhere": func(m *mutant) []string {
		move := m.move()
		switch m.IntN(4) {
		case 0:
			move.From.Port++
		case 1:
			move.From.Datadir += "x"
		case 2:
			move.From.Address += "1"
		default:
			move.From.Config += "x"
		}
		return []string{"move-from"}
	},
	"a move to another address": func(m *mutant) []string {
		m.move().To.Address += "1"
		return []string{"move-to"}
	},
	"a move without a datadir": func(m *mutant) []string {
		if m.byShard() {
			return nil
		}
		m.move().To.Datadir = ""
		return []string{"move-to"}
	},
	"a move under another name": func(m *mutant) []string {
		move := m.move()
		switch m.IntN(3) {
		case 0:
			move.Name += "x"
		case 1:
			move.Source += "x"
		default:
			move.Target += "x"
		}
		return []string{"move-names"}
	},
	"the bytes of a move": func(m *mutant) []string {
		move := m.move()
		move.Bytes += 3 + move.Bytes/100
		return []string{"move-bytes"}
	},
	"more is copied than may be": func(m *mutant) []string {
		if m.p.Bytes() < 1000 {
			return nil
		}
		m.p.Goals.MovedMost = float64(m.p.Bytes()) * 0.8
		return []string{"moved-most"}
	},

	"a server_id given twice": func(m *mutant) []string {
		a, b := m.move(), m.move()
		if m.byShard() || a == b {
			return nil
		}
		a.ServerID = b.ServerID
		return []string{"server-id-unique"}
	},
	"a server_id of the past": func(m *mutant) []string {
		if m.byShard() {
			return nil
		}
		m.move().ServerID = m.farm.NextServerID - 1
		return []string{"server-id-new"}
	},
	"a server_id that will be given again": func(m *mutant) []string {
		m.p.NextServerID--
		return []string{"server-id-next"}
	},
	"server ids that go down": func(m *mutant) []string {
		m.p.NextServerID = m.farm.NextServerID - 1
		return []string{"server-id-next"}
	},
	"a port that is taken": func(m *mutant) []string {
		a, b := m.move(), m.move()
		if a.To.Host != b.To.Host || a.Instance == b.Instance {
			return nil
		}
		a.To.Port = b.To.Port
		for i := range m.p.Assignments {
			if m.p.Assignments[i].Instance == a.Instance {
				m.p.Assignments[i].Port = b.To.Port
			}
		}
		for i := range m.p.Moves {
			if m.p.Moves[i].Instance == a.Instance {
				m.p.Moves[i].To.Port = b.To.Port
			}
		}
		return []string{"port-unique"}
	},
	"a port of an instance that is there": func(m *mutant) []string {
		move := m.move()
		for _, p := range m.farm.Pairs {
			for _, s := range p.Sides {
				if s.Host == move.To.Host {
					for i := range m.p.Moves {
						if m.p.Moves[i].Instance == move.Instance {
							m.p.Moves[i].To.Port = s.Port
						}
					}
					return []string{"port-unique"}
				}
			}
		}
		return nil
	},
	"a datadir that is taken": func(m *mutant) []string {
		a, b := m.move(), m.move()
		if m.byShard() || a == b || a.To.Host != b.To.Host {
			return nil
		}
		a.To.Datadir = b.To.Datadir
		return []string{"datadir-unique"}
	},

	"a wave left out": func(m *mutant) []string {
		for i := m.any(len(m.p.Moves)); i < len(m.p.Moves); i++ {
			m.p.Moves[i].Wave += 2
		}
		return []string{"wave-order"}
	},
	"a move in an earlier wave": func(m *mutant) []string {
		move := m.move()
		if move.Wave == 1 || move == &m.p.Moves[0] {
			return nil
		}
		move.Wave = 0
		return []string{"wave-order"}
	},
	"a stage left out": func(m *mutant) []string {
		for i := m.any(len(m.p.Moves)); i < len(m.p.Moves); i++ {
			m.p.Moves[i].Stage += 2
		}
		return []string{"stage-order"}
	},
	"a stage before the first": func(m *mutant) []string {
		m.p.Moves[m.any(len(m.p.Moves))].Stage = 0
		return []string{"stage-order"}
	},
	"all in one wave": func(m *mutant) []string {
		both := map[string]int{}
		for i := range m.p.Moves {
			m.p.Moves[i].Wave = 1
			both[fmt.Sprint(m.p.Moves[i].Shard, m.old(placement.Assignment{Pair: m.p.Moves[i].Pair, Shard: m.p.Moves[i].Shard}))]++
		}
		for _, n := range both {
			if n == 2 {
				return []string{"wave-pair"}
			}
		}
		return nil
	},
	"more at once than may be": func(m *mutant) []string {
		size, most := map[int]int{}, 0
		for _, move := range m.p.Moves {
			size[move.Wave]++
			most = max(most, size[move.Wave])
		}
		if most < 2 {
			return nil
		}
		m.p.Goals.Parallel = most - 1
		return []string{"wave-size"}
	},
	"stages taken for one": func(m *mutant) []string {
		for i := range m.p.Moves {
			m.p.Moves[i].Stage = 1
		}
		if !m.overloadsInOneStage() { // the stages were not needed for room
			return nil
		}
		return []string{"way-load", "way-max-instances"}
	},
	"a side to its twin before that has gone": func(m *mutant) []string {
		for i := range m.p.Moves {
			for k := range i {
				// k made room for its twin i: in the other order both are on one host.
				if a, b := m.p.Moves[k], m.p.Moves[i]; a.Pair == b.Pair && a.Shard == b.Shard && a.From.Host == b.To.Host {
					m.p.Moves[i], m.p.Moves[k] = a, b
					m.p.Moves[i].Wave, m.p.Moves[k].Wave = b.Wave, a.Wave
					m.p.Moves[i].Stage, m.p.Moves[k].Stage = b.Stage, a.Stage
					return []string{"way-sides-apart"}
				}
			}
		}
		return nil
	},

	"the time of the whole": func(m *mutant) []string {
		m.p.MoveSeconds *= m.factor()
		return []string{"time"}
	},
	"a bound above the time": func(m *mutant) []string {
		m.p.MoveBound = m.p.MoveSeconds*1.01 + 1
		return []string{"time"}
	},
	"a move before the first": func(m *mutant) []string {
		m.move().Begin = -1
		return []string{"time"}
	},
	"a critical path that is none": func(m *mutant) []string {
		c := &m.p.Critical[m.any(len(m.p.Critical))]
		switch m.IntN(3) {
		case 0:
			c.Begin++
		case 1:
			c.Seconds++
		default:
			c.What += "x"
		}
		return []string{"time"}
	},
	"a critical path with a hole": func(m *mutant) []string {
		at := m.any(len(m.p.Critical))
		m.p.Critical = slices.Delete(m.p.Critical, at, at+1)
		return []string{"time"}
	},
	"both sides at the same time": func(m *mutant) []string {
		for i := range m.p.Moves {
			for k := range i {
				if a, b := m.p.Moves[k], &m.p.Moves[i]; a.Pair == b.Pair && a.Shard == b.Shard {
					b.Begin = a.Begin
					return []string{"time"}
				}
			}
		}
		return nil
	},
	"more at the same time than may be": func(m *mutant) []string {
		if len(m.p.Moves) <= m.p.Goals.Parallel {
			return nil
		}
		for i := range m.p.Moves {
			m.p.Moves[i].Begin = 0
		}
		return []string{"time"}
	},
	"a stream faster than it is": func(m *mutant) []string {
		move := m.move()
		if move.Bytes == 0 {
			return nil
		}
		m.p.Goals.Rates.Stream = float64(move.Bytes) / move.Seconds / 2
		return []string{"time"}
	},
	"a host that carries more than it can": func(m *mutant) []string {
		move := m.move()
		if move.Bytes == 0 {
			return nil
		}
		m.p.Goals.Rates.Host = float64(move.Bytes) / move.Seconds / 2
		return []string{"time"}
	},

	"hosts_used":     func(m *mutant) []string { m.p.HostsUsed += 1 - 2*m.IntN(2); return []string{"figures"} },
	"hosts_before":   func(m *mutant) []string { m.p.HostsBefore++; return []string{"figures"} },
	"gap":            func(m *mutant) []string { m.p.Gap += 0.01; return []string{"figures"} },
	"cost":           func(m *mutant) []string { m.p.Cost += 100; return []string{"figures"} },
	"watts":          func(m *mutant) []string { m.p.Watts = m.p.Watts*0.99 - 1; return []string{"figures"} },
	"cost_before":    func(m *mutant) []string { m.p.CostBefore++; return []string{"figures"} },
	"watts_before":   func(m *mutant) []string { m.p.WattsBefore++; return []string{"figures"} },
	"format_version": func(m *mutant) []string { m.p.FormatVersion++; return []string{"figures"} },
	"a cost bound above the cost": func(m *mutant) []string {
		m.p.CostBound = m.p.Cost*1.01 + 1
		return []string{"figures"}
	},
	"a bound above the hosts": func(m *mutant) []string {
		m.p.LowerBound = m.p.HostsUsed + 1
		return []string{"figures"}
	},
	"a host left out of the list": func(m *mutant) []string {
		at := m.any(len(m.p.Hosts))
		m.p.Hosts = slices.Delete(m.p.Hosts, at, at+1)
		return []string{"figures"}
	},
	"a host listed twice": func(m *mutant) []string {
		m.p.Hosts = append(m.p.Hosts, *m.host())
		return []string{"figures"}
	},
	"a host that is not used": func(m *mutant) []string {
		for _, h := range m.farm.Hosts {
			if !slices.ContainsFunc(m.p.Hosts, func(u placement.HostUse) bool { return u.Name == h.Name }) {
				m.p.Hosts = append(m.p.Hosts, placement.HostUse{Name: h.Name, Type: h.Type})
				return []string{"figures"}
			}
		}
		return nil
	},
	"the type of a host":    func(m *mutant) []string { m.host().Type += "x"; return []string{"figures"} },
	"a host called new":     func(m *mutant) []string { h := m.host(); h.New = !h.New; return []string{"figures"} },
	"the shards of a host":  func(m *mutant) []string { m.host().Shards++; return []string{"figures"} },
	"an instance of a host": func(m *mutant) []string { m.host().Instances[0] += "x"; return []string{"figures"} },
	"an instance twice on a host": func(m *mutant) []string {
		h := m.host()
		h.Instances = append(h.Instances, h.Instances[0])
		return []string{"figures"}
	},
	"the use of a host": func(m *mutant) []string {
		h := m.host()
		for _, n := range farm.Resources(h.Use).Names() {
			h.Use[n] += 0.001 * float64(1+m.IntN(100))
			return []string{"figures"}
		}
		return nil
	},
	"the use of a host left out": func(m *mutant) []string {
		h := m.host()
		for _, n := range farm.Resources(h.Use).Names() {
			delete(h.Use, n)
			return []string{"figures"}
		}
		return nil
	},
	"the use of what it does not limit": func(m *mutant) []string {
		m.host().Use["patience"] = 0.5
		return []string{"figures"}
	},
	"what binds": func(m *mutant) []string {
		h := m.host()
		most := 0.0
		for n, v := range inOrder(h.Use) {
			most = max(most, v/(1-m.p.Goals.Headroom[n]))
		}
		for n, v := range inOrder(h.Use) { // not one that is as near its limit
			if v/(1-m.p.Goals.Headroom[n]) < 0.99*most {
				h.Binding = string(n)
				return []string{"figures"}
			}
		}
		return nil
	},
	"the basis": func(m *mutant) []string {
		b := &m.p.Basis
		switch pair, host := &b.Pairs[m.any(len(b.Pairs))], &b.Hosts[m.any(len(b.Hosts))]; m.IntN(8) {
		case 0:
			b.NextServerID++
		case 1:
			host.Address += "1"
		case 2:
			host.Dir += "x"
		case 3:
			host.Reserved = farm.Resources{farm.Disk: 12345}
		case 4:
			side := pair.Sides[farm.A]
			side.Port++
			pair.Sides[farm.A] = side
		case 5:
			pair.Shards = append(pair.Shards, "more")
		case 6:
			b.HostTypes[0].MaxInstances++
		default:
			b.Pairs = b.Pairs[:len(b.Pairs)-1]
		}
		return []string{"basis"}
	},

	"something frozen moves": func(m *mutant) []string {
		move := m.move()
		m.p.Goals.Frozen = append(m.p.Goals.Frozen, m.old(placement.Assignment{Pair: move.Pair, Shard: move.Shard}))
		return []string{"frozen"}
	},
	"a pin is broken": func(m *mutant) []string {
		a := m.assignment()
		if a == nil {
			return nil
		}
		for _, h := range m.farm.Hosts {
			if h.Name != a.Host {
				m.p.Goals.Pins = append(m.p.Goals.Pins, placement.Binding{What: []string{string(m.old(*a))}, Hosts: []farm.HostName{h.Name}})
				return []string{"pinned"}
			}
		}
		return nil
	},
	"something is where it is forbidden": func(m *mutant) []string {
		a := m.assignment()
		if a == nil {
			return nil
		}
		instance := farm.Pair{Name: m.old(*a)}.Instance(a.Side)
		m.p.Goals.Forbids = append(m.p.Goals.Forbids, placement.Binding{What: []string{string(instance)}, Hosts: []farm.HostName{a.Host}})
		return []string{"forbidden"}
	},
	"what is together is not": func(m *mutant) []string {
		a, b := m.assignment(), m.assignment()
		if a == nil || b == nil || a.Side != b.Side || a.Host == b.Host || m.old(*a) == m.old(*b) {
			return nil
		}
		m.p.Goals.Together = append(m.p.Goals.Together, placement.Group{Name: "g", Pairs: []farm.PairName{m.old(*a), m.old(*b)}})
		return []string{"together"}
	},
	"what is apart is not": func(m *mutant) []string {
		a := m.assignment()
		for _, b := range m.p.Assignments {
			if a != nil && a.Host == b.Host && m.old(*a) != m.old(b) {
				m.p.Goals.Apart = append(m.p.Goals.Apart, placement.Group{Name: "g", Pairs: []farm.PairName{m.old(*a), m.old(b)}})
				return []string{"apart"}
			}
		}
		return nil
	},
	"too much behind one host": func(m *mutant) []string {
		all, most := 0, 0
		for _, p := range m.farm.Pairs {
			all += len(p.Shards)
		}
		for _, h := range m.moving() {
			most = max(most, h.Shards)
		}
		if most < 2 {
			return nil
		}
		m.p.Goals.Surface.Shards = (float64(most) - 0.5) / float64(all)
		return []string{"surface"}
	},
	"too much of a customer behind one host": func(m *mutant) []string {
		for i := range m.farm.Pairs {
			for k := range m.farm.Pairs[i].Shards {
				m.farm.Pairs[i].Shards[k].Customer = "all"
			}
		}
		rules := mutations2["too much behind one host"](m)
		if rules != nil {
			m.p.Goals.Surface.Customer, m.p.Goals.Surface.Shards = m.p.Goals.Surface.Shards, 0
		}
		return rules
	},
	"more headroom than there is": func(m *mutant) []string {
		for _, h := range m.moving() {
			for n, v := range inOrder(h.Use) { // what is used must then fit in less than that
				if host, _ := m.farm.Host(h.Name); v > 0.01 && v < 1 && host.Reserved == nil {
					m.p.Goals.Headroom = map[farm.ResourceName]float64{n: 1 - v*0.99}
					return []string{"host-load"}
				}
			}
		}
		return nil
	},
	"a smaller host": func(m *mutant) []string {
		for _, h := range m.moving() {
			for n, v := range inOrder(h.Use) {
				host, _ := m.farm.Host(h.Name)
				if t := m.typeOf(h.Name); t != nil && v > 0.01 && t.Capacity[n]*v*0.99 > host.Reserved[n] {
					t.Capacity[n] *= v * 0.99
					return []string{"host-load", "farm"} // what is reserved elsewhere may be too much for it
				}
			}
		}
		return nil
	},
	"more reserved than is left": func(m *mutant) []string {
		for _, u := range m.moving() {
			for i := range m.farm.Hosts {
				h := &m.farm.Hosts[i]
				t := m.typeOf(h.Name)
				if h.Name != u.Name || h.Reserved != nil || u.Use[farm.Disk] < 0.02 || u.Use[farm.Disk] > 1 {
					continue
				}
				h.Reserved = farm.Resources{farm.Disk: t.Capacity[farm.Disk] * (1.01 - u.Use[farm.Disk])}
				return []string{"host-load"}
			}
		}
		return nil
	},
	"more growth than there is room for": func(m *mutant) []string {
		for _, u := range m.moving() {
			if host, _ := m.farm.Host(u.Name); u.Use[farm.Disk] > 0.2 && host.Reserved == nil && len(m.p.Goals.Overhead) == 0 {
				m.p.Goals.Growth = max(1, m.p.Goals.Growth) / u.Use[farm.Disk] * 1.01
				return []string{"host-load"}
			}
		}
		return nil
	},
	"more overhead than there is room for": func(m *mutant) []string {
		u := m.moving()
		if len(u) == 0 {
			return nil
		}
		m.p.Goals.Overhead = farm.Resources{farm.Disk: m.typeOf(u[0].Name).Capacity[farm.Disk] * 1.01}
		return []string{"host-load"}
	},
	"more instances than may be": func(m *mutant) []string {
		most := 0
		for _, h := range m.moving() {
			most = max(most, len(h.Instances))
		}
		if most < 2 {
			return nil
		}
		m.p.Goals.MaxInstances = most - 1
		return []string{"max-instances"}
	},
	"a host of a type not packed onto": func(m *mutant) []string {
		a := m.assignment()
		if a == nil {
			return nil
		}
		m.p.Goals.Onto = []farm.HostTypeName{"old", "small", "big"}
		m.p.Goals.Onto = slices.DeleteFunc(m.p.Goals.Onto, func(n farm.HostTypeName) bool { return n == m.typeOf(a.Host).Name })
		return []string{"host-type"}
	},
	"a host that is to be emptied": func(m *mutant) []string {
		a := m.assignment()
		if a == nil {
			return nil
		}
		m.p.Goals.Without = append(m.p.Goals.Without, a.Host)
		return []string{"host-without"}
	},
	"a host without a dir": func(m *mutant) []string {
		move := m.move()
		for i := range m.farm.Hosts {
			if m.farm.Hosts[i].Name == move.To.Host {
				m.farm.Hosts[i].Dir = ""
				return []string{"host-dir"}
			}
		}
		return nil
	},
	"a negative size": func(m *mutant) []string {
		p := &m.farm.Pairs[m.any(len(m.farm.Pairs))]
		if len(p.Shards) == 0 {
			return nil
		}
		s := &p.Shards[m.any(len(p.Shards))]
		if s.Needs[farm.Disk] == 0 {
			return nil
		}
		s.Needs[farm.Disk] *= -1
		return []string{"farm"}
	},
	"a negative headroom": func(m *mutant) []string {
		m.p.Goals.Headroom = map[farm.ResourceName]float64{farm.Disk: -0.5}
		return []string{"goals"}
	},
	"a lower bound without a proof": func(m *mutant) []string {
		m.p.LowerBound++
		m.p.Certificates = nil
		return []string{"certificate", "figures"}
	},
	"a lower bound above its proof": func(m *mutant) []string {
		// The bound of hosts is what was proved, and never more.
		m.p.LowerBound++
		m.p.HostsUsed += 5
		return []string{"certificate"}
	},
	"a bound of cost above its proof": func(m *mutant) []string {
		if len(m.p.Certificates) == 0 {
			return nil
		}
		m.p.CostBound++
		return []string{"certificate"}
	},
	"a bound of watts above its proof": func(m *mutant) []string {
		if len(m.p.Certificates) == 0 {
			return nil
		}
		m.p.WattsBound++
		return []string{"certificate"}
	},
}

// mutations2 is mutations for those that build on another.
var mutations2 map[string]func(m *mutant) []string

// overloadsInOneStage replays all moves with nothing leaving before the end,
// by numbers of its own.
func (m *mutant) overloadsInOneStage() bool {
	if m.byShard() {
		return false
	}
	b := newBrute(task{m.farm, m.p.Goals})
	index := map[farm.PairName]int{}
	for k, th := range b.things {
		index[b.farm.Pairs[th.pair].Name] = k
	}
	type copyAt struct{ k, side int }
	extra := map[int][]copyAt{} // arrived, by host
	for _, move := range m.p.Moves {
		k, to := index[move.Pair], b.index[move.To.Host]
		load, instances := slices.Clone(b.today(k)), 1
		for o := range b.things {
			for _, h := range b.now(o) {
				if h == to {
					instances++
					for i, v := range b.today(o) {
						load[i] += v
					}
				}
			}
		}
		for _, c := range extra[to] {
			instances++
			for i, v := range b.today(c.k) {
				load[i] += v
			}
		}
		extra[to] = append(extra[to], copyAt{k, 0})
		t := b.types[b.hosts[to].Type]
		for _, most := range []int{b.goals.MaxInstances, t.MaxInstances} {
			if most > 0 && instances > most {
				return true
			}
		}
		for r, n := range b.names {
			c, limited := t.Capacity[n]
			for hour := range 24 {
				if limited && b.today(k)[24*r+hour] > 0 && load[24*r+hour] > (c-b.hosts[to].Reserved[n])*(1+1e-5) {
					return true
				}
			}
		}
	}
	return false
}

func TestSpoiltPlansAreCaught(t *testing.T) {
	mutations2 = mutations
	const each = 2
	all, never := 0, []string{}
	for name, spoil := range mutations {
		spoilt := 0
		for n, x := range goodPlans() {
			for k := range each {
				m := &mutant{Rand: rand.New(rand.NewPCG(uint64(n), uint64(k))), farm: x.farm.Clone(), p: copied(t, x.p)}
				wants := spoil(m)
				if wants == nil {
					continue
				}
				spoilt++
				found := check.Plan(m.farm, m.p)
				if !slices.ContainsFunc(found, func(f farm.Finding) bool { return slices.Contains(wants, f.Check) }) {
					t.Errorf("%s: plan %d, mutant %d: not caught; findings: %v", name, n, k, found)
				}
			}
		}
		if all += spoilt; spoilt == 0 {
			never = append(never, name)
		}
	}
	t.Logf("%d spoilt plans", all)
	if len(never) > 0 {
		t.Errorf("no plan could be spoilt in these ways, so that nothing was tested: %q", never)
	}
}

// copied is a deep copy.
func copied(t *testing.T, p placement.Plan) placement.Plan {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var out placement.Plan
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
