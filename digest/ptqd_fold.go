package digest

import "bytes"

// The last rules of the rule set "ptqd": they run on lower-case text with single blanks, and fold what repeats.

// foldLists makes (?+) of the groups that follow in, value and values, as long as they hold nothing but literals.
func foldLists(q []byte) []byte {
	if bytes.IndexByte(q, '(') < 0 {
		return q
	}
	out := make([]byte, 0, len(q)+2)
	for i := 0; i < len(q); {
		n := listWord(q, i)
		if n == 0 {
			out = append(out, q[i])
			i++
			continue
		}
		out = append(out, q[i:i+n]...)
		i += n
		end := literalGroups(q, i)
		if end > i {
			out = append(out, "(?+)"...)
			i = end
		}
	}
	return out
}

// listWord is the length of in, value or values at i when a word begins there and a literal group follows; else 0.
func listWord(q []byte, i int) int {
	if i > 0 && isWord(q[i-1]) {
		return 0
	}
	rest := q[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("in")):
		if literalGroups(q, i+2) > i+2 {
			return 2
		}
	case bytes.HasPrefix(rest, []byte("values")):
		if literalGroups(q, i+6) > i+6 {
			return 6
		}
	case bytes.HasPrefix(rest, []byte("value")):
		if literalGroups(q, i+5) > i+5 {
			return 5
		}
	}
	return 0
}

// literalGroups is the end of the groups ( ? , .. ) that begin at i, or i when there is none.
func literalGroups(q []byte, i int) int {
	end := i
	for {
		j := i
		for j < len(q) && (isBlank(q[j]) || q[j] == ',') {
			j++
		}
		if j >= len(q) || q[j] != '(' {
			return end
		}
		for j++; j < len(q) && (isBlank(q[j]) || q[j] == '?' || q[j] == ','); j++ {
		}
		if j >= len(q) || q[j] != ')' {
			return end
		}
		i, end = j+1, j+1
	}
}

// maxUnionText is the longest text whose unions are folded: the search is quadratic in the number of selects.
const maxUnionText = 1 << 18

// foldUnions replaces equal selects joined by union with one and a note: select X /*repeat union*/.
func foldUnions(q []byte) []byte {
	if len(q) > maxUnionText || !bytes.Contains(q, []byte(" union")) && !bytes.Contains(q, []byte("\vunion")) {
		return q
	}
	out := make([]byte, 0, len(q)+16)
	for i := 0; i < len(q); {
		end, size, joint := repeatedSelect(q, i)
		if end == 0 {
			out = append(out, q[i])
			i++
			continue
		}
		out = append(append(out, q[i:i+size]...), " /*repeat"...)
		out = append(append(out, joint...), "*/"...)
		i = end
	}
	return out
}

// repeatedSelect looks for "select X union select X .." at i with the shortest X. It returns where the repetition ends,
// the length of the first select and the last joint (" union" or " union all"); end is 0 when there is none.
func repeatedSelect(q []byte, i int) (end, size int, joint []byte) {
	const sel = "select"
	if i > 0 && isWord(q[i-1]) || !bytes.HasPrefix(q[i:], []byte(sel)) || i+7 > len(q) || !isBlank(q[i+6]) {
		return 0, 0, nil
	}
	for from := i + 7; ; {
		u := bytes.Index(q[from:], []byte("union"))
		if u < 0 {
			return 0, 0, nil
		}
		u += from
		from = u + 5
		if u-1 < i+7 || !isBlank(q[u-1]) {
			continue
		}
		first := q[i : u-1]
		if bytes.IndexByte(first, '\n') >= 0 {
			return 0, 0, nil
		}
		at := u - 1
		for {
			next, j := unionOf(q, at, first)
			if next == 0 {
				break
			}
			at, joint = next, j
		}
		if joint != nil {
			return at, len(first), joint
		}
	}
}

// unionOf matches " union[ all] X" at i and returns where it ends, or 0.
func unionOf(q []byte, i int, x []byte) (end int, joint []byte) {
	if i >= len(q) || !isBlank(q[i]) || !bytes.HasPrefix(q[i+1:], []byte("union")) {
		return 0, nil
	}
	for _, tail := range []string{" all", ""} {
		j := i + 6
		if tail != "" {
			if j >= len(q) || !isBlank(q[j]) || !bytes.HasPrefix(q[j+1:], []byte("all")) {
				continue
			}
			j += 4
		}
		if j < len(q) && isBlank(q[j]) && bytes.HasPrefix(q[j+1:], x) {
			return j + 1 + len(x), q[i:j]
		}
	}
	return 0, nil
}

// foldLimit makes "limit ?" of the first limit with one or two literals.
func foldLimit(q []byte) []byte {
	for from := 0; ; {
		i := bytes.Index(q[from:], []byte("limit ?"))
		if i < 0 {
			return q
		}
		i += from
		from = i + 1
		if i > 0 && isWord(q[i-1]) {
			continue
		}
		end := i + len("limit ?")
		for _, tail := range []string{", ?", ",?", " offset ?"} {
			if bytes.HasPrefix(q[end:], []byte(tail)) {
				return append(q[:end:end], q[end+len(tail):]...)
			}
		}
		return q
	}
}

// dropAsc removes every " asc" after the first "order by ". The reference does not look at what follows, so
// "order by ascii(a)" loses its first letters too.
func dropAsc(q []byte) []byte {
	const by = "order by "
	if !bytes.Contains(q, []byte("asc")) {
		return q
	}
	start := -1
	for from := 0; start < 0; {
		i := bytes.Index(q[from:], []byte(by))
		if i < 0 {
			return q
		}
		i += from
		if i == 0 || !isWord(q[i-1]) {
			start = i + len(by)
		}
		from = i + 1
	}
	out := append(make([]byte, 0, len(q)), q[:start]...)
	for i, least := start, start+1; i < len(q); {
		j := skipBlanks(q, i)
		if i >= least && j > i && bytes.HasPrefix(q[j:], []byte("asc")) {
			i = j + 3
			least = i + 1
			continue
		}
		if j == i {
			j++
		}
		if i < least && j > i+1 { // the first byte of a piece is never cut, the rest of the run may be
			j = i + 1
		}
		out = append(out, q[i:j]...)
		i = j
	}
	return out
}
