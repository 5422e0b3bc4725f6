package digest

import "bytes"

// What a byte means to ptqdFast.
const (
	asUnusual   = iota // leave the statement to ptqdSlow
	asPlain            // copied
	asLetter           // part of a word
	asNumber           // begins a number: digit or sign
	asBlank            // space
	asQuote            // begins a literal
	asBacktick         // begins or ends a quoted name
	asOpen             // (
	asClose            // )
	asQuestion         // ? in the text itself: a placeholder
	asDashSlash        // / may begin a comment
)

// byteKind and numberTail are the two tables ptqdFast runs on.
var byteKind = func() (k [256]uint8) {
	for c := range 256 {
		switch b := byte(c); {
		case isDigit(b) || b == '+' || b == '-':
			k[c] = asNumber
		case isWord(b):
			k[c] = asLetter
		case isBlank(b) && b != '\v':
			k[c] = asBlank
		case b == '\'' || b == '"':
			k[c] = asQuote
		case b == '`':
			k[c] = asBacktick
		case b == '(':
			k[c] = asOpen
		case b == ')':
			k[c] = asClose
		case b == '?':
			k[c] = asQuestion
		case b == '/':
			k[c] = asDashSlash
		case b == '#' || b == '\\' || b < ' ' || b == 0x7f:
			k[c] = asUnusual
		default:
			k[c] = asPlain
		}
	}
	return k
}()

// literalUpset are the bytes that plainLiteral must look at more closely.
var literalUpset = [256]bool{'\\': true, '"': true, '\'': true, '*': true, '\n': true, '\r': true, '(': true, ')': true}

// lowerLetter is the lower case of letters and the underscore, 0 for everything else.
var lowerLetter = func() (t [256]byte) {
	for c := range 256 {
		if b := byte(c); isWord(b) && !isDigit(b) {
			t[c] = lowered([]byte{b})[0]
		}
	}
	return t
}()

var numberTail = func() (t [256]bool) {
	for c := range 256 {
		t[c] = isNumberTail(byte(c))
	}
	return t
}()

