package placement

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// Goals are what a plan must respect and what it should minimise. The zero
// value packs onto every host with no headroom; start from Defaults.
type Goals struct {
	// Onto are the host types to pack onto; empty means all of them. Instances
	// on hosts of other types move.
	Onto []farm.HostTypeName `json:"onto,omitempty"`
	// Minimise is the order of what to make small: hosts, cost, watts, moves.
	// Only hosts is weighed so far; the others are accepted and reported.
	Minimise []string `json:"minimise,omitempty"`
	// Headroom is the fraction of each resource to leave free on every host.
	Headroom map[farm.ResourceName]float64 `json:"headroom,omitempty"`
	// SpreadLabels are host labels (rack, power) on which the two sides of a
	// pair must differ.
	SpreadLabels []string `json:"spread_labels,omitempty"`
	// Parallel is how many sides may swing at once: the size of a wave.
	Parallel int `json:"parallel"`
	// Soak is how long a side serves in its new place before it counts as moved.
	Soak time.Duration `json:"soak_ns"`
}

// Objectives are what Minimise may name.
var objectives = []string{"hosts", "cost", "watts", "moves"}

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

// Check finds what in the goals does not fit the farm. Paths are those of
// goals.yaml: onto[0], headroom.disk.
func (g Goals) Check(f *farm.Farm) []farm.Problem {
	var ps []farm.Problem
	say := func(path, format string, args ...any) {
		ps = append(ps, farm.Problem{Path: path, Text: fmt.Sprintf(format, args...)})
	}
	for i, t := range g.Onto {
		if _, ok := f.HostType(t); !ok {
			say(fmt.Sprintf("onto[%d]", i), "unknown host type %q: farm.yaml has %s", t, hostTypeNames(f))
		}
	}
	for i, m := range g.Minimise {
		if !slices.Contains(objectives, m) {
			say(fmt.Sprintf("minimise[%d]", i), "cannot minimise %q: it must be one of %s", m, strings.Join(objectives, ", "))
		}
	}
	for _, r := range farm.Resources(g.Headroom).Names() {
		if v := g.Headroom[r]; !(v >= 0 && v < 1) {
			say("headroom."+string(r), "headroom of %s is %v: it must be from 0%% to below 100%%", r, v*100)
		}
		if !knownResource(f, r) {
			say("headroom."+string(r), "unknown resource %q: no host type has it", r)
		}
	}
	if g.Parallel < 1 {
		say("parallel", "parallel is %d: at least 1 side must be allowed to swing", g.Parallel)
	}
	if g.Soak < 0 {
		say("soak", "soak is %s: it must not be negative", g.Soak)
	}
	return append(ps, g.checkLabels(f)...)
}

func (g Goals) checkLabels(f *farm.Farm) []farm.Problem {
	var ps []farm.Problem
	for i, label := range g.SpreadLabels {
		var without []string
		for _, h := range f.Hosts {
			if g.packsOnto(h.Type) && h.Labels[label] == "" {
				without = append(without, string(h.Name))
			}
		}
		if len(without) > 0 {
			ps = append(ps, farm.Problem{
				Path: fmt.Sprintf("spread_labels[%d]", i),
				Text: fmt.Sprintf("%s without label %q (first %s): every host to pack onto needs it", count(len(without), "host"), label, without[0]),
			})
		}
	}
	return ps
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

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
