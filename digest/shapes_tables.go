package digest

import "bytes"

// tableSpot is where the name of a table stands in all statements of one shape: from and to are distances behind the
// ends of so many runs of digits and literals.
type tableSpot struct{ fromGap, from, toGap, to int }

// maxSpots is how many names of one statement are spotted; statements with more are read anew each time.
const maxSpots = 4

// spotTables finds where the tables of a statement stand. ok is false when that may not be the same for every statement
// of its shape: names in backticks, and those of common table expressions, which depend on which names are equal.
func spotTables(q []byte, parts []shapePart) (spots []tableSpot, ok bool) {
	t := tableReader{tokens: tokens{q: q}, spots: []nameSpot{}}
	t.read()
	if t.with || len(t.spots) > maxSpots {
		return nil, false
	}
	for _, s := range t.spots {
		if s.quoted {
			return nil, false
		}
		var spot tableSpot
		spot.fromGap, spot.from = spotOf(s.from, parts)
		spot.toGap, spot.to = spotOf(s.to, parts)
		spots = append(spots, spot)
	}
	return spots, true
}

// spotOf is an offset as a distance behind a gap.
func spotOf(at int, parts []shapePart) (gap, distance int) {
	for gap < len(parts) && parts[gap].gap != 0 && parts[gap].end <= at {
		gap++
	}
	if gap > 0 {
		at -= parts[gap-1].end
	}
	return gap, at
}

// appendTables is tablesOf for a statement of a known shape, with the ends of its gaps counted from its beginning.
func (k *knownStatement) appendTables(dst [][]byte, q []byte, ends *[maxShapeGaps + 1]int) [][]byte {
	first := len(dst)
next:
	for i := range k.tables {
		name := k.tables[i].in(q, ends)
		for _, have := range dst[first:] {
			if bytes.Equal(have, name) {
				continue next
			}
		}
		dst = append(dst, name)
	}
	return dst
}

func (s *tableSpot) in(q []byte, ends *[maxShapeGaps + 1]int) []byte {
	from, to := s.from, s.to
	if s.fromGap > 0 {
		from += ends[s.fromGap-1]
	}
	if s.toGap > 0 {
		to += ends[s.toGap-1]
	}
	return q[from:to]
}
