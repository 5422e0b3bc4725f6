package digest

import "bytes"

// The rule set "lexer": fingerprints from SQL as the server reads it. In order of the text:
//
//   - comments go, version comments (/*!40101 .. */) are code; blanks and backticks are normalised, all is lower case;
//   - literals become ?: strings of either quote with their escapes, doubled quotes and introducers (_utf8'a', x'41'),
//     numbers with their sign, true, false, and null unless behind IS or NOT;
//   - in(..), rows behind values, and the arguments of call hold literals in any number: (?+). Rows with expressions keep
//     the first and fold the others. What follows the rows stays (ON DUPLICATE KEY UPDATE);
//   - limit ?, ? and limit ? offset ? become limit ?; asc goes; equal selects joined by union are folded;
//   - in names of databases and tables, a shard number becomes ?: digits at the end of a name (users_7, sbtest12) and
//     digits between separators (shard_0042_old). Digits elsewhere in a name stay (user2fa, v2_users), and so do those of
//     columns and aliases.
type lexer struct {
	out []byte
	tokens
	tables     [][]byte // names in table position, as written, without backticks
	last       lastToken
	mark       int // where the last word in out begins
	sign       int // where a sign in out begins that may belong to a number; -1: none
	lists      []openList
	afterLimit bool
}

// lastToken is what the last token written was.
type lastToken byte

const (
	lastNothing lastToken = iota
	lastName              // a name, a placeholder or a closing parenthesis: something that has a value
	lastKeyword           // a word that something must follow
	lastLiteral
	lastOperator
	lastOpen // (
	lastComma
	lastDot // . and @: what follows belongs to it
)

// openList is a parenthesis that may enclose a list of literals.
type openList struct {
	at     int  // of the parenthesis in out
	folds  bool // behind in, values or call
	plain  bool // nothing but literals and commas so far
	isRow  bool // a row behind values
	isCall bool
}

// lexerFingerprint appends the fingerprint of a statement to dst.
func lexerFingerprint(dst, query []byte, names [][]byte) []byte {
	switch {
	case bytes.HasPrefix(query, []byte("administrator command: ")):
		return append(dst, query...)
	case bytes.HasPrefix(query, []byte("SELECT /*!40001 SQL_NO_CACHE */ * FROM `")):
		return append(dst, "mysqldump"...)
	}
	if rest, ok := useStatement(bytes.TrimSpace(query)); ok && len(rest) == 0 {
		return append(dst, "use ?"...)
	}
	l := lexer{out: dst, tokens: tokens{q: query}, tables: tablesOf(names[:0], query), sign: -1}
	for l.next() {
		switch l.kind {
		case tokenWord:
			l.word()
		case tokenQuoted:
			l.name(bytes.Trim(l.q[l.at:l.end], "`"))
		case tokenText:
			l.text()
		default:
			l.symbol()
		}
	}
	body := l.out[len(dst):]
	body = bytes.TrimRight(body, " ;")
	body = foldUnions(body)
	return append(l.out[:len(dst)], body...)
}

func (l *lexer) word() {
	w := l.q[l.at:l.end]
	if isDigit(w[0]) && l.number(w) {
		l.literal()
		return
	}
	if string(w) == "?" {
		l.literal()
		return
	}
	switch k := l.keyword(); k {
	case "true", "false":
		if l.last != lastDot {
			l.literal()
			return
		}
	case "null":
		if prev := l.lastWord(); prev != "is" && prev != "not" && l.last != lastDot {
			l.literal()
			return
		}
	case "asc":
		return
	case "offset":
		if l.afterLimit {
			l.last = lastComma // limit ? offset ?: the second literal goes
			return
		}
	default:
		if l.last != lastDot && isKeyword(k) {
			l.afterLimit = k == "limit"
			l.put(w, lastKeyword)
			lower(l.out[l.mark:])
			return
		}
	}
	l.name(w)
}

// number says whether a word that begins with a digit is one, and takes in what else belongs to it: 1.5, 1e-5.
func (l *lexer) number(w []byte) bool {
	i := 0
	switch {
	case len(w) > 2 && w[0] == '0' && (w[1] == 'x' || w[1] == 'b'):
		return true
	default:
		for i < len(w) && isDigit(w[i]) {
			i++
		}
		if i < len(w) && (w[i] == 'e' || w[i] == 'E') {
			for i++; i < len(w) && isDigit(w[i]); i++ {
			}
		}
	}
	if i < len(w) {
		return false // 123foo is a name
	}
	if l.last == lastDot {
		return false // t.1
	}
	l.fraction()
	return true
}

