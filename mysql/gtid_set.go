package mysql

import (
	"cmp"
	"fmt"
	"slices"
	"stowage/internal/lazy"
	"strconv"
	"strings"
)

// Span is a run of transaction numbers of one origin, both ends included.
type Span struct{ From, To uint64 }

func (s Span) String() string {
	if s.From == s.To {
		return strconv.FormatUint(s.From, 10)
	}
	return fmt.Sprintf("%d-%d", s.From, s.To)
}

var (
	uuidText = lazy.Regexp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)
	tagText  = lazy.Regexp(`^[a-z_][a-z0-9_]{0,31}$`)
)

// maxGTID is the largest transaction number of MySQL (reference manual,
// "GTID Format and Storage": below 2^63-1).
const maxGTID = 1<<63 - 2

// parseGTIDSet reads a GTID set of MySQL: uuid[:tag]:from-to:from-to,...,
// where a tag holds for the spans behind it (tags exist since MySQL 8.3).
func parseGTIDSet(text string) (Position, error) {
	p := Position{}
	for _, part := range strings.Split(text, ",") {
		part = strings.ToLower(strings.TrimSpace(part))
		if part == "" {
			continue
		}
		fields := strings.Split(part, ":")
		uuid := strings.TrimSpace(fields[0])
		if !uuidText().MatchString(uuid) {
			return Position{}, fmt.Errorf("parse GTID set %q: want uuid:first-last", part)
		}
		origin, counted := Origin(withDashes(uuid)), false
		for _, f := range fields[1:] {
			f = strings.TrimSpace(f)
			if tagText().MatchString(f) {
				origin = Origin(withDashes(uuid) + ":" + f)
				continue
			}
			span, err := parseSpan(f)
			if err != nil {
				return Position{}, fmt.Errorf("parse GTID set %q: %w", part, err)
			}
			p[origin] = Stretch{Spans: append(p[origin].Spans, span)}
			counted = true
		}
		if !counted {
			return Position{}, fmt.Errorf("parse GTID set %q: no transaction numbers", part)
		}
	}
	for o, s := range p {
		p[o] = Stretch{Spans: tidy(s.Spans)}
	}
	return p, nil
}

func withDashes(uuid string) string {
	u := strings.ReplaceAll(uuid, "-", "")
	return u[:8] + "-" + u[8:12] + "-" + u[12:16] + "-" + u[16:20] + "-" + u[20:]
}

func parseSpan(text string) (Span, error) {
	first, last, is := strings.Cut(text, "-")
	if !is {
		last = first
	}
	from, e1 := strconv.ParseUint(strings.TrimSpace(first), 10, 64)
	to, e2 := strconv.ParseUint(strings.TrimSpace(last), 10, 64)
	if e1 != nil || e2 != nil || from == 0 || to < from || to > maxGTID {
		return Span{}, fmt.Errorf("%q is not a span of transaction numbers", text)
	}
	return Span{from, to}, nil
}

// tidy sorts spans and joins those that overlap or touch.
func tidy(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var out []Span
	for _, s := range spans {
		if n := len(out); n > 0 && s.From <= out[n-1].To+1 {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// missing counts the numbers of want that has lacks. Both are tidy.
func missing(has, want []Span) uint64 {
	var n uint64
	for _, w := range want {
		n += w.To - w.From + 1
		for _, h := range has {
			if from, to := max(w.From, h.From), min(w.To, h.To); from <= to {
				n -= to - from + 1
			}
		}
	}
	return n
}

// rest is all that MySQL servers that p knows of could ever write and that is
// not in p.
func (p Position) rest() Position {
	out := Position{}
	for o, s := range p {
		var spans []Span
		next := uint64(1)
		for _, has := range s.Spans {
			if has.From > next {
				spans = append(spans, Span{next, has.From - 1})
			}
			next = has.To + 1
		}
		if next <= maxGTID {
			spans = append(spans, Span{next, maxGTID})
		}
		if len(spans) > 0 {
			out[o] = Stretch{Spans: spans}
		}
	}
	return out
}
