package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// drawFarm is a farm of old hosts with one instance each and new hosts, some of
// which may already hold something.
func drawFarm(t *rapid.T) *farm.Farm {
	f := &farm.Farm{Name: "drawn", NextServerID: rapid.Uint32Range(1, 5000).Draw(t, "next_server_id")}
	f.HostTypes = []farm.HostType{
		{Name: "old", Capacity: farm.Resources{farm.Disk: 2e12, farm.CPU: 16}, Watts: 200, Price: 4000},
		{Name: "new", Capacity: farm.Resources{farm.Disk: 14e12, farm.CPU: 32, "licences": 40}, MaxInstances: rapid.IntRange(2, 6).Draw(t, "max"), Watts: 267, Price: 16000},
	}
	pairs := rapid.IntRange(1, 12).Draw(t, "pairs")
	spare := rapid.IntRange(2, 12).Draw(t, "new hosts")
	for i := range 2 * pairs {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("old%02d", i)), Type: "old", Address: fmt.Sprintf("10.0.0.%d", i+1), Dir: "/srv/old", Labels: map[string]string{"rack": rack(i)}})
	}
	for i := range spare {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("new%02d", i)), Type: "new", Address: fmt.Sprintf("10.0.1.%d", i+1), Dir: "/srv/new", Labels: map[string]string{"rack": rack(i)}})
	}
	settled := 0 // sides already on new hosts: at most one a host
	for i := range pairs {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("pair%02d", i)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		for j := range rapid.IntRange(1, 3).Draw(t, "shards") {
			p.Shards = append(p.Shards, farm.Shard{Name: farm.ShardName(fmt.Sprintf("s%d_%d", i, j)), Needs: farm.Resources{
				farm.Disk:  float64(rapid.Int64Range(0, 600e9).Draw(t, "disk")),
				farm.CPU:   rapid.Float64Range(0, 4).Draw(t, "cpu"),
				"licences": float64(rapid.IntRange(0, 3).Draw(t, "licences")),
			}})
		}
		for k, side := range farm.SideNames {
			h := f.Hosts[2*i+k]
			if settled < spare && rapid.IntRange(0, 3).Draw(t, "settled") == 0 {
				h = f.Hosts[2*pairs+settled]
				settled++
			}
			p.Sides[side] = farm.Side{Host: h.Name, Port: 3306, Datadir: "/var/lib/mysql"}
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f
}

func rack(i int) string { return fmt.Sprintf("r%d", i%3) }

func drawGoals(t *rapid.T) placement.Goals {
	g := placement.Defaults()
	g.Onto = rapid.SampledFrom([][]farm.HostTypeName{{"new"}, {"new", "old"}, nil}).Draw(t, "onto")
	g.Headroom = map[farm.ResourceName]float64{farm.Disk: rapid.Float64Range(0, 0.5).Draw(t, "headroom")}
	g.Parallel = rapid.IntRange(1, 5).Draw(t, "parallel")
	if rapid.Bool().Draw(t, "spread") {
		g.SpreadLabels = []string{"rack"}
	}
	return g
}

// drawPlan draws a farm that can be planned, with its plan.
func drawPlan(t *rapid.T) (*farm.Farm, placement.Plan) {
	f, g := drawFarm(t), drawGoals(t)
	p, err := placement.Solve(f, g)
	if err != nil {
		t.Skip("no plan: ", err)
	}
	return f, p
}

func TestEveryPlanPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, p := drawPlan(t)
		for _, finding := range check.Plan(f, p) {
			t.Error(finding)
		}
		after := p.Apply(f)
		if ps := after.Check(); len(ps) > 0 {
			t.Errorf("the farm after the plan: %v", ps)
		}
		if ds := placement.Drift(p, f, nil); len(ds) > 0 {
			t.Errorf("drift against its own farm: %v", ds)
		}
		all := func(farm.PairName, farm.SideName) bool { return true }
		if ds := placement.Drift(p, after, all); len(ds) > 0 {
			t.Errorf("drift after the moves: %v", ds)
		}
	})
}

func TestSecondPlanHasNoMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, p := drawPlan(t)
		again, err := placement.Solve(p.Apply(f), p.Goals)
		if err != nil {
			t.Fatalf("planning the planned farm: %v", err)
		}
		if len(again.Moves) > 0 {
			t.Errorf("%d hosts, then %d hosts with moves %v", p.HostsUsed, again.HostsUsed, again.Moves)
		}
	})
}

func TestSameFarmSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, p := drawPlan(t)
		again, err := placement.Solve(f.Clone(), p.Goals)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", p) != fmt.Sprintf("%+v", again) {
			t.Errorf("two plans for one farm:\n%+v\n%+v", p, again)
		}
	})
}

// The best possible number of hosts, by trying everything, is never below the
// bound; and when everything fails, Solve fails too.
func TestBoundAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, g := drawSmall(t), placement.Defaults()
		g.Onto = []farm.HostTypeName{"new"}
		g.Headroom = nil
		best := bruteForce(f)
		p, err := placement.Solve(f, g)
		if err != nil {
			if best > 0 && strings.Contains(err.Error(), "not enough") {
				t.Fatalf("%d hosts are enough, and Solve says: %v", best, err)
			}
			return
		}
		if best == 0 || p.HostsUsed < best {
			t.Fatalf("Solve uses %d hosts and the best possible is %d", p.HostsUsed, best)
		}
		if p.LowerBound > best {
			t.Fatalf("bound %d (%s), and %d hosts are enough", p.LowerBound, p.BoundMethod, best)
		}
	})
}