// fraction takes in .5 and the exponent behind the present token.
func (l *lexer) fraction() {
	i := l.end
	if i < len(l.q) && l.q[i] == '.' {
		for i++; i < len(l.q) && isDigit(l.q[i]); i++ {
		}
	}
	e := i
	if e < len(l.q) && (l.q[e] == 'e' || l.q[e] == 'E') {
		e++
	}
	if e > 0 && e <= len(l.q) && e > l.at && (l.q[e-1] == 'e' || l.q[e-1] == 'E') {
		s := e
		if s < len(l.q) && (l.q[s] == '-' || l.q[s] == '+') {
			s++
		}
		if d := s; d < len(l.q) && isDigit(l.q[d]) {
			for i = d; i < len(l.q) && isDigit(l.q[i]); i++ {
			}
		}
	}
	l.end = max(l.end, i)
}

// text writes a string literal, together with its introducer and the parts of doubled quotes.
func (l *lexer) text() {
	if l.last == lastLiteral && l.at > 0 && len(l.out) > 0 {
		return // 'it''s', or 'a' 'b': one literal
	}
	if l.last == lastName && l.mark < len(l.out) {
		if w := l.out[l.mark:]; w[0] == '_' || len(w) == 1 && (w[0] == 'x' || w[0] == 'b' || w[0] == 'n') {
			l.out = bytes.TrimRight(l.out[:l.mark], " ")
			l.last = l.beforeMark()
		}
	}
	l.literal()
}

// beforeMark guesses what is in front of a word that was taken back.
func (l *lexer) beforeMark() lastToken {
	if len(l.out) == 0 {
		return lastNothing
	}
	switch l.out[len(l.out)-1] {
	case '(':
		return lastOpen
	case ',':
		return lastComma
	}
	return lastOperator
}

// literal writes a question mark, in place of the sign in front of it if there is one.
func (l *lexer) literal() {
	if l.afterLimit && l.last == lastComma {
		l.out = bytes.TrimRight(l.out, ", ")
		l.last, l.afterLimit = lastLiteral, false
		return
	}
	if l.sign >= 0 {
		l.out = l.out[:l.sign]
	}
	l.space('?')
	l.out = append(l.out, '?')
	l.last, l.sign = lastLiteral, -1
}

// name writes a name in lower case, without a shard number when it is that of a database or table.
func (l *lexer) name(w []byte) {
	if len(w) == 0 {
		w = []byte("``")
	}
	shard := l.isTable(w)
	l.unlist()
	l.put(w, lastName)
	if shard {
		kept := foldShard(l.out[l.mark:])
		l.out = l.out[:l.mark+len(kept)]
	}
	lower(l.out[l.mark:])
}

// isTable says whether a name is that of a table of the statement, or of its database.
func (l *lexer) isTable(w []byte) bool {
	for _, t := range l.tables {
		if bytes.Equal(t, w) {
			return true
		}
		if dot := bytes.IndexByte(t, '.'); dot > 0 && (bytes.Equal(t[:dot], w) || bytes.Equal(t[dot+1:], w)) {
			return true
		}
	}
	return false
}

// foldShard replaces the shard numbers in a name, in place.
func foldShard(name []byte) []byte {
	out := name[:0]
	for i := 0; i < len(name); {
		if !isDigit(name[i]) {
			out = append(out, name[i])
			i++
			continue
		}
		end := i
		for end < len(name) && isDigit(name[end]) {
			end++
		}
		separated := i > 0 && (name[i-1] == '_' || name[i-1] == '-')
		if i > 0 && end == len(name) || separated && (name[end] == '_' || name[end] == '-') {
			out = append(out, '?')
		} else {
			out = append(out, name[i:end]...)
		}
		i = end
	}
	return out
}

// put writes a token with the space it needs in front.
func (l *lexer) put(b []byte, kind lastToken) {
	l.space(b[0])
	l.mark = len(l.out)
	l.out = append(l.out, b...)
	l.last, l.sign = kind, -1
}

func (l *lexer) space(c byte) {
	switch l.last {
	case lastNothing, lastOpen, lastDot:
		return
	}
	switch c {
	case ',', ')', '.', ';':
		return
	case '(':
		if l.last == lastName {
			return
		}
		if l.last == lastKeyword {
			if w := l.lastWord(); w == "in" || w == "values" || w == "value" {
				return
			}
		}
	}
	if n := len(l.out); n > 0 && l.out[n-1] != ' ' {
		l.out = append(l.out, ' ')
	}
}

func (l *lexer) lastWord() string {
	if l.last != lastKeyword && l.last != lastName || l.mark > len(l.out) {
		return ""
	}
	return string(l.out[l.mark:])
}

// unlist says that the innermost list holds more than literals.
func (l *lexer) unlist() {
	if n := len(l.lists); n > 0 {
		l.lists[n-1].plain = false
	}
}

