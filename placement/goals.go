package placement

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/due"
	"stowage/farm"
)

// Unit is what is placed as a whole.
type Unit string

const (
	// UnitInstance moves instances as they are: one side of a pair at a time.
	UnitInstance Unit = "instance"
	// UnitShard regroups shards into new pairs of instances. In every rule a
	// pair then stands for its shards.
	UnitShard Unit = "shard"
)

// Goals are what a plan must respect and what it should minimise. The zero
// value packs onto every host with no headroom; start from Defaults.
type Goals struct {
	// Onto are the host types to pack onto; empty means all of them. Instances
	// on hosts of other types move.
	Onto []farm.HostTypeName `json:"onto,omitempty"`
	// Unit is what is placed as a whole; empty: UnitInstance.
	Unit Unit `json:"unit,omitempty"`
	// Minimise is what to make small, in this order: hosts (in use), cost
	// (their prices), watts (of theirs), moves (bytes to copy), balance (the
	// fullest host as empty as possible).
	Minimise []string `json:"minimise,omitempty"`

	// Headroom is the fraction of each resource to leave free on every host.
	Headroom map[farm.ResourceName]float64 `json:"headroom,omitempty"`
	// RunwayDays is how long the plan must hold while disks grow; see Needs.
	RunwayDays float64 `json:"runway_days,omitempty"`
	// Growth is a factor on every need of every shard; 0 means 1.
	Growth float64 `json:"growth,omitempty"`
	// Overhead is what every instance needs besides its shards. Neither runway
	// nor growth touches it.
	Overhead farm.Resources `json:"overhead,omitempty"`

	// MaxInstances is how many instances any host may hold, besides what its
	// type says; 0: no limit.
	MaxInstances int `json:"max_instances,omitempty"`
	// ShardsPerInstance is how many shards a new instance may hold, with
	// UnitShard; 0: no limit.
	ShardsPerInstance int `json:"shards_per_instance,omitempty"`
	// SpreadLabels are host labels (rack, power, a maintenance group) on which
	// the two sides of a pair must differ.
	SpreadLabels []string `json:"spread_labels,omitempty"`
	// Surface limits what is lost with one host.
	Surface Surface `json:"surface,omitzero"`

	// Pins bind instances to hosts, Forbids keep them from hosts. Several that
	// speak of one instance all hold.
	Pins    []Binding `json:"pin,omitempty"`
	Forbids []Binding `json:"forbid,omitempty"`
	// Together: the A sides of these pairs share one host, their B sides
	// another. Apart: no two of these pairs have an instance on the same host.
	Together []Group `json:"together,omitempty"`
	Apart    []Group `json:"apart,omitempty"`
	// Frozen pairs stay where they are, whatever the other rules say, and
	// count there with all they need.
	Frozen []farm.PairName `json:"frozen,omitempty"`

	// Buy are hosts that do not exist yet and may be planned with.
	Buy []Purchase `json:"buy,omitempty"`
	// MovedMost is how many bytes the plan may copy; 0: no limit.
	MovedMost float64 `json:"moved_most,omitempty"`
	// Without are hosts that receive nothing and are emptied: to be switched
	// off, or lost.
	Without []farm.HostName `json:"without,omitempty"`
	// Rates say how fast data is copied, for the time that moves take.
	Rates Rates `json:"rates,omitzero"`

	// Parallel is how many sides may swing at once: the size of a wave.
	Parallel int `json:"parallel"`
	// Soak is how long a side serves in its new place before it counts as moved.
	Soak time.Duration `json:"soak_ns"`
	// Ramp are the limits beyond which clients that have come back are sent to the twin again.
	Ramp Ramp `json:"ramp,omitzero"`
	// ApproveBefore are the steps before which a person decides: out, retire.
	ApproveBefore []string `json:"approve_before,omitempty"`
	// AfterFailure is what becomes of the other pairs when one has failed and was
	// put back; empty: GoOnAfterFailure.
	AfterFailure AfterFailure `json:"after_failure,omitempty"`
	// Budgets are how much of the farm moves may use.
	Budgets Budgets `json:"budgets,omitzero"`
	// Windows are when `stowage roll` may begin with a host; none: at any time.
	Windows []due.Window `json:"windows,omitempty"`
}

// AfterFailure is what becomes of other pairs when one has failed.
type AfterFailure string

const (
	// GoOnAfterFailure: they go on, and others begin, when the failed side was put
	// back as it was and the cause is its own. After the third such failure no
	// other begins.
	GoOnAfterFailure AfterFailure = "go-on"
	// StopAfterFailure: what runs goes on to its end, and no other begins.
	StopAfterFailure AfterFailure = "stop"
)

// Objectives are what Minimise may name.
var objectives = []string{"hosts", "cost", "watts", "moves", "balance"}

// Defaults are the goals of a farm that says nothing: fewest hosts, a fifth of
// the disk and a tenth of the memory left free, four sides at once.
func Defaults() Goals {
	return Goals{
		Minimise: []string{"hosts"},
		Headroom: map[farm.ResourceName]float64{farm.Disk: 0.20, farm.Memory: 0.10},
		Parallel: 4,
		Soak:     500 * time.Millisecond,
	}
}

