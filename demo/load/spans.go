package load

import "sort"

// spans is a set of sequence numbers as sorted, separate ranges.
type spans struct{ ranges []span }

type span struct{ from, to int64 } // inclusive

// add is quick for the number after the highest, which is the usual one.
func (s *spans) add(n int64) {
	if last := len(s.ranges) - 1; last >= 0 && s.ranges[last].to+1 == n {
		s.ranges[last].to = n
		return
	}
	at := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].to >= n })
	if at < len(s.ranges) && s.ranges[at].from <= n {
		return
	}
	s.ranges = append(s.ranges, span{})
	copy(s.ranges[at+1:], s.ranges[at:])
	s.ranges[at] = span{n, n}
	s.join(at)
	s.join(at - 1)
}

// join merges range at with the next one if they touch.
func (s *spans) join(at int) {
	if at < 0 || at+1 >= len(s.ranges) || s.ranges[at].to+1 != s.ranges[at+1].from {
		return
	}
	s.ranges[at].to = s.ranges[at+1].to
	s.ranges = append(s.ranges[:at+1], s.ranges[at+2:]...)
}

func (s *spans) count() (n int64) {
	for _, r := range s.ranges {
		n += r.to - r.from + 1
	}
	return n
}

// has reports whether n is in the set; a nil set is empty.
func (s *spans) has(n int64) bool {
	if s == nil {
		return false
	}
	at := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].to >= n })
	return at < len(s.ranges) && s.ranges[at].from <= n
}

// each calls f for every number, in order.
func (s *spans) each(f func(int64)) {
	for _, r := range s.ranges {
		for n := r.from; n <= r.to; n++ {
			f(n)
		}
	}
}
