package check_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"stowage/farm"
	"stowage/internal/turns"
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
func mutations() map[string]func(m *mutant) []string {
	all := map[string]func(m *mutant) []string{}
	for _, some := range []map[string]func(m *mutant) []string{spoiltAssignments, spoiltMoves, spoiltFigures, spoiltRules} {
		maps.Copy(all, some)
	}
	return all
}

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
	turns.One(t, 6)
	each := 2
	if testing.Short() {
		each = 1
	}
	all, never := 0, []string{}
	for name, spoil := range mutations() {
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