func drawSmall(t *rapid.T) *farm.Farm {
	f := &farm.Farm{Name: "small", NextServerID: 100, HostTypes: []farm.HostType{
		{Name: "old", Capacity: farm.Resources{}},
		{Name: "new", Capacity: farm.Resources{farm.Disk: 10, farm.CPU: 10}, MaxInstances: rapid.IntRange(0, 4).Draw(t, "max")},
	}}
	for i := range 5 {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("new%d", i)), Type: "new", Address: fmt.Sprintf("10.0.1.%d", i+1), Dir: "/srv"})
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "pairs") {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("p%d", i)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		p.Shards = []farm.Shard{{Name: farm.ShardName(fmt.Sprintf("s%d", i)), Needs: farm.Resources{
			farm.Disk: float64(rapid.IntRange(0, 8).Draw(t, "disk")), farm.CPU: float64(rapid.IntRange(0, 8).Draw(t, "cpu")),
		}}}
		for k, side := range farm.SideNames {
			h := farm.Host{Name: farm.HostName(fmt.Sprintf("old%d", 2*i+k)), Type: "old", Address: fmt.Sprintf("10.0.0.%d", 2*i+k+1)}
			f.Hosts = append(f.Hosts, h)
			p.Sides[side] = farm.Side{Host: h.Name, Port: 3306, Datadir: "/d"}
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f
}

// bruteForce is the fewest new hosts that hold everything, 0 when none do.
// Hosts are alike, so a host beyond the first empty one is never tried.
func bruteForce(f *farm.Farm) int {
	limit, _ := f.HostType("new")
	type state struct {
		disk, cpu float64
		n         int
	}
	var hosts [5]state
	best := 0
	var place func(item, used, twin int)
	place = func(item, used, twin int) {
		if item == 2*len(f.Pairs) {
			if best == 0 || used < best {
				best = used
			}
			return
		}
		needs := f.Pairs[item/2].Needs()
		for h := 0; h < min(used+1, 5); h++ {
			s := hosts[h]
			if item%2 == 1 && h == twin || s.disk+needs[farm.Disk] > 10 || s.cpu+needs[farm.CPU] > 10 || limit.MaxInstances > 0 && s.n == limit.MaxInstances {
				continue
			}
			hosts[h] = state{s.disk + needs[farm.Disk], s.cpu + needs[farm.CPU], s.n + 1}
			place(item+1, max(used, h+1), h)
			hosts[h] = s
		}
	}
	place(0, 0, -1)
	return best
}

// mutations are ways to spoil a plan. Each returns false when this plan cannot
// be spoilt that way.
var mutations = []struct {
	name  string
	spoil func(f *farm.Farm, p *placement.Plan) bool
	wants []string // one of these checks must fire
}{
	{"both sides on one host", func(_ *farm.Farm, p *placement.Plan) bool {
		p.Assignments[1].Host = p.Assignments[0].Host
		return true
	}, []string{"sides-apart"}},
	{"a move to the twin's host", func(_ *farm.Farm, p *placement.Plan) bool {
		for i := range p.Moves {
			m := &p.Moves[i]
			for _, a := range p.Assignments {
				if a.Pair == m.Pair && a.Side != m.Side {
					m.To.Host = a.Host
					return true
				}
			}
		}
		return false
	}, []string{"move-matches"}},
	{"an overloaded host", func(f *farm.Farm, p *placement.Plan) bool {
		host, _ := f.Host(p.Assignments[0].Host)
		t, _ := f.HostType(host.Type)
		pair, _ := f.Pair(p.Assignments[0].Pair)
		pair.Shards = slices.Clone(pair.Shards)
		pair.Shards[0].Needs = farm.Resources{farm.Disk: t.Capacity[farm.Disk] * 1.01}
		return true
	}, []string{"host-load"}},
	{"a dropped assignment", func(_ *farm.Farm, p *placement.Plan) bool {
		p.Assignments = p.Assignments[1:]
		return true
	}, []string{"assignment-once"}},
	{"an assignment twice", func(_ *farm.Farm, p *placement.Plan) bool {
		p.Assignments = append(p.Assignments, p.Assignments[0])
		return true
	}, []string{"assignment-once"}},
	{"a dropped move", func(_ *farm.Farm, p *placement.Plan) bool {
		if len(p.Moves) == 0 {
			return false
		}
		p.Moves = p.Moves[:len(p.Moves)-1]
		return true
	}, []string{"move-matches"}},
	{"a server_id given twice", func(_ *farm.Farm, p *placement.Plan) bool {
		if len(p.Moves) < 2 {
			return false
		}
		p.Moves[1].ServerID = p.Moves[0].ServerID
		return true
	}, []string{"server-id-unique"}},
	{"a server_id of the past", func(f *farm.Farm, p *placement.Plan) bool {
		if len(p.Moves) == 0 {
			return false
		}
		p.Moves[0].ServerID = f.NextServerID - 1
		return true
	}, []string{"server-id-new"}},
	{"a port in use", func(_ *farm.Farm, p *placement.Plan) bool {
		for i := range p.Moves {
			for k := range i {
				if p.Moves[i].To.Host == p.Moves[k].To.Host {
					p.Moves[i].To.Port = p.Moves[k].To.Port
					return true
				}
			}
		}
		return false
	}, []string{"port-unique"}},
	{"both sides in one wave", func(_ *farm.Farm, p *placement.Plan) bool {
		for i := range p.Moves {
			for k := range i {
				if p.Moves[i].Pair == p.Moves[k].Pair {
					for n := range p.Moves {
						p.Moves[n].Wave = 1
					}
					return true
				}
			}
		}
		return false
	}, []string{"wave-pair"}},
	{"a bound above the truth", func(_ *farm.Farm, p *placement.Plan) bool {
		p.LowerBound = p.HostsUsed + 1
		return true
	}, []string{"figures"}},
	{"a host left out of the list", func(_ *farm.Farm, p *placement.Plan) bool {
		p.Hosts = p.Hosts[1:]
		return true
	}, []string{"figures"}},
	{"racks forgotten", func(f *farm.Farm, p *placement.Plan) bool {
		if len(p.Goals.SpreadLabels) == 0 {
			return false
		}
		for i := range f.Hosts {
			f.Hosts[i].Labels = map[string]string{"rack": "r1"}
		}
		return true
	}, []string{"labels-apart"}},
}

func TestSpoiltPlansAreCaught(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			spoilt := 0
			rapid.Check(t, func(t *rapid.T) {
				f, p := drawPlan(t)
				if !m.spoil(f, &p) {
					return
				}
				spoilt++
				for _, finding := range check.Plan(f, p) {
					if slices.Contains(m.wants, finding.Check) {
						return
					}
				}
				t.Fatalf("not caught; findings: %v", check.Plan(f, p))
			})
			if spoilt == 0 {
				t.Error("no plan could be spoilt this way: the test tests nothing")
			}
		})
	}
}
