package effect

import "strings"

// writeWord begins the reason for a read that holds a reserved word of writes.
const writeWord = "holds a word of a write: "

// plain walks over all tokens of a statement that should be a read and finds
// what makes it something else: functions with effects, functions that
// somebody made, INTO, locks, reserved words of writes. It also notes why the
// answer may be another next time.
func (c clause) plain(j Judgement) Judgement {
	worst := func(k Kind, reason string) {
		if k > j.Kind {
			j.Kind, j.Reason = k, reason
		}
	}
	limits := limitWatch{}
	for i := range c.t {
		x := &c.t[i]
		switch x.kind {
		case aWord, aQuoted:
			behindDot := c.symbol(i-1) == "."
			if c.symbol(i+1) == "(" && !c.opensList(i) {
				c.call(i, behindDot, &j, worst)
				if !behindDot && x.kind == aWord {
					limits.see(c, i)
				}
				continue
			}
			if c.symbol(i+1) == "." && vocabulary().systemSchemas[x.text] && !behindDot {
				j.chance("tables of the server itself")
			}
			if x.kind == aWord && !behindDot {
				c.bare(i, &j, worst)
				limits.see(c, i)
			}
		case aVariable:
			j.Variables = true
			j.chance("variables of the session")
		case aSystem:
			j.Variables = true
			j.chance("variables of the server")
		}
	}
	if limits.loose {
		j.chance("LIMIT without ORDER BY")
	}
	return j
}

// chance notes a reason; the first stays.
func (j *Judgement) chance(reason string) {
	if j.Chance == "" {
		j.Chance = reason
	}
}

// bare judges a word that is not a call.
func (c clause) bare(i int, j *Judgement, worst func(Kind, string)) {
	w := c.t[i].text
	switch {
	case w == "into":
		switch {
		case i+1 < len(c.t) && c.t[i+1].kind == aVariable:
			j.chance("variables of the session")
		case c.word(i+1) == "outfile" || c.word(i+1) == "dumpfile":
			worst(Server, "writes a file")
		case c.word(0) != "insert" && c.word(0) != "replace":
			worst(Unknown, "an INTO that is not understood")
		}
	case w == "outfile" || w == "dumpfile" || w == "infile":
		worst(Server, "names a file")
	case w == "for" && (c.word(i+1) == "update" || c.word(i+1) == "share"):
		worst(Write, "locks rows")
	case w == "update" && c.word(i-1) == "for" && c.symbol(i-2) != ".": // said already
	case w == "lock" && c.is(i, "lock", "in", "share", "mode"):
		worst(Write, "locks rows")
	case (w == "next" || w == "previous") && c.is(i+1, "value", "for"):
		if w == "next" {
			worst(Write, "counts a sequence up")
		}
		j.chance("sequences")
	case vocabulary().writing[w] && i > 0:
		worst(Unknown, writeWord+w)
	case w == "procedure":
		worst(Unknown, "PROCEDURE")
	case w == "current_timestamp", w == "current_date", w == "current_time", w == "localtime", w == "localtimestamp", w == "utc_date", w == "utc_time", w == "utc_timestamp":
		j.chance("the time")
	case w == "current_user" || w == "current_role":
		j.chance("who asks")
	}
}

// opensList says whether the parenthesis behind the word at i opens no call: a
// word of the grammar, a list of columns behind a name, a common table
// expression.
func (c clause) opensList(i int) bool {
	x := &c.t[i]
	if x.kind == aWord && vocabulary().beforeParen[x.text] && c.symbol(i-1) != "." {
		return true
	}
	if x.kind == aWord && isNumber(x.text) {
		return true
	}
	if (x.text == "any" || x.text == "some") && strings.Contains("=<>!", c.symbol(i-1)) && c.symbol(i-1) != "" {
		return true
	}
	before := c.word(i - 1)
	if before == "as" && c.symbol(i-2) != "." {
		return true // a type, or an alias with its columns
	}
	if before == "into" || before == "table" && c.word(0) == "table" {
		return true // insert into t (a, b)
	}
	if c.symbol(i-1) == "." && (c.word(i-3) == "into") {
		return true
	}
	// name (a, b) AS (...: a common table expression.
	depth := x.depth
	for k := i + 2; k < len(c.t); k++ {
		if c.t[k].depth == depth && c.symbol(k) == ")" {
			return c.word(k+1) == "as" && c.symbol(k+2) == "("
		}
	}
	return false
}

// call judges a call of a function.
func (c clause) call(i int, behindDot bool, j *Judgement, worst func(Kind, string)) {
	f := c.t[i].text
	v := vocabulary()
	switch {
	case behindDot:
		worst(Function, "calls a stored function: "+Clip(f, 40))
		j.chance("stored functions")
		return
	case v.effects[f]:
		worst(Write, "has an effect: "+f)
	case f == "last_insert_id" && c.symbol(i+2) != ")":
		worst(Write, "has an effect: last_insert_id with a value")
	case f == "values" || f == "default":
	case !v.known[f] && f != "load_file":
		worst(Function, "calls a stored function: "+Clip(f, 40))
		j.chance("stored functions")
	}
	switch {
	case v.clock[f], f == "unix_timestamp" && c.symbol(i+2) == ")":
		j.chance("the time")
	case f == "rand" || v.random[f]:
		j.chance("chance: " + f)
	case v.own[f]:
		j.chance("who asks, and what it asked before")
	case f == "group_concat" || f == "json_arrayagg" || f == "json_objectagg":
		if !c.ordersInside(i + 1) {
			j.chance(f + " without ORDER BY")
		}
	}
}

