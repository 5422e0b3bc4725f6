package workspace

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
	"stowage/placement"
)

// The keys of goals.yaml, by level.
var (
	goalKeys = []string{
		"onto", "unit", "minimise", "headroom", "runway", "growth", "overhead", "max_instances", "shards_per_instance",
		"spread_labels", "surface", "groups", "together", "apart", "pin", "forbid", "frozen",
		"buy", "moved_most", "rates", "parallel", "soak", "ramp",
		"approve_before", "after_failure", "budgets", "windows",
	}
	budgetKeys   = []string{"streams_per_host", "streams_per_rack", "streams_per_network", "disk_write", "lag", "hosts_out", "hosts_out_per_rack", "hosts_out_per_power"}
	rampKeys     = []string{"latency", "floor", "errors", "statements", "longest"}
	windowKeys   = []string{"days", "from", "to", "zone"}
	bindingKeys  = []string{"what", "hosts"}
	surfaceKeys  = []string{"customer", "shards"}
	purchaseKeys = []string{"most", "labels"}
	rateKeys     = []string{"stream", "host", "rack", "rack_label"}
)

// goalsReader reads goals.yaml against a farm.
type goalsReader struct {
	reader
	farm  *farm.Farm
	goals placement.Goals
	names names
}

// parseGoals reads goals.yaml over the defaults. A key that is given replaces
// the default as a whole: `headroom: {}` asks for none.
func parseGoals(file string, src []byte, f *farm.Farm) (placement.Goals, error) {
	r := &goalsReader{reader: reader{faults: faults{file: file}}, farm: f, goals: placement.Defaults()}
	if onlyComments(src) {
		return r.goals, nil
	}
	root := r.parseYAML(src)
	if root == nil {
		return r.goals, r.err()
	}
	r.names = newNames(f)
	// What other keys name comes first, wherever it stands.
	if n := value(root, "buy"); n != nil {
		r.buy(n)
	}
	if n := value(root, "groups"); n != nil {
		r.groups(n)
	}
	r.fields(root, func() string { return "the goals" }, goalKeys, r.goal)
	r.checked(root, r.goals.Check(f))
	return r.goals, r.err()
}

func (r *goalsReader) goal(key string, v *yaml.Node) bool {
	what := func() string { return key }
	g := &r.goals
	switch key {
	case "onto":
		g.Onto = nil
		for _, s := range r.words(v, key) {
			g.Onto = append(g.Onto, farm.HostTypeName(s))
		}
	case "unit":
		g.Unit = placement.Unit(r.text(v, what))
	case "minimise":
		g.Minimise = r.words(v, key)
	case "headroom":
		g.Headroom = map[farm.ResourceName]float64{}
		r.named(v, key, func(name string, v *yaml.Node) {
			g.Headroom[farm.ResourceName(name)] = r.percent(v, "headroom of "+name)
		})
	case "runway":
		g.RunwayDays = r.days(v, key)
	case "growth":
		g.Growth = r.factor(v, key)
	case "overhead":
		g.Overhead = r.overhead(v)
	case "max_instances":
		g.MaxInstances = int(r.whole(v, what, 1, 1000))
	case "shards_per_instance":
		g.ShardsPerInstance = int(r.whole(v, what, 1, 1_000_000))
	case "spread_labels":
		g.SpreadLabels = r.words(v, key)
	case "surface":
		r.surface(v)
	case "moved_most":
		g.MovedMost = r.above(v, what, farm.KindBytes)
	case "rates":
		r.rates(v)
	case "parallel":
		g.Parallel = int(r.whole(v, what, 1, 1000))
	case "soak":
		g.Soak = r.duration(v, key)
	case "ramp":
		r.ramp(v)
	case "approve_before":
		g.ApproveBefore = r.words(v, key)
	case "after_failure":
		g.AfterFailure = placement.AfterFailure(r.text(v, what))
	case "budgets":
		r.budgets(v)
	case "windows":
		r.goals.Windows = r.windows(v)
	default:
		return r.rule(key, v)
	}
	return true
}

// rule reads the keys that name pairs, instances and hosts.
func (r *goalsReader) rule(key string, v *yaml.Node) bool {
	g := &r.goals
	switch key {
	case "groups", "buy": // read before
	case "together":
		g.Together = r.groupList(v, key)
	case "apart":
		g.Apart = r.groupList(v, key)
	case "pin":
		g.Pins = r.bindings(v, key)
	case "forbid":
		g.Forbids = r.bindings(v, key)
	case "frozen":
		g.Frozen = r.pairs(v, key)
	default:
		return false
	}
	return true
}

func (r *goalsReader) overhead(n *yaml.Node) farm.Resources {
	sum := farm.Resources{}
	r.named(n, "overhead", func(name string, v *yaml.Node) {
		what := func() string { return "overhead of " + name }
		resource := farm.ResourceName(name)
		known := r.resourceNames()
		if !slices.Contains(known, name) {
			r.unknown(n, firstKey(n, name), v, "overhead", known)
			return
		}
		sum[resource] = r.quantity(v, what, resource.Kind())
	})
	return sum
}

