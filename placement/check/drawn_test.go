package check_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"stowage/farm"
	"stowage/placement"
)

// task is a farm with goals: what a planner is asked.
type task struct {
	farm  *farm.Farm
	goals placement.Goals
}

// drawing makes tasks that use everything that farm.yaml and goals.yaml can
// say, small enough for a search through all plans.
type drawing struct {
	*rapid.T
	f      *farm.Farm
	g      placement.Goals
	unit   float64 // the base units of one part; a host has about twelve parts of everything
	byPort map[farm.HostName]int
	calm   bool // few rules, so that most of it can be done
}

// tasks of at most so many pairs and hosts to pack onto.
func tasks(pairs, hosts int) *rapid.Generator[task] {
	return rapid.Custom(func(t *rapid.T) task {
		d := &drawing{T: t, f: &farm.Farm{Name: "drawn"}, byPort: map[farm.HostName]int{}}
		d.f.NextServerID = rapid.Uint32Range(1, 5000).Draw(t, "next_server_id")
		d.unit = rapid.SampledFrom([]float64{1e9, 1, 1e13 / 3, 0.1}).Draw(t, "unit")
		d.g = placement.Defaults()
		d.calm = d.one(2, "calm")
		if d.one(3, "by shard") {
			d.g.Unit = placement.UnitShard
		}
		d.types()
		d.profiles()
		d.hosts(hosts)
		d.pairs(pairs, hosts)
		d.needs()
		d.rules()
		return task{d.f, d.g}
	})
}

// one in n.
func (d *drawing) one(n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(d.T, label) == n-1
}

func (d *drawing) upTo(n int, label string) int { return rapid.IntRange(0, n).Draw(d.T, label) }

func (d *drawing) types() {
	d.f.HostTypes = []farm.HostType{{Name: "old", Capacity: farm.Resources{farm.Disk: 100 * d.unit}, Watts: 200, Price: 4000}}
	for i, name := range []farm.HostTypeName{"small", "big"}[:1+d.upTo(1, "types")] {
		parts := float64(12 + 6*i)
		t := farm.HostType{Name: name, Capacity: farm.Resources{farm.Disk: parts * d.unit}, Watts: float64(100 * (i + 1)), Price: float64(rapid.IntRange(0, 4).Draw(d.T, "price") * 1000)}
		if !d.one(3, "memory unlimited") {
			t.Capacity[farm.Memory] = parts * d.unit
		}
		if d.one(2, "cpu limited") {
			t.Capacity[farm.CPU] = parts
		}
		if d.one(3, "licences limited") {
			t.Capacity["licences"] = float64(rapid.SampledFrom([]int{0, 4, 8}).Draw(d.T, "licences"))
		}
		t.MaxInstances = rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(d.T, "max_instances of a type")
		d.f.HostTypes = append(d.f.HostTypes, t)
	}
}

func (d *drawing) profiles() {
	if !d.one(3, "profiles") {
		return
	}
	office, night := farm.Profile{Name: "office"}, farm.Profile{Name: "night"}
	for h := range 24 {
		office.Hours[h], night.Hours[h] = 0.25, 1
		if h >= 8 && h < 18 {
			office.Hours[h], night.Hours[h] = 1, 0.5
		}
	}
	d.f.Profiles = []farm.Profile{office, night}
}

func (d *drawing) hosts(most int) {
	n := rapid.IntRange(max(1, most-7), most).Draw(d.T, "hosts")
	last := len(d.f.HostTypes) - 1
	for i := range n {
		t := d.f.HostTypes[1+min(last-1, d.upTo(1, "type"))]
		h := farm.Host{Name: farm.HostName(fmt.Sprintf("new%d", i)), Type: t.Name, Address: fmt.Sprintf("10.0.1.%d", i+1), Dir: "/srv/new"}
		h.Labels = map[string]string{"rack": fmt.Sprintf("r%d", d.upTo(2, "rack")), "power": fmt.Sprintf("p%d", d.upTo(1, "power"))}
		if d.one(8, "no dir") {
			h.Dir = ""
		}
		if d.one(5, "reserved") {
			h.Reserved = farm.Resources{farm.Disk: d.unit * float64(rapid.IntRange(1, 12).Draw(d.T, "reserved disk"))}
		}
		d.f.Hosts = append(d.f.Hosts, h)
	}
}

