package effect

import (
	"bytes"
	"strings"
)

// Mode is the part of sql_mode that changes how text is read.
type Mode struct {
	NoBackslashEscapes bool // a backslash in a literal is a backslash
	AnsiQuotes         bool // "x" is a name
}

// tokenKind tells tokens apart.
type tokenKind byte

const (
	aWord     tokenKind = iota // keyword, name or number
	aQuoted                    // `name`, and "name" under ANSI_QUOTES
	aText                      // a literal
	aVariable                  // @x
	aSystem                    // @@x
	aMark                      // ?
	aSymbol                    // one byte of anything else
)

// token is one token; text is its name in lower case, without quotes or @; of a
// literal it is the beginning.
type token struct {
	kind    tokenKind
	text    string
	at, end int // offsets in the statement
	depth   int // of parentheses
	code    int // the version comment that it is in, counted from 1; 0: in none
}

// lexed is a statement as the server's lexer sees it.
type lexed struct {
	tokens []token
	fault  string // why the text cannot be read to its end
}

// maxTokens bounds what is kept of one statement. An INSERT of a million rows
// is told by its beginning; but then it is not a read.
const maxTokens = 1 << 17

// longestKept is how much of a literal a token keeps.
const longestKept = 40

// lex reads a statement as a MariaDB or MySQL server does: three kinds of
// comments, version comments as code, literals with escapes and doubled quotes.
//
// Whether the server runs the content of a version comment depends on its
// version, so a comment whose end is another when its content is skipped (it
// holds half a literal, or a comment) is a fault.
func lex(q []byte, m Mode) lexed {
	l := lexer{q: q, mode: m}
	l.run()
	return lexed{l.out, l.fault}
}

type lexer struct {
	q       []byte
	mode    Mode
	out     []token
	fault   string
	codes   int // version comments so far
	codeEnd int // where the one ends that we are in; 0: in none
	depth   int
}

func (l *lexer) run() {
	i := 0
	for i < len(l.q) && l.fault == "" {
		seen := len(l.out)
		i = l.step(i)
		if len(l.out) > seen {
			l.out[seen].end = i
		}
		if len(l.out) > maxTokens {
			l.fault = "longer than can be judged"
		}
	}
	switch {
	case l.fault != "":
	case l.codeEnd > 0:
		l.fault = "a version comment that does not end"
	case l.depth != 0:
		l.fault = "it ends inside parentheses"
	}
}

// step reads what begins at i and returns where the next thing does.
func (l *lexer) step(i int) int {
	q := l.q
	if l.codeEnd > 0 && i >= l.codeEnd {
		if i > l.codeEnd {
			l.fault = "a version comment that ends inside a literal or comment"
			return i
		}
		l.codeEnd = 0
		return i + 2
	}
	switch c := q[i]; {
	case isSpace(c):
		return i + 1
	case c == '#':
		return l.lineComment(i)
	case c == '-' && i+1 < len(q) && q[i+1] == '-' && (i+2 == len(q) || q[i+2] <= ' ' || q[i+2] == 0x7f):
		return l.lineComment(i)
	case c == '/' && i+1 < len(q) && q[i+1] == '*':
		return l.comment(i)
	case c == '\'' || c == '"' || c == '`':
		return l.quoted(i, i)
	case c == '@':
		return l.variable(i)
	case isWordByte(c):
		j := i
		for j < len(q) && isWordByte(q[j]) {
			j++
		}
		l.add(aWord, lower(q[i:j]), i)
		return j
	}
	return l.symbol(i)
}

func (l *lexer) symbol(i int) int {
	switch c := l.q[i]; c {
	case '(':
		l.add(aSymbol, "(", i)
		l.depth++
		return i + 1
	case ')':
		l.depth--
		if l.depth < 0 {
			l.fault = "a parenthesis too many"
		}
	case '?':
		l.add(aMark, "?", i)
		return i + 1
	case 0:
		l.fault = "a zero byte outside of literals"
	}
	l.add(aSymbol, string(l.q[i:i+1]), i)
	return i + 1
}

func (l *lexer) add(kind tokenKind, text string, at int) {
	t := token{kind: kind, text: text, at: at, depth: l.depth}
	if l.codeEnd > 0 {
		t.code = l.codes
	}
	l.out = append(l.out, t)
}

