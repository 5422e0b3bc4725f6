package capacity

import (
	"fmt"
	"slices"
	"time"

	"stowage/farm"
)

// Longer has, of what both know, the series that reach further back. A series is taken whole: two sources count different things (a file system
// holds more than tables do), and a joined series would have a step where the source changes. One that takes the place of another says so.
func Longer(own, other []Series) []Series {
	type subject struct {
		kind     Kind
		name     string
		resource farm.ResourceName
	}
	of := func(s Series) subject { return subject{s.Kind, s.Name, s.Resource} }
	long := func(all []Series) map[subject]time.Duration {
		out := map[subject]time.Duration{}
		for _, s := range all {
			out[of(s)] = max(out[of(s)], s.span())
		}
		return out
	}
	ours, theirs := long(own), long(other)
	isTheirs := func(s Series) bool { return theirs[of(s)] > ours[of(s)] }
	out := slices.DeleteFunc(slices.Clone(own), isTheirs)
	for _, s := range other {
		if _, both := ours[of(s)]; both && !isTheirs(s) {
			continue
		} else if both {
			s.Remark = fmt.Sprintf("taken from %s, which has %s; the own history has %s", s.Source, wholeDays(s.span()), wholeDays(ours[of(s)]))
		}
		out = append(out, s)
	}
	return out
}

func wholeDays(d time.Duration) string { return farm.Counted(int(d/(24*time.Hour)), "day") }

// span is from the first sample to the last.
func (s Series) span() time.Duration {
	if len(s.Samples) == 0 {
		return 0
	}
	first := s.Samples[0].At
	for _, x := range s.Samples {
		if x.At.Before(first) {
			first = x.At
		}
	}
	return s.last().Sub(first)
}

// last is when the newest sample was taken; zero without any.
func (s Series) last() (at time.Time) {
	for _, x := range s.Samples {
		if x.At.After(at) {
			at = x.At
		}
	}
	return at
}