// pairs are on old hosts of their own, or already on hosts to pack onto.
func (d *drawing) pairs(most, hosts int) {
	targets := len(d.f.Hosts)
	running := d.one(2, "running farm")
	for i := range d.upTo(most, "pairs") {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("p%d", i)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		for k, side := range farm.SideNames {
			host := farm.HostName(fmt.Sprintf("old%d", 2*i+k))
			settled := -1
			if running && !d.one(4, "still on an old host") {
				settled = d.upTo(targets-1, "host")
				if d.f.Hosts[settled].Name == p.Sides[farm.A].Host {
					settled = -1
				}
			}
			if settled >= 0 {
				host = d.f.Hosts[settled].Name
			} else {
				d.f.Hosts = append(d.f.Hosts, farm.Host{Name: host, Type: "old", Address: fmt.Sprintf("10.0.0.%d", 2*i+k+1), Dir: "/srv/old",
					Labels: map[string]string{"rack": fmt.Sprintf("r%d", k), "power": fmt.Sprintf("p%d", k)}})
			}
			d.byPort[host]++
			port := 3305 + d.byPort[host]
			p.Sides[side] = farm.Side{Host: host, Port: port, Datadir: fmt.Sprintf("/var/lib/%d", port), Config: fmt.Sprintf("/etc/%d.cnf", port)}
		}
		d.f.Pairs = append(d.f.Pairs, p)
	}
}

// needs are parts of a host: thirds, quarters and sixths must fit exactly.
func (d *drawing) needs() {
	share := func(label string) float64 {
		return float64(rapid.SampledFrom([]int{0, 1, 2, 2, 3, 3, 4, 4, 6, 8, 12}).Draw(d.T, label))
	}
	for i := range d.f.Pairs {
		p := &d.f.Pairs[i]
		counts := []int{0, 1, 1, 1, 2, 2, 3}
		if d.g.Unit == placement.UnitShard {
			counts = counts[1:] // of a pair without shards nothing is left: see TestPairsWithoutShards
		}
		for j := range rapid.SampledFrom(counts).Draw(d.T, "shards") {
			s := farm.Shard{Name: farm.ShardName(fmt.Sprintf("s%d_%d", i, j)), Needs: farm.Resources{}}
			s.Needs[farm.Disk] = d.unit * share("disk")
			if d.one(2, "needs memory") {
				s.Needs[farm.Memory] = d.unit * share("memory")
			}
			if d.one(2, "needs cpu") {
				s.Needs[farm.CPU] = share("cpu")
			}
			if d.one(4, "needs licences") {
				s.Needs["licences"] = float64(d.upTo(3, "licences"))
			}
			if d.one(4, "grows") {
				s.Growth = d.unit * float64(d.upTo(3, "growth")) / 100
			}
			if len(d.f.Profiles) > 0 {
				s.Profile = rapid.SampledFrom([]farm.ProfileName{"", "office", "night"}).Draw(d.T, "profile")
			}
			s.Customer = rapid.SampledFrom([]farm.CustomerName{"", "acme", "bolt"}).Draw(d.T, "customer")
			p.Shards = append(p.Shards, s)
		}
	}
}

func (d *drawing) rules() {
	g := d.g
	g.Onto = rapid.SampledFrom([][]farm.HostTypeName{{"small"}, {"small"}, {d.f.HostTypes[len(d.f.HostTypes)-1].Name}, {"small", d.f.HostTypes[len(d.f.HostTypes)-1].Name}, nil}).Draw(d.T, "onto")
	if len(g.Onto) == 2 && g.Onto[0] == g.Onto[1] {
		g.Onto = g.Onto[:1]
	}
	if g.Unit == placement.UnitShard {
		g.ShardsPerInstance = rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(d.T, "shards_per_instance")
	}
	g.Headroom = rapid.SampledFrom([]map[farm.ResourceName]float64{nil, {farm.Disk: 1.0 / 3}, {farm.Disk: 0.25, farm.Memory: 0.5}, {farm.CPU: 1.0 / 6}}).Draw(d.T, "headroom")
	g.RunwayDays = rapid.SampledFrom([]float64{0, 0, 100}).Draw(d.T, "runway")
	g.Growth = rapid.SampledFrom([]float64{0, 0, 1.5}).Draw(d.T, "growth factor")
	g.MaxInstances = rapid.SampledFrom([]int{0, 0, 0, 2}).Draw(d.T, "max_instances")
	if d.one(3, "overhead") {
		g.Overhead = farm.Resources{farm.Memory: d.unit, farm.Disk: d.unit / 2}
	}
	g.Minimise = rapid.SampledFrom([][]string{nil, {"hosts"}, {"cost"}, {"watts", "hosts"}, {"moves"}, {"moves", "hosts"}, {"hosts", "moves"}, {"hosts", "balance"}, {"cost", "watts", "moves", "balance"}}).Draw(d.T, "minimise")
	g.SpreadLabels = rapid.SampledFrom([][]string{nil, nil, {"rack"}, {"rack", "power"}}).Draw(d.T, "spread")
	g.Parallel = rapid.IntRange(1, 4).Draw(d.T, "parallel")
	g.Surface = placement.Surface{
		Customer: rapid.SampledFrom([]float64{0, 0, 0, 0.5, 0.75}).Draw(d.T, "surface of a customer"),
		Shards:   rapid.SampledFrom([]float64{0, 0, 0, 0.4, 0.6}).Draw(d.T, "surface of shards"),
	}
	d.customers(&g)
	if d.calm {
		g.Headroom, g.Growth, g.Surface = nil, 0, placement.Surface{}
	}
	if d.one(4, "buy") {
		p := placement.Purchase{Type: "small", Most: rapid.IntRange(1, 3).Draw(d.T, "most")}
		p.Labels = map[string][]string{"rack": {"r0", "r1", "r2"}, "power": {"p0", "p1"}}
		if len(g.Onto) == 0 || g.Onto[0] == "small" {
			g.Buy = []placement.Purchase{p}
		}
	}
	d.g = g
	d.groups()
}