// Check finds what in the goals does not fit the farm or itself. Paths are
// those of goals.yaml: onto[0], headroom.disk, pin[2]. Rules that were written
// with groups or patterns are named as a whole: goals hold only what those
// were resolved to.
func (g Goals) Check(f *farm.Farm) []farm.Problem {
	c := newGoalCheck(g, f)
	for _, rule := range goalRules {
		rule(c)
	}
	return c.problems
}

// goalRules are everything goals are compared with.
var goalRules = []func(*goalCheck){
	(*goalCheck).targets,
	(*goalCheck).headroom,
	(*goalCheck).numbers,
	(*goalCheck).purchases,
	(*goalCheck).labels,
	(*goalCheck).rates,
	(*goalCheck).names,
	(*goalCheck).capacity,
	(*goalCheck).totals,
	(*goalCheck).surface,
	(*goalCheck).bindings,
	(*goalCheck).together,
	(*goalCheck).apart,
	(*goalCheck).steering,
}

// goalCheck collects problems; the rest is the farm, arranged for looking up.
type goalCheck struct {
	goals    Goals
	farm     *farm.Farm
	problems []farm.Problem

	types  map[farm.HostTypeName]farm.HostType
	pairs  map[farm.PairName]int // index into Farm.Pairs
	copies map[string][]Copy
	hosts  []farm.Host            // those of the farm, then those that may be bought
	hostAt map[farm.HostName]int  // index into hosts
	frozen map[farm.PairName]bool // pairs that stay
}

func newGoalCheck(g Goals, f *farm.Farm) *goalCheck {
	c := &goalCheck{
		goals: g, farm: f, copies: Copies(f), hosts: slices.Clip(f.Hosts),
		types: map[farm.HostTypeName]farm.HostType{}, pairs: map[farm.PairName]int{},
		hostAt: map[farm.HostName]int{}, frozen: map[farm.PairName]bool{},
	}
	for _, t := range f.HostTypes {
		c.types[t.Name] = t
	}
	for _, p := range g.Buy {
		c.hosts = append(c.hosts, p.Hosts(f)...)
	}
	for i, h := range c.hosts {
		c.hostAt[h.Name] = i
	}
	for i, p := range f.Pairs {
		c.pairs[p.Name] = i
	}
	for _, p := range g.Frozen {
		c.frozen[p] = true
	}
	return c
}

func (c *goalCheck) say(path, format string, args ...any) {
	c.problems = append(c.problems, farm.Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// targets: what to pack, onto what, and what to make small.
func (c *goalCheck) targets() {
	for i, t := range c.goals.Onto {
		if _, ok := c.types[t]; !ok {
			c.say(fmt.Sprintf("onto[%d]", i), "unknown host type %q: farm.yaml has %s", t, hostTypeNames(c.farm))
		}
	}
	for i, m := range c.goals.Minimise {
		if !slices.Contains(objectives, m) {
			c.say(fmt.Sprintf("minimise[%d]", i), "cannot minimise %q: it must be one of %s", m, strings.Join(objectives, ", "))
		}
	}
	if u := c.goals.Unit; u != "" && u != UnitInstance && u != UnitShard {
		c.say("unit", "unit is %q: it must be %s or %s", u, UnitInstance, UnitShard)
	}
}

func (c *goalCheck) headroom() {
	for _, r := range farm.Resources(c.goals.Headroom).Names() {
		if v := c.goals.Headroom[r]; !(v >= 0 && v < 1) {
			c.say("headroom."+string(r), "headroom of %s is %v: it must be from 0%% to below 100%%", r, v*100)
		}
		if !knownResource(c.farm, r) {
			c.say("headroom."+string(r), "unknown resource %q: no host type has it", r)
		}
	}
}

// labels: every host to pack onto has the labels that sides are spread by.
func (c *goalCheck) labels() {
	for i, label := range c.goals.SpreadLabels {
		c.needLabel(fmt.Sprintf("spread_labels[%d]", i), label)
	}
}

func (c *goalCheck) needLabel(path, label string) {
	var without []string
	for _, h := range c.farm.Hosts {
		if c.goals.packsOnto(h.Type) && h.Labels[label] == "" {
			without = append(without, string(h.Name))
		}
	}
	if len(without) > 0 {
		c.say(path, "%s without label %q (first %s): every host to pack onto needs it", farm.Counted(len(without), "host"), label, without[0])
	}
	for _, p := range c.goals.Buy {
		if _, known := c.types[p.Type]; known && c.goals.packsOnto(p.Type) && len(p.Labels[label]) == 0 {
			c.say(path, "%s may be bought without label %q: every host to pack onto needs it", p.Type, label)
		}
	}
}

func (g Goals) packsOnto(t farm.HostTypeName) bool {
	return len(g.Onto) == 0 || slices.Contains(g.Onto, t)
}

func hostTypeNames(f *farm.Farm) string {
	names := make([]string, 0, len(f.HostTypes))
	for _, t := range f.HostTypes {
		names = append(names, string(t.Name))
	}
	return strings.Join(names, ", ")
}

func knownResource(f *farm.Farm, r farm.ResourceName) bool {
	if r.Kind() != farm.KindOpen {
		return true
	}
	for _, t := range f.HostTypes {
		if _, ok := t.Capacity[r]; ok {
			return true
		}
	}
	return false
}
