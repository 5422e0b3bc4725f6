package digest

// shapes recognises statements that were seen before but for their numbers and literals, so that they need no
// fingerprint: a tree of texts that branches where statements differ. Under the rule set ptqd, texts that differ only in
// the length and value of runs of digits, and in what is in quotes as long as it is plain (see plainLiteral), have one
// fingerprint and end in the same place whenever ptqdFast answers for one of them; see ptqd_fast.go, which looks at
// nothing else. Under lexer the same holds for digits that stand alone; digits in names are text here, because which
// names are equal decides what they are.
type shapes struct {
	root    shape
	inNames bool // digits in names are text
	leaves  int
	refused int // statements that found the tree full
}

const (
	maxShapes    = 2048
	maxShapeText = 2 << 10
	maxShapeGaps = 15
)

// shape is a piece of text and what may follow it. The text is kept in words for comparison.
type shape struct {
	text   string
	words  []uint64 // all of text but for the last one to seven bytes
	tail   uint64   // these
	mask   uint64
	size   int // of tail
	digits *shape
	single *shape // a literal in single quotes
	double *shape // a literal in double quotes
	begins []byte // of other
	other  []*shape
	known  *knownStatement // when the statement may end here
}

// knownStatement is what is known about all statements of one shape.
type knownStatement struct {
	fingerprint []byte
	class       *class // nil: look it up
	folds       int    // the class stands as long as Digest.folds is this
	spotted     bool
	tables      []tableSpot // when spotted: where the names of tables stand, repeated ones too
}

func (n *shape) set(text string) {
	n.text, n.words = text, n.words[:0]
	b := []byte(text)
	for ; len(b) >= 8; b = b[8:] {
		n.words = append(n.words, le64(b))
	}
	n.tail, n.mask, n.size = 0, 1<<(8*len(b))-1, len(b)
	for i, c := range b {
		n.tail |= uint64(c) << (8 * i)
	}
}

// match looks for the statement that b begins with. It returns where the statement ends, which is in front of a semicolon
// and a newline, or nil. ends is where its runs of digits and literals ended.
func (t *shapes) match(b []byte, ends *[maxShapeGaps + 1]int) (k *knownStatement, end int) {
	const margin = 16 // what is compared, skipped and looked at without asking whether it is there
	n, i, gaps := &t.root, 0, 0
	for {
		if len(b)-i < len(n.text)+margin {
			return nil, 0
		}
		for _, w := range n.words {
			if le64(b[i:]) != w {
				return nil, 0
			}
			i += 8
		}
		if (le64(b[i:])^n.tail)&n.mask != 0 {
			return nil, 0
		}
		i += n.size
		c := b[i]
		switch {
		case c == ';' && b[i+1] == '\n':
			return n.known, i
		case isDigit(c) && n.digits != nil:
			n = n.digits
			i = skipDigits(b, i)
			if t.inNames && (len(b)-i < margin || isName(b[i]) || b[i] == '.') {
				return nil, 0
			}
		case c == '\'' && n.single != nil:
			n = n.single
			i = plainEnd(b, i)
		case c == '"' && n.double != nil:
			n = n.double
			i = plainEnd(b, i)
		default:
			if n = n.child(c); n == nil {
				return nil, 0
			}
			continue
		}
		if i == 0 {
			return nil, 0
		}
		ends[gaps&maxShapeGaps] = i
		gaps++
	}
}

func (n *shape) child(c byte) *shape {
	for i, first := range n.begins {
		if first == c {
			return n.other[i]
		}
	}
	return nil
}

// plainEnd is where the literal ends that the quote at i begins, or 0 when it has no end or is not plain. What counts as
// plain is that of the rows of an INSERT, the narrowest.
func plainEnd(b []byte, i int) int {
	n := i + 1
	for len(b)-n >= 8 {
		if !mayUpset(le64(b[n:])) {
			n += 8
			continue
		}
		for end := n + 8; n < end; n++ {
			if literalUpset[b[n]] {
				return endAt(b, i, n)
			}
		}
	}
	for ; n < len(b); n++ {
		if literalUpset[b[n]] {
			return endAt(b, i, n)
		}
	}
	return 0
}