// customers drops a limit that is refused as a slip: below one shard of any.
func (d *drawing) customers(g *placement.Goals) {
	largest, n := 0, map[farm.CustomerName]int{}
	for _, p := range d.f.Pairs {
		for _, s := range p.Shards {
			if s.Customer != "" {
				n[s.Customer]++
				largest = max(largest, n[s.Customer])
			}
		}
	}
	if int(g.Surface.Customer*float64(largest)) == 0 {
		g.Surface.Customer = 0
	}
}

// groups are the rules that name pairs and hosts.
func (d *drawing) groups() {
	g := &d.g
	if len(d.f.Pairs) == 0 {
		return
	}
	var hosts []farm.HostName
	for _, h := range d.f.Hosts {
		hosts = append(hosts, h.Name)
	}
	for _, p := range g.Buy {
		for _, h := range p.Hosts(d.f) {
			hosts = append(hosts, h.Name)
		}
	}
	some := func(label string) []farm.PairName {
		var out []farm.PairName
		for _, p := range d.f.Pairs {
			if d.one(2, label) {
				out = append(out, p.Name)
			}
		}
		return out
	}
	if d.calm {
		if d.one(4, "frozen") {
			g.Frozen = some("frozen")
		}
		return
	}
	if d.one(6, "pins") {
		g.Pins = []placement.Binding{{What: []string{d.what()}, Hosts: d.some(hosts, 2, "pinned to")}}
	}
	if d.one(6, "forbids") {
		g.Forbids = []placement.Binding{{What: []string{d.what()}, Hosts: d.some(hosts, 3, "forbidden on")}}
	}
	for range rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(d.T, "together") {
		g.Together = append(g.Together, placement.Group{Name: "t", Pairs: some("together")})
	}
	if d.one(6, "apart") {
		g.Apart = []placement.Group{{Name: "a", Pairs: some("apart")}}
	}
	if d.one(6, "frozen") {
		g.Frozen = some("frozen")
	}
	d.unbind()
	if d.one(6, "without") {
		g.Without = d.some(hosts[:len(d.f.Hosts)], 4, "without")
	}
}

// unbind drops rules about frozen pairs, which are refused as contradictions.
func (d *drawing) unbind() {
	frozen := func(b placement.Binding) bool {
		for _, p := range d.g.Frozen {
			if b.What[0] == string(p) || strings.TrimRight(b.What[0], "ab") == string(p) {
				return true
			}
		}
		return false
	}
	d.g.Pins, d.g.Forbids = slices.DeleteFunc(d.g.Pins, frozen), slices.DeleteFunc(d.g.Forbids, frozen)
}

// what is a pair or an instance.
func (d *drawing) what() string {
	p := rapid.SampledFrom(d.f.Pairs).Draw(d.T, "what")
	return rapid.SampledFrom([]string{string(p.Name), string(p.Instance(farm.A)), string(p.Instance(farm.B))}).Draw(d.T, "side")
}

// some are one in n of the hosts, but at least one.
func (d *drawing) some(hosts []farm.HostName, n int, label string) []farm.HostName {
	var out []farm.HostName
	for _, h := range hosts {
		if d.one(n, label) {
			out = append(out, h)
		}
	}
	if len(out) == 0 {
		out = hosts[:1]
	}
	return out
}
