package digest

// tokenKind tells the tokens of SQL apart, as far as this package cares.
type tokenKind byte

const (
	tokenNone   tokenKind = iota
	tokenWord             // keyword, name or number
	tokenQuoted           // `name`
	tokenText             // 'literal' or "literal"
	tokenSymbol           // one byte of anything else
)

// tokens walks over a statement, leaving out blanks and comments. The content of version comments (/*!40101 .. */) is
// read as code, as the server does.
type tokens struct {
	q       []byte
	kind    tokenKind
	at, end int
	lower   [16]byte
}

// next moves to the next token; false at the end.
func (t *tokens) next() bool {
	i := t.end
	for i < len(t.q) {
		c := t.q[i]
		switch {
		case isBlank(c):
			i++
			continue
		case c == '#' || c == '-' && i+1 < len(t.q) && t.q[i+1] == '-' && (i+2 == len(t.q) || isBlank(t.q[i+2])):
			for i < len(t.q) && t.q[i] != '\n' {
				i++
			}
			continue
		case c == '/' && i+1 < len(t.q) && t.q[i+1] == '*':
			i = t.comment(i)
			continue
		case c == '*' && i+1 < len(t.q) && t.q[i+1] == '/':
			i += 2
			continue
		}
		t.token(i)
		return true
	}
	t.kind, t.at, t.end = tokenNone, len(t.q), len(t.q)
	return false
}

// comment is where the comment at i ends; for a version comment, where its content begins.
func (t *tokens) comment(i int) int {
	q := t.q
	j := i + 2
	if j < len(q) && q[j] == 'M' {
		j++
	}
	if j < len(q) && q[j] == '!' {
		for j++; j < len(q) && isDigit(q[j]); j++ {
		}
		return j
	}
	for j = i + 2; j+1 < len(q); j++ {
		if q[j] == '*' && q[j+1] == '/' {
			return j + 2
		}
	}
	return len(q)
}

func (t *tokens) token(i int) {
	q := t.q
	t.at = i
	switch c := q[i]; {
	case isName(c):
		for i < len(q) && isName(q[i]) {
			i++
		}
		t.kind = tokenWord
	case c == '`':
		for i++; i < len(q) && q[i] != '`'; i++ {
		}
		t.kind, i = tokenQuoted, min(i+1, len(q))
	case c == '\'' || c == '"':
		for i++; i < len(q) && q[i] != c; i++ {
			if q[i] == '\\' {
				i++
			}
		}
		t.kind, i = tokenText, min(i+1, len(q))
	default:
		t.kind = tokenSymbol
		i++
	}
	t.end = i
}

// isName are the bytes of unquoted names; the question mark stands for digits in fingerprints.
func isName(c byte) bool { return isWord(c) || c == '$' || c == '?' || c >= 0x80 }

// keyword is the present word in lower case, or empty when it is too long for a keyword. The string is only valid until
// the next call, unless it is one of the constants it is compared with.
func (t *tokens) keyword() string {
	n := t.end - t.at
	if n > len(t.lower) {
		return "(long)"
	}
	for i := range n {
		c := t.q[t.at+i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		t.lower[i] = c
	}
	return string(t.lower[:n])
}

// peek is the byte of the next token, 0 at the end.
func (t *tokens) peek() byte {
	next := *t
	if !next.next() {
		return 0
	}
	return next.q[next.at]
}
