package digest

import (
	"bytes"
)

// The rule set "ptqd": fingerprints byte-equal to those of pt-query-digest 3.2.1, so that IDs join with years of history.
// The rules run one after the other over the whole text, faults included (a quote of one kind inside a literal of the
// other, a number rule that eats letters, comments found inside strings): being right is the other rule set's task.
// This file is the plain, rule-by-rule form; ptqd_fast.go does common statements in one pass and must agree with it.

// ptqdSlow appends the fingerprint of a statement to dst.
func ptqdSlow(dst, query []byte) []byte {
	if bytes.HasPrefix(query, []byte("SELECT /*!40001 SQL_NO_CACHE */ * FROM `")) {
		return append(dst, "mysqldump"...)
	}
	if hasToolkitMark(query) {
		return append(dst, "percona-toolkit"...)
	}
	if bytes.HasPrefix(query, []byte("administrator command: ")) {
		return append(dst, query...)
	}
	if call := callName(query); call != nil {
		return append(dst, lowered(call)...)
	}
	q := cutMultiRow(query)
	q = dropLineComments(dropBlockComments(q))
	if rest, ok := useStatement(q); ok {
		return append(append(dst, "use ?"...), rest...)
	}
	q = dropQuoted(dropQuoted(dropEscapes(q), '"'), '\'')
	q = dropWords(q, "true", "false")
	q = dropPrefixes(dropNumbers(q))
	q = foldBlanks(q)
	lower(q)
	q = dropWords(q, "null")
	q = foldLists(q)
	q = foldUnions(q)
	q = foldLimit(q)
	q = dropAsc(q)
	return append(dst, q...)
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func lower(b []byte) {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
}

func lowered(b []byte) []byte {
	out := bytes.Clone(b)
	lower(out)
	return out
}

// hasFold says whether b begins with an ASCII word, which is given in lower case.
func hasFold(b []byte, word string) bool {
	if len(b) < len(word) {
		return false
	}
	for i := range len(word) {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

func skipBlanks(b []byte, i int) int {
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	return i
}

func skipWord(b []byte, i int) int {
	for i < len(b) && isWord(b[i]) {
		i++
	}
	return i
}

// hasToolkitMark looks for the comment that the toolkit's own programs put into their queries: /*word.word:1/2*/.
func hasToolkitMark(q []byte) bool {
	for i := 0; ; i += 2 {
		j := bytes.Index(q[i:], []byte("/*"))
		if j < 0 {
			return false
		}
		i += j
		w := skipWord(q, i+2)
		if w == i+2 || w >= len(q) || q[w] != '.' {
			continue
		}
		v := skipWord(q, w+1)
		if v == w+1 || len(q)-v < 6 {
			continue
		}
		t := q[v:]
		if t[0] == ':' && isDigit(t[1]) && t[2] == '/' && isDigit(t[3]) && t[4] == '*' && t[5] == '/' {
			return true
		}
	}
}

// callName is "call name" of a procedure call up to its last parenthesis without a blank before it, or nil.
func callName(q []byte) []byte {
	i := skipBlanks(q, 0)
	start := i
	if !hasFold(q[i:], "call") {
		return nil
	}
	j := skipBlanks(q, i+4)
	if j == i+4 {
		return nil
	}
	end := j
	for end < len(q) && !isBlank(q[end]) {
		end++
	}
	paren := bytes.LastIndexByte(q[j:end], '(')
	if paren < 1 {
		return nil
	}
	return q[start : j+paren]
}

// cutMultiRow cuts INSERT and REPLACE after the first row of several, and with it whatever follows the rows.
func cutMultiRow(q []byte) []byte {
	into := afterInto(q)
	if into == 0 {
		return q
	}
	row := -1
	for k := into + 1; k+6 <= len(q); k++ {
		if (q[k] == 'v' || q[k] == 'V') && hasFold(q[k:], "values") {
			if p := skipBlanks(q, k+6); p < len(q) && q[p] == '(' {
				row = p + 1
				break
			}
		}
	}
	if row < 0 {
		return q
	}
	for {
		p := bytes.IndexByte(q[row:], ')')
		if p < 0 {
			return q
		}
		row += p + 1
		if c := skipBlanks(q, row); c < len(q) && q[c] == ',' {
			if c = skipBlanks(q, c+1); c < len(q) && q[c] == '(' {
				return q[:row]
			}
		}
	}
}

// afterInto is the offset behind INSERT [IGNORE] INTO or REPLACE [IGNORE] INTO at the very start of a query, else 0.
func afterInto(q []byte) int {
	var i int
	switch {
	case hasFold(q, "insert"):
		i = 6
	case hasFold(q, "replace"):
		i = 7
	default:
		return 0
	}
	if hasFold(q[i:], " ignore") {
		if j := skipBlanks(q, i+7); j > i+7 && hasFold(q[j:], "into") {
			i += 7
		}
	}
	j := skipBlanks(q, i)
	if j == i || !hasFold(q[j:], "into") {
		return 0
	}
	return j + 4
}

// dropBlockComments removes /* .. */ unless it is a version comment. The byte after the opening belongs to the comment
// whatever it is, so /**/ does not end itself.
func dropBlockComments(q []byte) []byte {
	i := bytes.Index(q, []byte("/*"))
	if i < 0 {
		return q
	}
	out := append([]byte(nil), q[:i]...)
	last := bytes.LastIndex(q, []byte("*/")) // no comment can end behind it
	for i < len(q) {
		if q[i] == '/' && i+3 <= last && q[i+1] == '*' && q[i+2] != '!' {
			i += 3 + bytes.Index(q[i+3:], []byte("*/")) + 2
			continue
		}
		out = append(out, q[i])
		i++
	}
	return out
}

// dropLineComments removes -- and # up to the end of the line, unless a quote stands in between.
func dropLineComments(q []byte) []byte {
	out := make([]byte, 0, len(q))
	quoteFree := -1 // the text from the last comment mark up to here is known to hold a quote
	for i := 0; i < len(q); {
		if q[i] == '#' || q[i] == '-' && i+1 < len(q) && q[i+1] == '-' {
			if quoteFree <= i {
				end := i + 1
				for end < len(q) && q[end] != '\'' && q[end] != '"' && q[end] != '\r' && q[end] != '\n' {
					end++
				}
				if end == len(q) || q[end] == '\r' || q[end] == '\n' {
					i = end
					continue
				}
				quoteFree = end
			}
		}
		out = append(out, q[i])
		i++
	}
	return out
}

// useStatement says whether the text is "use name", and what is left of it (a newline at the most).
func useStatement(q []byte) (rest []byte, ok bool) {
	if !hasFold(q, "use ") {
		return nil, false
	}
	i := 4
	for i < len(q) && !isBlank(q[i]) {
		i++
	}
	if i == 4 || i < len(q) && !(i == len(q)-1 && q[i] == '\n') {
		return nil, false
	}
	return q[i:], true
}

func dropEscapes(q []byte) []byte {
	if bytes.IndexByte(q, '\\') < 0 {
		return q
	}
	out := make([]byte, 0, len(q))
	for i := 0; i < len(q); i++ {
		if q[i] == '\\' && i+1 < len(q) && (q[i+1] == '"' || q[i+1] == '\'') {
			i++
			continue
		}
		out = append(out, q[i])
	}
	return out
}

// dropQuoted turns everything from one quote to the next into a question mark. A last one without a partner stays.
func dropQuoted(q []byte, quote byte) []byte {
	out := make([]byte, 0, len(q))
	for {
		i := bytes.IndexByte(q, quote)
		if i < 0 {
			break
		}
		j := bytes.IndexByte(q[i+1:], quote)
		if j < 0 {
			break
		}
		out = append(append(out, q[:i]...), '?')
		q = q[i+1+j+1:]
	}
	return append(out, q...)
}

// dropWords turns whole words, in any case, into question marks. It works in place.
func dropWords(q []byte, words ...string) []byte {
	out := q[:0]
	for i := 0; i < len(q); {
		if !isWord(q[i]) {
			out = append(out, q[i])
			i++
			continue
		}
		end := skipWord(q, i)
		dropped := false
		for _, w := range words {
			if end-i == len(w) && hasFold(q[i:], w) {
				dropped = true
			}
		}
		if dropped {
			out = append(out, '?')
		} else {
			out = append(out, q[i:end]...)
		}
		i = end
	}
	return out
}

// isNumberTail are the bytes that follow a digit or sign inside a number, as the reference sees it: lower-case hex.
func isNumberTail(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c == '.' || c == 'x' || c == '+' || c == '-'
}

func dropNumbers(q []byte) []byte {
	out := q[:0]
	for i := 0; i < len(q); {
		if !isDigit(q[i]) && q[i] != '+' && q[i] != '-' {
			out = append(out, q[i])
			i++
			continue
		}
		for i++; i < len(q) && isNumberTail(q[i]); i++ {
		}
		out = append(out, '?')
	}
	return out
}

// dropPrefixes removes x, b, point and sign in front of a question mark.
func dropPrefixes(q []byte) []byte {
	out := q[:0]
	for i := 0; i < len(q); i++ {
		if i+1 < len(q) && q[i+1] == '?' {
			switch q[i] {
			case 'x', 'b', '.', '+', '-':
				out = append(out, '?')
				i++
				continue
			}
		}
		out = append(out, q[i])
	}
	return out
}

// foldBlanks cuts blanks in front and one newline at the end, and makes one space of every other run of blanks. A
// vertical tab is a blank in front, but nowhere else.
func foldBlanks(q []byte) []byte {
	q = q[skipBlanks(q, 0):]
	if n := len(q); n > 0 && q[n-1] == '\n' {
		q = q[:n-1]
	}
	out := q[:0]
	inRun := false
	for _, c := range q {
		if isBlank(c) && c != '\v' {
			if !inRun {
				out = append(out, ' ')
			}
			inRun = true
			continue
		}
		inRun = false
		out = append(out, c)
	}
	return out
}
