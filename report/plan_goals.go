package report

import (
	"fmt"
	"math"
	"strings"

	"stowage/farm"
	"stowage/placement"
)

// goalsSection is what the plan was made for, key by key of goals.yaml.
func (c *census) goalsSection() planSection {
	g := c.plan.Goals
	s := planSection{ID: "goals", Name: "The goals it was made for"}
	say := func(name, value string) {
		if value != "" {
			s.Facts = append(s.Facts, Fact{name, value})
		}
	}
	unit := g.Unit
	if unit == "" {
		unit = placement.UnitInstance
	}
	say("onto", orText(joined(g.Onto), "all host types"))
	say("unit", string(unit))
	say("minimise", orText(strings.Join(g.Minimise, ", then "), "hosts"))
	say("headroom", headrooms(g.Headroom))
	say("runway", orText(zeroless(g.RunwayDays, " days"), "none"))
	say("growth", zeroless(g.Growth, " "+times))
	say("overhead of an instance", amounts(g.Overhead))
	say("max_instances", zeroless(float64(g.MaxInstances), ""))
	say("shards_per_instance", zeroless(float64(g.ShardsPerInstance), ""))
	say("spread_labels", orText(strings.Join(g.SpreadLabels, ", "), "none: twins on different hosts only"))
	if g.Surface.Customer > 0 {
		say("surface of a customer", percent(g.Surface.Customer))
	}
	if g.Surface.Shards > 0 {
		say("surface of all shards", percent(g.Surface.Shards))
	}
	say("pin, forbid", countRules(len(g.Pins), len(g.Forbids)))
	say("together, apart", countRules(len(g.Together), len(g.Apart)))
	say("frozen", listOf(texts(g.Frozen), 12))
	say("without", listOf(texts(g.Without), 12))
	for _, b := range g.Buy {
		say("buy", fmt.Sprintf("up to %d %s%s", b.Most, b.Type, labelWords(b.Labels)))
	}
	if g.MovedMost > 0 {
		say("moved_most", amount(g.MovedMost, farm.KindBytes))
	}
	say("rates", rateWords(g.Rates))
	say("parallel", count(g.Parallel, "pair"))
	say("soak", longSpan(g.Soak.Seconds()))
	say("ramp", rampWords(g.Ramp))
	say("after_failure", string(g.AfterFailure))
	say("approve_before", strings.Join(g.ApproveBefore, ", "))
	return s
}

func joined[T ~string](names []T) string { return strings.Join(texts(names), ", ") }

func texts[T ~string](names []T) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = string(n)
	}
	return out
}

func zeroless(v float64, unit string) string {
	if v == 0 {
		return ""
	}
	return strings.TrimSpace(digitsOrWhole(v) + unit)
}

func headrooms(h map[farm.ResourceName]float64) string {
	var out []string
	for _, n := range farm.Resources(h).Names() {
		out = append(out, fmt.Sprintf("%s %s", n, percent(h[n])))
	}
	return strings.Join(out, ", ")
}

func amounts(r farm.Resources) string {
	var out []string
	for _, n := range r.Names() {
		out = append(out, fmt.Sprintf("%s %s", n, amount(r[n], n.Kind())))
	}
	return strings.Join(out, ", ")
}

func countRules(a, b int) string {
	if a+b == 0 {
		return ""
	}
	return fmt.Sprintf("%d and %s", a, farm.Counted(b, "rule"))
}

func labelWords(labels map[string][]string) string {
	set := farm.Resources{} // its names are sorted
	for l := range labels {
		set[farm.ResourceName(l)] = 0
	}
	var out []string
	for _, n := range set.Names() {
		out = append(out, fmt.Sprintf("%s %s", n, listOf(labels[string(n)], 12)))
	}
	if len(out) == 0 {
		return ""
	}
	return " in " + strings.Join(out, "; ")
}

func rateWords(r placement.Rates) string {
	var out []string
	for _, x := range []struct {
		name string
		rate float64
	}{{"stream", r.Stream}, {"host", r.Host}, {"rack", r.Rack}} {
		if x.rate > 0 && !math.IsInf(x.rate, 0) {
			out = append(out, x.name+" "+amount(x.rate, farm.KindBytes)+"/s")
		}
	}
	return strings.Join(out, ", ")
}

func rampWords(r placement.Ramp) string {
	var out []string
	for _, x := range []struct {
		given bool
		text  string
	}{
		{r.Latency > 0, fmt.Sprintf("latency x%g", r.Latency)}, {r.Floor > 0, "floor " + r.Floor.String()}, {r.Errors > 0, "errors " + percent(r.Errors)},
		{r.Statements > 0, fmt.Sprintf("statements %d", r.Statements)}, {r.Longest > 0, "longest " + r.Longest.String()},
	} {
		if x.given {
			out = append(out, x.text)
		}
	}
	return strings.Join(out, ", ")
}