// ptqdFast is ptqdSlow in one pass, for statements without comments, backslashes, mixed or unbalanced quotes: nearly all
// of them. It writes to dst, which it may grow. ok is false when the statement needs ptqdSlow; when ok is true, the
// statement is also known to end outside of any literal and comment, which is what the slow log reader must know.
func ptqdFast(dst, q []byte) (out []byte, ok bool) {
	if need := 2*len(q) + 16; cap(dst) < need {
		dst = make([]byte, need)
	}
	out = dst[:cap(dst)]
	if len(q) == 0 {
		return out[:0], true
	}
	switch q[0] | 0x20 {
	case 'u', 'c', 'a', ' ', '\r' | 0x20, '\t' | 0x20, '\n' | 0x20, '\f' | 0x20, '\v' | 0x20:
		if hasFold(q, "use ") || hasFold(q, "administrator command: ") || callName(q) != nil {
			return out, false
		}
	}
	into := 0
	if c := q[0] | 0x20; c == 'i' || c == 'r' {
		into = afterInto(q)
	}
	var (
		n      int   // bytes written
		quote  byte  // the kind of quote this statement uses
		inTick bool  // between backticks
		rows   bool  // behind VALUES ( of an INSERT: more rows are cut
		list   = -1  // where the text of a list would be folded from
		open   int   // the parenthesis of that list
		folded = -1  // end of the last folded list
		folds  uint8 // which of the last rules have work
		i      = skipBlanks(q, 0)
	)
	for i < len(q) {
		c := q[i]
		switch byteKind[c] {
		case asLetter:
			start := i
			word := copyWord(out[n:], q[i:])
			i += len(word)
			switch len(word) {
			case 3:
				if word[0] == 'a' && word[1] == 's' {
					folds |= foldsOrder
				}
			case 4, 5:
				switch word[0] {
				case 't', 'f':
					if is := string(word) == "true" || string(word) == "false"; is && wholeWord(q, start, i) {
						n = putMark(out, n, q, start)
						continue
					}
				case 'n':
					if string(word) == "null" {
						out[n] = '?'
						n++
						continue
					}
				case 'u':
					if string(word) == "union" {
						folds |= foldsUnion
					}
				case 'l':
					if string(word) == "limit" {
						folds |= foldsLimit
					}
				case 'a':
					folds |= foldsOrder
				}
			default:
				if word[0] == 'a' {
					folds |= foldsOrder
				}
			}
			n += len(word)
		case asBlank:
			for i++; i < len(q) && byteKind[q[i]] == asBlank; i++ {
			}
			out[n] = ' '
			n++
		case asNumber:
			if c == '-' && i+1 < len(q) && q[i+1] == '-' {
				return out, false
			}
			n = putMark(out, n, q, i)
			for i++; i < len(q) && numberTail[q[i]]; i++ {
				if b := q[i]; b == '-' && q[i-1] == '-' || b == 'f' && !isWord(q[i-1]) {
					return out, false
				}
			}
			if i < len(q) && q[i] == 'F' && !isWord(q[i-1]) {
				return out, false
			}
		case asQuote:
			if inTick || quote != 0 && quote != c {
				return out, false
			}
			quote = c
			end := bytes.IndexByte(q[i+1:], c)
			if end < 0 {
				return out, false
			}
			literal := q[i+1 : i+1+end]
			if !plainLiteral(literal, into > 0) {
				return out, false
			}
			n = putMark(out, n, q, i)
			i += end + 2
		case asBacktick:
			inTick = !inTick
			out[n] = c
			n++
			i++
		case asQuestion:
			n = putMark(out, n, q, i)
			i++
		case asOpen:
			if into > 0 && !rows {
				k := i
				for k > 0 && isBlank(q[k-1]) {
					k--
				}
				rows = k >= into+1+6 && hasFold(q[k-6:], "values")
			}
			list = listBefore(out[:n], folded)
			open = n
			out[n] = c
			n++
			i++
		case asClose:
			out[n] = c
			n++
			i++
			if list >= 0 && onlyMarks(out[open+1:n-1]) {
				n = list
				if list != folded {
					n += copy(out[n:], "(?+)")
				}
				folded = n
			}
			list = -1
			if rows && moreRows(q, i) {
				if inTick || !plainTail(q[i:], quote) {
					return out, false
				}
				return finish(out[:n], folds), true
			}
		case asPlain:
			out[n] = c
			n++
			i++
		case asDashSlash:
			if i+1 < len(q) && q[i+1] == '*' {
				return out, false
			}
			out[n] = c
			n++
			i++
		default:
			return out, false
		}
	}
	if inTick {
		return out, false
	}
	if last := len(q) - 1; n > 0 && q[last] == '\n' && out[n-1] == ' ' && byteKind[q[max(last-1, 0)]] != asBlank {
		n-- // the one newline at the end that is cut, not folded
	}
	return finish(out[:n], folds), true
}

// copyWord copies the letters that q begins with, in lower case, and returns the copy.
func copyWord(out, q []byte) []byte {
	if len(q) > len(out) {
		q = q[:len(out)]
	}
	out = out[:len(q)]
	for k, c := range q {
		l := lowerLetter[c]
		if l == 0 {
			return out[:k]
		}
		out[k] = l
	}
	return out
}

// wholeWord says whether no digit or letter touches q[start:end].
func wholeWord(q []byte, start, end int) bool {
	return (start == 0 || !isWord(q[start-1])) && (end == len(q) || !isDigit(q[end]))
}

// Words seen in a statement that the last rules are about.
const (
	foldsUnion = 1 << iota
	foldsLimit
	foldsOrder // a word that begins with a: it might be asc behind order by
)

