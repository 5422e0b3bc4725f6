package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Saturation: a storage is saturated where more requests at a time bring waiting instead of speed.
const (
	doubles = 2.0  // times the 99th percentile
	hardly  = 1.10 // times the IOPS
)

// Curve is one load with more and more requests at a time: what each depth brings, and what its requests wait.
type Curve struct {
	Load   string  // as RND16K-W-FDS: the name of a step without its depth
	Points []*Step // by rising requests at a time; at least one
	// Knee is the point beyond which the 99th percentile doubles for less than 10 % more IOPS; -1 where none of those measured is it.
	Knee int
	// Sure: the intervals of the knee and of all depths beyond it reach no farther than the 10 % that it is about.
	Sure bool
}

// AtOnce is how many requests are outstanding, of all threads together.
func (s *Step) AtOnce() int { return s.Outstanding * s.Threads }

// Depth is the end of a step's name, as Q8T4.
func (s *Step) Depth() string { return fmt.Sprintf("Q%dT%d", s.Outstanding, s.Threads) }

// Load is a step's name without its depth, as RND16K-R. It is empty for a step that is more than its load: MIX and the rows beside it, where
// another load runs at the same time, and STABILITY.
func (s *Step) Load() string {
	load, isLoad := strings.CutSuffix(s.ID, "-"+s.Depth())
	if !isLoad || strings.Contains(load, "/") {
		return ""
	}
	return load
}

// Curves are the loads of a result that were measured at more than one depth, in the order of its steps.
func (r *Result) Curves() []Curve {
	var out []Curve
	for _, s := range r.Steps {
		load := s.Load()
		if load == "" || s.Runs == 0 {
			continue
		}
		at := slices.IndexFunc(out, func(c Curve) bool { return c.Load == load })
		if at < 0 {
			at, out = len(out), append(out, Curve{Load: load})
		}
		out[at].Points = append(out[at].Points, s)
	}
	out = slices.DeleteFunc(out, func(c Curve) bool { return len(c.Points) < 2 })
	for i := range out {
		slices.SortStableFunc(out[i].Points, func(a, b *Step) int {
			return cmp.Or(cmp.Compare(a.AtOnce(), b.AtOnce()), cmp.Compare(a.Threads, b.Threads))
		})
		c := &out[i]
		c.Knee = knee(c.Points)
		c.Sure = c.Knee >= 0 && !slices.ContainsFunc(c.Points[c.Knee:], func(s *Step) bool { return !s.IsTight(hardly - 1) })
	}
	return out
}

// knee is the first point beyond which no depth brings 10 % more IOPS, and some depth doubles the 99th percentile. Neighbours alone would miss
// a percentile that doubles in two small steps. What is invalid bends no curve: its figures are not the storage's.
func knee(points []*Step) int {
	isFigure := func(s *Step) bool { return s.Valid && s.IOPS > 0 && s.Lat.P99 > 0 }
	for i, p := range points {
		if !isFigure(p) {
			continue
		}
		more, waits := false, false
		for _, deeper := range points[i+1:] {
			if isFigure(deeper) && deeper.AtOnce() > p.AtOnce() {
				more = more || deeper.IOPS >= hardly*p.IOPS
				waits = waits || deeper.Lat.P99 >= doubles*p.Lat.P99
			}
		}
		if waits && !more {
			return i
		}
	}
	return -1
}