// resourceNames are the known resources and those that host types declare.
func (r *goalsReader) resourceNames() []string {
	all := map[string]bool{}
	for _, n := range []farm.ResourceName{farm.Disk, farm.Memory, farm.CPU, farm.IOPS, farm.Network} {
		all[string(n)] = true
	}
	for _, t := range r.farm.HostTypes {
		for n := range t.Capacity {
			all[string(n)] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (r *goalsReader) surface(n *yaml.Node) {
	s := &r.goals.Surface
	r.fields(n, func() string { return "surface" }, surfaceKeys, func(key string, v *yaml.Node) bool {
		switch key {
		case "customer":
			s.Customer = r.share(v, "surface of a customer")
		case "shards":
			s.Shards = r.share(v, "surface of shards")
		default:
			return false
		}
		return true
	})
}

func (r *goalsReader) rates(n *yaml.Node) {
	rates := &r.goals.Rates
	r.fields(n, func() string { return "rates" }, rateKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of rates" }
		switch key {
		case "stream":
			rates.Stream = r.above(v, what, farm.KindByteRate)
		case "host":
			rates.Host = r.above(v, what, farm.KindByteRate)
		case "rack":
			rates.Rack = r.above(v, what, farm.KindByteRate)
		case "rack_label":
			rates.RackLabel = r.text(v, what)
		default:
			return false
		}
		return true
	})
}

// ramp reads the limits beyond which clients that have come back are sent away again.
func (r *goalsReader) ramp(n *yaml.Node) {
	x := &r.goals.Ramp
	r.fields(n, func() string { return "ramp" }, rampKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of ramp" }
		switch key {
		case "latency":
			if x.Latency = r.factor(v, what()); x.Latency > 0 && x.Latency < 1 {
				r.fault(v, "%s wants a factor of at least x1, not %s", what(), shownNode(v))
			}
		case "floor":
			x.Floor = r.duration(v, what())
		case "errors":
			x.Errors = r.share(v, what())
		case "statements":
			x.Statements = int(r.whole(v, what, 20, 1_000_000))
		case "longest":
			if x.Longest = r.duration(v, what()); x.Longest > longestRamp {
				r.fault(v, "%s is %s: at most %s", what(), x.Longest, longestRamp)
			}
		default:
			return false
		}
		return true
	})
}

// longestRamp: the step in which clients return has three hours for all of its shares.
const longestRamp = 10 * time.Minute

// budgets reads how much of the farm moves may use at once.
func (r *goalsReader) budgets(n *yaml.Node) {
	b := &r.goals.Budgets
	r.fields(n, func() string { return "budgets" }, budgetKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of budgets" }
		switch key {
		case "streams_per_host":
			b.StreamsPerHost = int(r.whole(v, what, 1, 1000))
		case "streams_per_rack":
			b.StreamsPerRack = int(r.whole(v, what, 1, 1000))
		case "streams_per_network":
			b.StreamsPerNetwork = int(r.whole(v, what, 1, 1000))
		case "disk_write":
			b.DiskWrite = r.above(v, what, farm.KindByteRate)
		case "lag":
			b.Lag = r.duration(v, what())
		case "hosts_out":
			b.HostsOut = int(r.whole(v, what, 1, 1000))
		case "hosts_out_per_rack":
			b.HostsOutPerRack = int(r.whole(v, what, 1, 1000))
		case "hosts_out_per_power":
			b.HostsOutPerPower = int(r.whole(v, what, 1, 1000))
		default:
			return false
		}
		return true
	})
}

// buy reads what may be bought, and makes its hosts known by name.
func (r *goalsReader) buy(n *yaml.Node) {
	r.named(n, "buy", func(name string, v *yaml.Node) {
		p := placement.Purchase{Type: farm.HostTypeName(name)}
		what := func() string { return "how many " + name + " to buy" }
		if v.Kind != yaml.MappingNode {
			p.Most = int(r.whole(v, what, 1, 100_000))
		} else {
			r.purchase(&p, v)
			if p.Most == 0 && value(v, "most") == nil && !r.meant[missing{v, "most"}] {
				r.fault(v, "%s is not said: most is missing", what())
			}
		}
		if p.Most == 0 {
			r.markBad(v)
		}
		r.goals.Buy = append(r.goals.Buy, p)
		r.names.addHosts(p.Hosts(r.farm))
	})
}

func (r *goalsReader) purchase(p *placement.Purchase, n *yaml.Node) {
	where := func() string { return "what to buy of " + string(p.Type) }
	r.fields(n, where, purchaseKeys, func(key string, v *yaml.Node) bool {
		switch key {
		case "most":
			p.Most = int(r.whole(v, func() string { return "most of " + where() }, 1, 100_000))
		case "labels":
			p.Labels = map[string][]string{}
			r.named(v, "labels of "+where(), func(label string, v *yaml.Node) {
				p.Labels[label] = r.oneOrMore(v, "label "+label+" of "+where())
			})
		default:
			return false
		}
		return true
	})
}

func onlyComments(src []byte) bool {
	for line := range strings.Lines(string(src)) {
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			return false
		}
	}
	return true
}