func finish(out []byte, folds uint8) []byte {
	if folds&foldsUnion != 0 {
		out = foldUnions(out)
		folds = foldsLimit | foldsOrder // the cut may have made these words
	}
	if folds&foldsLimit != 0 {
		out = foldLimit(out)
	}
	if folds&foldsOrder != 0 {
		out = dropAsc(out)
	}
	return out
}

// putMark writes the question mark of a literal that begins at q[i]. An x, b or point in front of it belongs to the
// literal, and a null that thereby ends is one too.
func putMark(out []byte, n int, q []byte, i int) int {
	if n > 0 {
		switch last := out[n-1]; last {
		case 'x', 'b', '.':
			if i > 0 && q[i-1] == last {
				n--
				if n >= 4 && string(out[n-4:n]) == "null" && (n == 4 || !isWord(out[n-5])) {
					n -= 3
					out[n-1] = '?'
				}
			}
		}
	}
	out[n] = '?'
	return n + 1
}

// listBefore says whether a parenthesis written now would begin a list that is folded: behind in, value or values, or
// behind a folded list. It returns where the folded text begins, or -1.
func listBefore(out []byte, folded int) int {
	n := len(out)
	for n > 0 && (out[n-1] == ' ' || out[n-1] == ',') {
		n--
	}
	if n == folded {
		return n
	}
	if n < 2 {
		return -1
	}
	var size int
	switch out[n-1] {
	case 'n':
		if out[n-2] != 'i' {
			return -1
		}
		size = 2
	case 's':
		size = 6
		if n < 6 || string(out[n-6:n]) != "values" {
			return -1
		}
	case 'e':
		size = 5
		if n < 5 || string(out[n-5:n]) != "value" {
			return -1
		}
	default:
		return -1
	}
	if n > size && isWord(out[n-size-1]) {
		return -1
	}
	return n
}

func onlyMarks(b []byte) bool {
	for _, c := range b {
		if c != '?' && c != ',' && c != ' ' {
			return false
		}
	}
	return true
}

// plainLiteral says whether what is between two quotes cannot upset any rule: no escape, no quote of the other kind,
// no block comment, and in an INSERT nothing that looks like rows. A line comment inside a literal needs the end of the
// line before the closing quote, so it needs a line end in the literal.
func plainLiteral(b []byte, insert bool) bool {
	if len(b) < 16 {
		for _, c := range b {
			if literalUpset[c] {
				return plainLong(b, insert)
			}
		}
		return true
	}
	return plainLong(b, insert)
}

func plainLong(b []byte, insert bool) bool {
	for _, c := range [...]byte{'\\', '"', '\'', '*', '\n', '\r'} {
		if bytes.IndexByte(b, c) >= 0 {
			return false
		}
	}
	return !insert || bytes.IndexByte(b, '(') < 0 && bytes.IndexByte(b, ')') < 0
}

// moreRows says whether another row follows at i.
func moreRows(q []byte, i int) bool {
	i = skipBlanks(q, i)
	if i >= len(q) || q[i] != ',' {
		return false
	}
	i = skipBlanks(q, i+1)
	return i < len(q) && q[i] == '('
}

// plainTail says whether text that is cut off ends outside of literals and comments, as far as that is easy to see.
func plainTail(q []byte, quote byte) bool {
	for i := 0; i < len(q); i++ {
		switch c := q[i]; byteKind[c] {
		case asUnusual, asBacktick:
			return false
		case asDashSlash:
			if i+1 < len(q) && q[i+1] == '*' {
				return false
			}
		case asNumber:
			if c == '-' && i+1 < len(q) && q[i+1] == '-' {
				return false
			}
		case asQuote:
			if quote != 0 && quote != c {
				return false
			}
			quote = c
			end := bytes.IndexByte(q[i+1:], c)
			if end < 0 || bytes.IndexByte(q[i+1:i+1+end], '\\') >= 0 {
				return false
			}
			i += end + 1
		}
	}
	return true
}