// ordersInside says whether there is an ORDER BY in the parenthesis at i.
func (c clause) ordersInside(i int) bool {
	depth := c.t[i].depth
	for k := i + 1; k < len(c.t) && c.t[k].depth > depth; k++ {
		if c.t[k].depth == depth+1 && c.is(k, "order", "by") {
			return true
		}
	}
	return false
}

// limitWatch looks for a LIMIT in a query without ORDER BY.
type limitWatch struct {
	ordered map[int]bool // by depth: an ORDER BY has been seen since the last SELECT
	loose   bool
}

func (l *limitWatch) see(c clause, i int) {
	if l.ordered == nil {
		l.ordered = map[int]bool{}
	}
	depth := c.t[i].depth
	switch c.t[i].text {
	case "select":
		l.ordered[depth] = false
	case "order":
		if c.word(i+1) == "by" {
			l.ordered[depth] = true
		}
	case "limit":
		if !l.ordered[depth] && c.word(i+1) != "rows" {
			l.loose = true
		}
	}
}

// set judges SET in all its forms.
func (c clause) set() Judgement {
	switch {
	case c.is(1, "statement"):
		return c.setStatement()
	case c.is(1, "password"), c.is(1, "role"), c.is(1, "default", "role"), c.is(1, "resource"):
		return server("changes who it is")
	case c.is(1, "transaction"), c.is(1, "session", "transaction"), c.is(1, "local", "transaction"):
		for i := range c.t {
			if c.word(i) == "read" && (c.word(i+1) == "write" || c.word(i+1) == "only") {
				return Judgement{Kind: Server, Reason: "says itself what may be written"}
			}
		}
		return Judgement{Kind: Session}
	}
	values := c.plain(Judgement{})
	if values.Kind != Read {
		return values
	}
	j := Judgement{Kind: Session}
	for _, a := range c.from(1).assignments() {
		if k, reason := a.assignment(&j); k > j.Kind {
			j.Kind, j.Reason = k, reason
		}
	}
	return j
}

// setStatement judges SET STATEMENT a=b, c=d FOR statement.
func (c clause) setStatement() Judgement {
	base := c.t[0].depth
	for i := 2; i < len(c.t); i++ {
		if c.t[i].depth != base || c.word(i) != "for" {
			continue
		}
		var scratch Judgement
		for _, a := range (clause{c.t[2:i]}).assignments() {
			if k, reason := a.assignment(&scratch); k > Session {
				return Judgement{Kind: k, Reason: reason}
			}
		}
		if scratch.SetsMode || i+1 == len(c.t) {
			return unknown("SET STATEMENT that changes how text is read")
		}
		j := c.from(i + 1).judge()
		j.IsQuery, j.Variables = false, true
		return j
	}
	return unknown("a SET STATEMENT without FOR")
}

// assignments are the parts between commas.
func (c clause) assignments() (out []clause) {
	if len(c.t) == 0 {
		return nil
	}
	base, begin := c.t[0].depth, 0
	for i := range c.t {
		if c.symbol(i) == "," && c.t[i].depth == base {
			out, begin = append(out, clause{c.t[begin:i]}), i+1
		}
	}
	return append(out, clause{c.t[begin:]})
}

// assignment judges one of them, and notes in j what else it does.
func (c clause) assignment(j *Judgement) (Kind, string) {
	if len(c.t) == 0 {
		return Unknown, "a SET that is not understood"
	}
	i := 0
	switch c.word(0) {
	case "global", "persist", "persist_only":
		return Server, "changes the server's variables"
	case "session", "local":
		i++
	case "names", "charset", "character":
		return c.charset()
	}
	if i >= len(c.t) {
		return Unknown, "a SET that is not understood"
	}
	x := c.t[i]
	name := x.text
	switch x.kind {
	case aVariable:
		return Session, ""
	case aSystem:
		switch name {
		case "global", "persist", "persist_only":
			return Server, "changes the server's variables"
		case "session", "local", "":
			if i+2 >= len(c.t) || c.symbol(i+1) != "." {
				return Unknown, "a SET that is not understood"
			}
			name = c.t[i+2].text
		default:
			if c.symbol(i+1) == "." {
				return Server, "changes the server's variables" // @@instance.variable
			}
		}
	case aWord, aQuoted:
		if c.symbol(i+1) == "." {
			return Server, "changes the server's variables"
		}
	default:
		return Unknown, "a SET that is not understood"
	}
	switch {
	case vocabulary().lifting[name], strings.HasPrefix(name, "wsrep_"), strings.HasPrefix(name, "gtid_"), strings.HasPrefix(name, "rpl_"):
		return Server, "sets " + name + ", which is the replay's business"
	case strings.HasPrefix(name, "character_set_"), strings.HasPrefix(name, "collation_"):
		return c.charset()
	case name == "sql_mode":
		j.SetsMode = true
	}
	return Session, ""
}

// charset judges a change of the character set. It must be named, or we could
// not tell which it is.
func (c clause) charset() (Kind, string) {
	for i, x := range c.t {
		name, _, _ := strings.Cut(x.text, "_")
		switch {
		case x.kind == aVariable, x.kind == aSystem && i > 0:
			return Unknown, "a character set that is not named"
		case vocabulary().charsets[name]:
			return Server, "a character set in which text cannot be judged: " + name
		}
	}
	return Session, ""
}