func (l *lexer) lineComment(i int) int {
	n := bytes.IndexByte(l.q[i:], '\n')
	if n < 0 {
		return len(l.q)
	}
	return i + n + 1
}

// comment steps over a comment, or into a version comment.
func (l *lexer) comment(i int) int {
	q := l.q
	j := i + 2
	if j < len(q) && q[j] == 'M' {
		j++
	}
	end := bytes.Index(q[i+2:], []byte("*/"))
	if end < 0 {
		l.fault = "a comment that does not end"
		return len(q)
	}
	end += i + 2
	if j >= len(q) || q[j] != '!' {
		return end + 2 // comments do not nest
	}
	if l.codeEnd > 0 {
		l.fault = "a version comment inside another"
		return i
	}
	l.codes, l.codeEnd = l.codes+1, end
	for j++; j < end && isDigit(q[j]); j++ {
	}
	return min(j, end)
}

// quoted reads a literal or a quoted name that begins with the quote at i; the
// token begins at from.
func (l *lexer) quoted(i, from int) int {
	q := l.q
	quote := q[i]
	isName := quote == '`' || quote == '"' && l.mode.AnsiQuotes
	var name []byte
	for j := i + 1; j < len(q); j++ {
		switch {
		case q[j] == '\\' && !isName && !l.mode.NoBackslashEscapes:
			j++
		case q[j] != quote:
			if isName {
				name = append(name, q[j])
			}
		case j+1 < len(q) && q[j+1] == quote:
			if isName {
				name = append(name, quote)
			}
			j++
		default:
			if isName {
				l.add(aQuoted, lower(name), from)
			} else {
				l.add(aText, lower(q[i+1:min(j, i+1+longestKept)]), from)
			}
			return j + 1
		}
	}
	l.fault = "a literal that does not end"
	return len(q)
}

// variable reads @x, @'x', @`x` and @@x.
func (l *lexer) variable(i int) int {
	q := l.q
	kind, j := aVariable, i+1
	if j < len(q) && q[j] == '@' {
		kind, j = aSystem, j+1
	}
	if kind == aVariable && j < len(q) && (q[j] == '\'' || q[j] == '"' || q[j] == '`') {
		j = l.quoted(j, i)
		if l.fault == "" {
			l.out[len(l.out)-1].kind = aVariable
		}
		return j
	}
	begin := j
	for j < len(q) && (isWordByte(q[j]) || q[j] == '.' && kind == aVariable) {
		j++
	}
	l.add(kind, lower(q[begin:j]), i)
	return j
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWordByte are the bytes of names without quotes.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

func lower(b []byte) string { return string(bytes.ToLower(b)) }

// isNumber says whether a word is one: 12, 0x1f, 1e5, 2.
func isNumber(w string) bool {
	if w == "" || !isDigit(w[0]) {
		return false
	}
	hex := len(w) > 2 && w[0] == '0' && (w[1] == 'x' || w[1] == 'b')
	seenE := false
	for i := 1; i < len(w); i++ {
		c := w[i]
		switch {
		case isDigit(c):
		case hex && (i == 1 || c >= 'a' && c <= 'f'):
		case c == 'e' && !seenE && !hex:
			seenE = true
		default:
			return false
		}
	}
	return true
}

// nameOf is the name that a token is, in the letters in which it was written.
func nameOf(q []byte, t token) string {
	raw := string(q[t.at:t.end])
	if t.kind == aQuoted && len(raw) > 1 {
		quote := raw[:1]
		return strings.ReplaceAll(raw[1:len(raw)-1], quote+quote, quote)
	}
	return raw
}

// Mentions reports whether a statement has one of these names in it. Names are in lower case.
func Mentions(text []byte, m Mode, names map[string]bool) bool {
	for _, t := range lex(text, m).tokens {
		if (t.kind == aWord || t.kind == aQuoted) && names[t.text] {
			return true
		}
	}
	return false
}

// IsSet reports whether a statement is a SET, other than of a transaction's properties.
func IsSet(text []byte) bool {
	t := lex(text, Mode{}).tokens
	return len(t) > 1 && t[0].text == "set" && t[1].text != "transaction"
}
