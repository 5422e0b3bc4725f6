package decide

import (
	"fmt"
	"math"
	"strings"

	"stowage/bench/result"
	"stowage/farm"
)

// Take adds what a result says to a candidate's figures, and what must be known of it to the notes. What is there already stays. name is what people
// call the result: its file.
func (c *Candidate) Take(name string, r *result.Result) {
	if c.Figures == nil {
		c.Figures = map[Key]Figure{}
	}
	for _, s := range r.Steps {
		for what, f := range figuresOf(name, r, s) {
			k := Key{What: what, Step: s.ID}
			if _, there := c.Figures[k]; !there {
				c.Figures[k] = f
			}
		}
	}
	c.Notes = append(c.Notes, notesOf(name, r)...)
}

// figuresOf are the figures of one step, those that are unknown for a reason too.
func figuresOf(name string, r *result.Result, s *result.Step) map[string]Figure {
	basis, source := Measured, name
	if r.Kind == result.Entered {
		basis, source = Entered, r.Source
	}
	var speeds, tails []float64
	for _, x := range s.Samples {
		speeds, tails = append(speeds, x.IOPS), append(tails, x.Lat.P99)
	}
	figure := func(v float64, of []float64) Figure {
		f := Claimed(v, basis, source)
		if basis == Entered {
			return f
		}
		reach, ok := r.Reach(s, of)
		if !ok {
			f.Basis = Unbounded
			return f
		}
		f.Low, f.High = v*math.Exp(-reach), v*math.Exp(reach)
		return f
	}
	out := map[string]Figure{"iops": figure(s.IOPS, speeds), "mbps": figure(s.MBps, speeds)}
	for what, v := range map[string]float64{"mean": s.Lat.Mean, "p50": s.Lat.P50, "p95": s.Lat.P95, "p99": s.Lat.P99, "p999": s.Lat.P999} {
		out[what] = figure(v, tails)
	}
	out["commits"] = out["iops"]
	unknown := func(why string) Figure { return Figure{Why: why} }
	switch {
	case !s.Valid:
		for what := range out {
			out[what] = unknown(name + " says that " + s.ID + " is invalid")
		}
	case s.AskedIOPS > 0:
		out["iops"], out["mbps"] = unknown(s.ID+" was held to a rate"), unknown(s.ID+" was held to a rate")
		out["commits"] = out["iops"]
	}
	switch {
	case !s.Valid:
	case !s.Durable:
		out["commits"] = unknown(s.ID + " does not wait until its writes are durable")
	case s.Undurable:
		out["commits"] = unknown(s.ID + " was NOT DURABLE: its commits would be lost with the power")
	}
	for what, f := range out {
		if !f.Known() && f.Why == "" {
			delete(out, what)
		}
	}
	return out
}

// notesOf is what must be said beside a result's figures.
func notesOf(name string, r *result.Result) []string {
	if r.Kind == result.Entered {
		return append([]string{"entered, not measured here: " + r.Source}, r.Labels...)
	}
	if r.Kind == result.Imported {
		return append([]string{"imported, measured by another program: " + r.Source + "; nothing is known of what disturbed it"}, r.Labels...)
	}
	e := r.Environment
	out := []string{strings.TrimSpace(fmt.Sprintf("measured: %s (%s %s, %s, %s profile, %s)", name, e.Host, e.Directory, e.Filesystem, r.Profile, farm.Counted(r.Noise.Runs, "run")))}
	if !r.Complete {
		out = append(out, name+" is not complete")
	}
	for _, why := range r.InvalidBecause {
		out = append(out, name+" is INVALID: "+why)
	}
	for _, why := range r.Noise.Reasons {
		out = append(out, name+" was disturbed: "+why)
	}
	for _, l := range r.Labels {
		out = append(out, name+": "+l)
	}
	return out
}