// endAt is where the literal ends that the quote at i begins, when n is the first byte in it that is not plain.
func endAt(b []byte, i, n int) int {
	if b[n] != b[i] {
		return 0
	}
	return n + 1
}

// mayUpset says whether one of the eight bytes of a word may be in literalUpset: they are all below '+', but for the backslash.
func mayUpset(word uint64) bool {
	const backslashes = '\\' * everyByte
	below := (word - '+'*everyByte) &^ word
	x := word ^ backslashes
	return (below|(x-everyByte)&^x)&highBits != 0
}

// shapePart is a piece of a statement: some text and the gap behind it.
type shapePart struct {
	text string
	gap  byte // its first byte: a digit, a quote, or 0 at the end
	end  int  // where the gap ends
}

// parts cuts a statement for the tree; ok is false when its shape may not decide its fingerprint.
func (t *shapes) parts(q []byte) (parts []shapePart, ok bool) {
	if len(q) > maxShapeText || hasFold(q, "set") { // SET may change the clock of its session, see clock.statement
		return nil, false
	}
	from, solid, ticked := 0, byte(' '), false // solid is the last byte that is not a blank, 0 behind the end of a comment
	for i := 0; i < len(q); {
		c := q[i]
		end := i + 1
		switch {
		case isDigit(c) && !(t.inNames && (ticked || i > 0 && isName(q[i-1]))):
			for end < len(q) && isDigit(q[end]) {
				end++
			}
			if t.inNames && (solid == '.' || solid == '@' || solid == 0 || end < len(q) && (isName(q[end]) || q[end] == '.')) {
				return nil, false
			}
		case c == '\'' || c == '"':
			for end < len(q) && !literalUpset[q[end]] {
				end++
			}
			if end == len(q) || q[end] != c {
				return nil, false
			}
			end++
		default:
			switch {
			case c == '/' && solid == '*' && q[i-1] == '*':
				solid = 0
			case !isBlank(c):
				solid = c
			}
			ticked = ticked != (c == '`')
			i++
			continue
		}
		if parts = append(parts, shapePart{string(q[from:i]), c, end}); len(parts) > maxShapeGaps {
			return nil, false
		}
		solid = c
		from, i = end, end
	}
	return append(parts, shapePart{text: string(q[from:])}), true
}

// add puts a statement into the tree and returns what is to be known about its shape, or nil.
func (t *shapes) add(q []byte) *knownStatement {
	if t.leaves >= maxShapes {
		if t.refused++; t.refused > 16*maxShapes { // what fills it does not come again
			*t = shapes{inNames: t.inNames}
		}
		return nil
	}
	parts, ok := t.parts(q)
	if !ok {
		return nil
	}
	n := &t.root
	for _, p := range parts {
		n = n.insert(p.text)
		switch p.gap {
		case 0:
		case '\'':
			n = behind(&n.single)
		case '"':
			n = behind(&n.double)
		default:
			n = behind(&n.digits)
		}
	}
	if n.known == nil {
		n.known = &knownStatement{}
		n.known.tables, n.known.spotted = spotTables(q, parts)
		t.leaves++
	}
	return n.known
}

// behind is the node behind a gap.
func behind(next **shape) *shape {
	if *next == nil {
		*next = &shape{}
	}
	return *next
}

// insert makes the nodes for a text behind n, whose own text comes first, and returns the last.
func (n *shape) insert(text string) *shape {
	for {
		if n.isEmpty() {
			n.set(text)
			return n
		}
		same := 0
		for same < len(text) && same < len(n.text) && text[same] == n.text[same] {
			same++
		}
		if same < len(n.text) {
			n.split(same)
		}
		if text = text[same:]; text == "" {
			return n
		}
		next := n.child(text[0])
		if next == nil {
			next = &shape{}
			n.begins, n.other = append(n.begins, text[0]), append(n.other, next)
		}
		n = next
	}
}

func (n *shape) isEmpty() bool {
	return n.text == "" && n.known == nil && n.digits == nil && n.single == nil && n.double == nil && len(n.other) == 0
}

// split moves what comes behind the first bytes of the text into a node of its own.
func (n *shape) split(at int) {
	rest := *n
	rest.words = nil
	rest.set(n.text[at:])
	first := n.text[:at]
	*n = shape{begins: []byte{n.text[at]}, other: []*shape{&rest}}
	n.set(first)
}
