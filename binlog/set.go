package binlog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// set is a GTID set of MySQL: for each source its spans of numbers, in order, with something missing between two of them.
type set map[string][]span

// span has both ends.
type span struct{ from, to uint64 }

func (s span) String() string {
	if s.from == s.to {
		return strconv.FormatUint(s.from, 10)
	}
	return fmt.Sprintf("%d-%d", s.from, s.to)
}

func (s *State) add(source string, x span) {
	if s.set == nil {
		s.set = set{}
	}
	all := s.set[source]
	if n := len(all); n > 0 && x.from == all[n-1].to+1 { // as nearly always
		all[n-1].to = x.to
		return
	}
	all = append(all, x)
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := all[:1]
	for _, x := range all[1:] {
		if last := &out[len(out)-1]; x.from <= last.to+1 {
			last.to = max(last.to, x.to)
			continue
		}
		out = append(out, x)
	}
	s.set[source] = out
}

func (s set) clone() set {
	out := maps.Clone(s)
	for source, all := range out {
		out[source] = slices.Clone(all)
	}
	return out
}

// String is the set in the server's words, by source. Spans of a tag have their own uuid before them.
func (s set) String() string {
	var out []string
	for _, source := range slices.Sorted(maps.Keys(s)) {
		words := []string{source}
		for _, x := range s[source] {
			words = append(words, x.String())
		}
		out = append(out, strings.Join(words, ":"))
	}
	return strings.Join(out, ",")
}

// lacks is the first of other that s does not have.
func (s set) lacks(other set) (g GTID, lacks bool) {
	for _, source := range slices.Sorted(maps.Keys(other)) {
		for _, want := range other[source] {
			next := want.from
			for _, has := range s[source] {
				if has.from <= next && next <= has.to {
					next = has.to + 1
				}
			}
			if next <= want.to {
				return GTID{Source: source, Seq: next}, true
			}
		}
	}
	return GTID{}, false
}

// without is what of s is not in other.
func (s set) without(other set) set {
	out := State{set: set{}}
	for source, all := range s {
		for _, x := range all {
			next := x.from
			for _, y := range other[source] {
				if y.to < next || y.from > x.to {
					continue
				}
				if y.from > next {
					out.add(source, span{next, y.from - 1})
				}
				next = y.to + 1
			}
			if next <= x.to {
				out.add(source, span{next, x.to})
			}
		}
	}
	return out.set
}

// parseSet reads uuid:from-to:from-to:tag:from-to,... as servers print it.
func parseSet(text string) (set, error) {
	s := State{set: set{}}
	for part := range strings.SplitSeq(text, ",") {
		fields := strings.Split(strings.ToLower(strings.TrimSpace(part)), ":")
		if fields[0] == "" && len(fields) == 1 {
			continue
		}
		uuid, source, counted := fields[0], fields[0], false
		for _, f := range fields[1:] {
			f = strings.TrimSpace(f)
			if f != "" && (f[0] < '0' || f[0] > '9') {
				source = uuid + ":" + f
				continue
			}
			x, err := parseSpan(f)
			if err != nil {
				return nil, fmt.Errorf("%q is not a GTID set of MySQL: %w", part, err)
			}
			s.add(source, x)
			counted = true
		}
		if len(uuid) != 36 || !counted {
			return nil, fmt.Errorf("%q is not a GTID set of MySQL: uuid:first-last is wanted", part)
		}
	}
	return s.set, nil
}

func parseSpan(text string) (span, error) {
	first, last, is := strings.Cut(text, "-")
	if !is {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 63)
	to, err2 := strconv.ParseUint(last, 10, 63)
	if err1 != nil || err2 != nil || from == 0 || to < from {
		return span{}, fmt.Errorf("%q is not a span of transaction numbers", text)
	}
	return span{from, to}, nil
}
