package decide

import (
	"math"
	"slices"
)

// end says which end of their bounds figures are taken at.
type end int

const (
	asGiven end = iota
	worst       // every figure as bad as it may be
	best
)

// view reckons one goal of one candidate. It notes what it used and what it lacked.
type view struct {
	candidate *Candidate
	workload  Workload
	step      string
	end       end

	basis   Basis
	sources []string
	used    []Key
	missing []Key  // given figures that are not there
	why     string // of the first thing that is missing
	open    bool   // something was used that nothing bounds
}

// of is a given figure; NaN where it is unknown.
func (v *view) of(what string) float64 {
	k := Key{What: what}
	if _, ofStep := speeds[what]; ofStep {
		k.Step = v.step
	}
	return v.take(k, v.candidate.Figures[k])
}

// speeds are the given figures that are of a step.
var speeds = map[string]bool{"iops": true, "mbps": true, "commits": true, "mean": true, "p50": true, "p95": true, "p99": true, "p999": true}

// against is a given figure that makes what is reckoned worse the better it is: its other end counts.
func (v *view) against(what string) float64 {
	at := v.end
	switch at {
	case worst:
		v.end = best
	case best:
		v.end = worst
	}
	out := v.of(what)
	v.end = at
	return out
}

func (v *view) take(k Key, f Figure) float64 {
	if !f.Known() {
		v.missing = append(v.missing, k)
		why := f.Why
		if why == "" {
			why = k.String() + " is not known"
		}
		return v.lacks(why)
	}
	v.note(f)
	v.used = append(v.used, k)
	return v.at(f, words[k.What].more)
}

// at is a figure at the end that is asked for.
func (v *view) at(f Figure, more bool) float64 {
	switch {
	case v.end == asGiven:
		return f.Value
	case !f.IsBounded():
		v.open = true
		return f.Value
	case (v.end == worst) == more:
		return f.Low
	}
	return f.High
}

func (v *view) note(f Figure) {
	v.basis = weaker(v.basis, f.Basis)
	if f.Source != "" && !slices.Contains(v.sources, f.Source) {
		v.sources = append(v.sources, f.Source)
	}
}

// given is a figure of the workload. It is the same for all candidates, so its bounds say nothing about which is better.
func (v *view) given(name string, f Figure) float64 {
	if !f.Known() {
		return v.lacks(name + " is not known")
	}
	v.note(f)
	return f.Value
}

// amplification is the candidate's own, or that of the workload.
func (v *view) amplification() float64 {
	k := Key{What: "amplification"}
	if f, ok := v.candidate.Figures[k]; ok {
		return v.take(k, f)
	}
	return v.given("write amplification", v.workload.Amplification)
}

func (v *view) array(of func(Array) float64) float64 {
	if !v.candidate.Array.IsKnown() {
		return v.lacks("how many devices it has, and how they are put together, is not known")
	}
	return of(v.candidate.Array)
}

// usable is what somebody says, or what the array leaves of its devices.
func (v *view) usable() float64 {
	k := Key{What: "usable"}
	if f, ok := v.candidate.Figures[k]; ok {
		return v.take(k, f)
	}
	return v.of("capacity") * v.array(func(a Array) float64 { return a.usable() })
}

// orNothing is a figure that is nothing where nobody gives it.
func (v *view) orNothing(what string) float64 {
	if f := v.candidate.Figures[Key{What: what}]; !f.Known() && f.Why == "" {
		return 0
	}
	return v.of(what)
}

func (v *view) lacks(why string) float64 {
	if v.why == "" {
		v.why = why
	}
	return math.NaN()
}

// reckon is what a goal comes to for a candidate, at one end.
func reckon(c *Candidate, w Workload, g Goal, at end) (float64, *view) {
	kind, _ := KindOf(g.Figure)
	v := &view{candidate: c, workload: w, step: g.Step, end: at, basis: Given}
	value := kind.reckon(v)
	if v.why != "" || math.IsNaN(value) || math.IsInf(value, 0) || value < 0 || value == 0 && !kind.OnlyLimit {
		return math.NaN(), v
	}
	return value, v
}