func (l *lexer) symbol() {
	switch c := l.q[l.at]; c {
	case '(':
		l.openParen()
	case ')':
		l.closeParen()
	case ',':
		if l.last == lastComma && len(l.lists) == 0 {
			return
		}
		l.put([]byte{','}, lastComma)
	case '.':
		if l.end < len(l.q) && isDigit(l.q[l.end]) && l.last != lastName { // .5
			l.end--
			l.fraction()
			l.literal()
			return
		}
		l.put([]byte{'.'}, lastDot)
	case '@':
		l.unlist()
		if l.last == lastName || l.last == lastDot && l.out[len(l.out)-1] == '@' {
			l.out = append(l.out, '@')
			l.last = lastDot
			return
		}
		l.put([]byte{'@'}, lastDot)
	case ';':
		l.put([]byte{';'}, lastOperator)
	default:
		l.operator(c)
	}
}

// operator writes an operator of one or more bytes. A sign where no value is in front may be that of a number.
func (l *lexer) operator(c byte) {
	if c == '+' && l.last == lastLiteral && l.peek() == ')' {
		return // (?+): the text is a fingerprint already
	}
	joined := l.last == lastOperator && l.at > 0 && !isBlank(l.q[l.at-1]) && l.sign < 0
	mayBeSign := (c == '-' || c == '+') && (l.last == lastOperator || l.last == lastOpen || l.last == lastComma || l.last == lastKeyword || l.last == lastNothing)
	if mayBeSign {
		l.space(c)
		at := len(l.out)
		l.out = append(l.out, c)
		l.last, l.sign = lastOperator, at
		return
	}
	if c != '*' || l.last != lastOpen {
		l.unlist()
	}
	if joined {
		l.out = append(l.out, c)
		return
	}
	l.put([]byte{c}, lastOperator)
	if c == '*' {
		l.last = lastName // count(*), t.*: it stands for columns; a product looks the same without harm
	}
}

func (l *lexer) openParen() {
	o := openList{plain: true}
	switch w := l.lastWord(); {
	case w == "in":
		o.folds = true
	case w == "values" || w == "value":
		o.folds, o.isRow = true, true
	case l.last == lastName && l.calls():
		o.folds, o.isCall = true, true
	case l.last == lastOpen && len(l.lists) > 0 && l.lists[len(l.lists)-1].folds && !l.lists[len(l.lists)-1].isCall:
		o.folds = true // in ((?, ?), (?, ?))
	case l.last == lastComma && len(l.lists) > 0 && l.lists[len(l.lists)-1].folds:
		o.folds = true
	}
	l.put([]byte{'('}, lastOpen)
	o.at = l.mark
	l.lists = append(l.lists, o)
}

// calls says whether out is "call name".
func (l *lexer) calls() bool { return bytes.HasPrefix(l.out, []byte("call ")) && len(l.lists) == 0 }

func (l *lexer) closeParen() {
	n := len(l.lists)
	l.put([]byte{')'}, lastName)
	if n == 0 {
		return
	}
	o := l.lists[n-1]
	l.lists = l.lists[:n-1]
	if o.folds && o.plain {
		l.out = append(l.out[:o.at], "(?+)"...)
	} else if n > 1 {
		l.lists[n-2].plain = false
	}
	if o.isRow {
		l.otherRows(o)
	}
}

// otherRows steps over the rows behind the first.
func (l *lexer) otherRows(first openList) {
	more := false
	for l.peek() == ',' {
		mark := l.tokens
		l.next()
		if l.peek() != '(' {
			l.tokens = mark
			break
		}
		more = true
		for depth := 0; l.next(); {
			if l.kind != tokenSymbol {
				continue
			}
			if c := l.q[l.at]; c == '(' {
				depth++
			} else if c == ')' {
				if depth--; depth == 0 {
					break
				}
			}
		}
	}
	if more && !bytes.HasSuffix(l.out, []byte("(?+)")) {
		l.out = append(l.out, '+')
	}
}

// isKeyword are words behind which no value has ended yet: a sign behind them is that of a number, a parenthesis behind
// them is not that of a function.
func isKeyword(w string) bool {
	switch w {
	case "select", "from", "where", "and", "or", "xor", "not", "between", "in", "like", "rlike", "regexp", "then", "else", "when", "case",
		"limit", "offset", "by", "set", "values", "value", "on", "having", "interval", "div", "mod", "as", "join", "using", "union", "all",
		"any", "some", "exists", "distinct", "insert", "into", "update", "delete", "replace", "return", "is", "escape", "over", "with",
		"straight_join", "table", "partition", "return?":
		return true
	}
	return false
}
