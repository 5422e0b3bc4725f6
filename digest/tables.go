package digest

import "bytes"

// tablesOf appends the names of the tables a statement touches to dst: each once, in the order of the text, without
// backticks, with the database where the text names it. Literals and comments hold no tables; names of common table
// expressions and what is between FROM and a parenthesis of EXTRACT, TRIM or SUBSTRING are none. It also reads
// fingerprints, in which a name may hold question marks.
func tablesOf(dst [][]byte, q []byte) [][]byte {
	t := tableReader{tokens: tokens{q: q}, out: dst, first: len(dst)}
	t.read()
	return t.out
}

// tableReader walks over the tokens of one statement.
type tableReader struct {
	tokens
	out   [][]byte
	first int      // in out
	ctes  [][]byte // names that WITH defines
	with  bool
	depth int
	inner uint64     // bit by depth: inside a function that has a FROM of its own
	spots []nameSpot // when not nil: where each name stood, repeated ones too
}

type nameSpot struct {
	from, to int
	quoted   bool
}

func (t *tableReader) read() {
	last := "" // the keyword before
	verb := ""
	for t.next() {
		if t.kind == tokenSymbol {
			t.symbol()
			last = ""
			continue
		}
		if t.kind != tokenWord {
			last = ""
			continue
		}
		w := t.keyword()
		if verb == "" {
			verb = w
			t.with = w == "with"
		}
		switch w {
		case "from":
			if t.depth < 64 && t.inner>>t.depth&1 == 1 || verb == "show" && t.showsNoTable() {
				break
			}
			t.list()
		case "join", "straight_join":
			t.list()
		case "into":
			t.list()
		case "update":
			if last != "key" && last != "for" && last != "on" {
				t.list()
			}
		case "table", "tables":
			if verb != "show" && verb != "select" && verb != "set" {
				t.list()
			}
		case "insert", "replace", "truncate", "describe", "desc":
			if w == verb && last == "" {
				t.list()
			}
		case "extract", "trim", "substring", "substr":
			if t.peek() == '(' && t.depth < 63 {
				t.inner |= 1 << (t.depth + 1)
			}
		}
		last = w
	}
}

func (t *tableReader) symbol() {
	switch t.q[t.at] {
	case '(':
		t.depth++
	case ')':
		if t.depth < 64 {
			t.inner &^= 1 << t.depth
		}
		t.depth = max(t.depth-1, 0)
	}
}

// showsNoTable says whether SHOW .. FROM names a database: SHOW TABLES FROM shop.
func (t *tableReader) showsNoTable() bool {
	head := lowered(t.q[:min(t.at, 64)])
	return !bytes.Contains(head, []byte("index")) && !bytes.Contains(head, []byte("columns")) &&
		!bytes.Contains(head, []byte("fields")) && !bytes.Contains(head, []byte("keys"))
}

// list reads names up to something that cannot be in a list of tables: a, b AS c, `d`.`e` f.
func (t *tableReader) list() {
	for {
		mark := t.tokens
		depth := 0
		for t.next() && (t.kind == tokenSymbol && t.q[t.at] == '(' || t.kind == tokenWord && isModifier(t.keyword())) {
			if t.kind == tokenSymbol {
				depth++
			}
		}
		if t.kind != tokenWord && t.kind != tokenQuoted || t.kind == tokenWord && isNoTable(t.keyword()) {
			t.tokens = mark
			return
		}
		t.depth += depth
		t.name()
		mark = t.tokens
		if !t.alias() {
			t.tokens = mark
			return
		}
	}
}

// name takes the name at the present token, with its database.
func (t *tableReader) name() {
	start, end := t.at, t.end
	quoted := t.kind == tokenQuoted
	for t.end < len(t.q) && t.q[t.end] == '.' {
		mark := t.tokens
		t.end++
		if !t.next() || t.kind != tokenWord && t.kind != tokenQuoted {
			t.tokens = mark
			break
		}
		quoted = quoted || t.kind == tokenQuoted
		end = t.end
	}
	name := t.q[start:end]
	if quoted {
		name = bytes.ReplaceAll(name, []byte("`"), nil)
	}
	if t.keep(name) && t.spots != nil {
		t.spots = append(t.spots, nameSpot{start, end, quoted})
	}
}

// keep takes a name that is not there yet, and says whether it is that of a table.
func (t *tableReader) keep(name []byte) bool {
	letter := false
	for _, c := range name {
		letter = letter || isWord(c) && !isDigit(c) || c >= 0x80
	}
	if !letter || t.with && t.isCTE(name) {
		return false
	}
	for _, have := range t.out[t.first:] {
		if bytes.Equal(have, name) {
			return true
		}
	}
	if len(t.out)-t.first < maxTables {
		t.out = append(t.out, name)
	}
	return true
}

// maxTables is how many tables of one statement are looked at; MariaDB joins 61 at most.
const maxTables = 128

// isCTE says whether WITH defines the name anywhere in the statement: name [(columns)] AS (.
func (t *tableReader) isCTE(name []byte) bool {
	if t.ctes == nil {
		s := tokens{q: t.q}
		var word, before []byte
		for s.next() {
			switch {
			case s.kind == tokenWord && s.keyword() == "as" && s.peek() == '(':
				t.ctes = append(t.ctes, word)
			case s.kind == tokenWord || s.kind == tokenQuoted:
				word, before = bytes.Trim(s.q[s.at:s.end], "`"), word
			case s.q[s.at] == ')' && before != nil:
				// a list of columns stands between the name and AS: the name is the word before it
				word = before
			}
		}
		t.ctes = append(t.ctes, nil)
	}
	for _, c := range t.ctes {
		if bytes.EqualFold(c, name) {
			return true
		}
	}
	return false
}

// alias steps over an alias, an index hint and a lock mode behind a name, and says whether a comma follows.
func (t *tableReader) alias() bool {
	for words := 0; t.next(); words++ {
		switch {
		case t.kind == tokenSymbol && t.q[t.at] == ',':
			return true
		case t.kind == tokenQuoted && words < 3:
		case t.kind == tokenWord && words < 3 && !isNoTable(t.keyword()):
		default:
			return false
		}
	}
	return false
}

// isModifier are words between a verb and its first table.
func isModifier(w string) bool {
	switch w {
	case "low_priority", "delayed", "high_priority", "ignore", "into", "only", "table", "tables", "if", "not", "exists", "lateral":
		return true
	}
	return false
}

// isNoTable are words that end a list of tables or cannot begin one.
func isNoTable(w string) bool {
	switch w {
	case "select", "set", "values", "value", "where", "join", "inner", "left", "right", "cross", "natural", "straight_join", "outer",
		"on", "using", "group", "order", "limit", "having", "union", "use", "force", "partition", "dual", "outfile", "dumpfile", "for",
		"lock", "key", "procedure", "window", "with", "from", "default", "null", "duplicate", "nowait", "skip", "of", "from?", "":
		return true
	}
	return false
}
