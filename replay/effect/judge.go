package effect

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what a statement would do, ordered by how bad that is. A text of
// several statements is as bad as its worst.
type Kind byte

const (
	Read      Kind = iota // changes nothing
	Session               // changes its own session and nothing else
	Function              // a read that calls a function which somebody made
	Write                 // changes rows, takes locks, waits
	Define                // changes tables
	Server                // changes the server, its accounts or files: never sent
	Unknown               // not understood: never sent
	Truncated             // not all of it is there: never sent
)

var kindNames = [...]string{"read", "session", "function", "write", "define", "server", "unknown", "truncated"}

func (k Kind) String() string { return kindNames[k] }

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the kind's name.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, n := range kindNames {
		if n == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("read kind: there is no %q", text)
}

// Judgement is what is known about a statement by its text.
type Judgement struct {
	Kind   Kind
	Reason string // why it is not a plain read

	// Chance is why two servers with the same data may answer differently, or
	// one server twice; empty where they may not.
	Chance    string
	IsOrdered bool // the order of rows is part of the answer
	IsQuery   bool // SELECT, VALUES or TABLE, also behind WITH; no SHOW, no EXPLAIN
	Variables bool // it reads or sets variables of the session or the server
	Params    int  // question marks

	Database  string   // it makes this the session's database
	SetsMode  bool     // it may change how text is read
	Temporary string   // it makes this temporary table
	Begins    bool     // it begins a transaction
	Ends      bool     // it ends one
	Parts     [][]byte // the statements in the text, where there are several
}

// Judge says what a statement would do. It errs on the side of caution: only
// what is known to be a read is one. Nothing it says depends on the server,
// so it is not alone: see doc.go.
func Judge(text []byte, m Mode) Judgement {
	l := lex(text, m)
	if l.fault != "" {
		j := Judgement{Kind: Truncated, Reason: "is cut: " + l.fault}
		if strings.Contains(l.fault, "version comment") || strings.Contains(l.fault, "zero byte") || strings.Contains(l.fault, "judged") || strings.Contains(l.fault, "too many") {
			j.Kind = Unknown
			j.Reason = l.fault
		}
		return j
	}
	statements, spans := split(l.tokens, len(text))
	if len(statements) == 0 {
		return Judgement{Kind: Unknown, Reason: "no statement: comments only"}
	}
	j := judgeOne(statements[0])
	if j.Database != "" {
		j.Database = nameOf(text, statements[0][1])
	}
	for _, s := range statements[1:] {
		next := judgeOne(s)
		if next.Kind > j.Kind {
			j.Kind, j.Reason = next.Kind, next.Reason
		}
	}
	if len(statements) == 1 {
		return j
	}
	j = Judgement{Kind: j.Kind, Reason: j.Reason, Chance: "several statements in one text"}
	for _, s := range spans {
		j.Parts = append(j.Parts, text[s[0]:s[1]])
	}
	return j
}

// split cuts tokens at semicolons and says where each statement stands.
func split(tokens []token, end int) (out [][]token, spans [][2]int) {
	begin := 0
	for i := 0; i <= len(tokens); i++ {
		if i < len(tokens) && !(tokens[i].kind == aSymbol && tokens[i].text == ";") {
			continue
		}
		if i > begin {
			to := end
			if i < len(tokens) {
				to = tokens[i].at
			}
			out, spans = append(out, tokens[begin:i]), append(spans, [2]int{tokens[begin].at, to})
		}
		begin = i + 1
	}
	return out, spans
}

// judgeOne judges the tokens of one statement.
func judgeOne(t []token) Judgement {
	if t[0].code > 0 && slices.ContainsFunc(t, func(x token) bool { return x.code != t[0].code }) {
		return Judgement{Kind: Unknown, Reason: "begins inside a version comment"}
	}
	c := clause{t: t}
	j := c.judge()
	for _, x := range t {
		if x.kind == aMark {
			j.Params++
		}
	}
	return j
}

// clause is a statement, or the part of one that is judged.
type clause struct{ t []token }

// word is the i-th token when it is a word without quotes, else empty.
func (c clause) word(i int) string {
	if i < 0 || i >= len(c.t) || c.t[i].kind != aWord {
		return ""
	}
	return c.t[i].text
}

func (c clause) symbol(i int) string {
	if i < 0 || i >= len(c.t) || c.t[i].kind != aSymbol {
		return ""
	}
	return c.t[i].text
}

func (c clause) from(i int) clause { return clause{c.t[min(i, len(c.t)):]} }

// is says whether the words at i are these.
func (c clause) is(i int, words ...string) bool {
	for k, w := range words {
		if c.word(i+k) != w {
			return false
		}
	}
	return true
}

// ends says whether the statement has no more than n tokens.
func (c clause) ends(n int) bool { return len(c.t) == n }

func server(reason string) Judgement  { return Judgement{Kind: Server, Reason: reason} }
func unknown(reason string) Judgement { return Judgement{Kind: Unknown, Reason: reason} }
func write(reason string) Judgement   { return Judgement{Kind: Write, Reason: reason} }

// judge looks at the first word.
func (c clause) judge() Judgement {
	switch w := c.word(0); w {
	case "select", "values", "with", "table":
		return c.query()
	case "":
		if c.symbol(0) == "(" {
			return c.query()
		}
	case "show":
		return c.show()
	case "explain", "describe", "desc", "analyze":
		return c.explain()
	case "checksum":
		return c.plain(Judgement{Chance: "checksums depend on the row format"})
	case "set":
		return c.set()
	case "use":
		if c.ends(2) && (c.t[1].kind == aWord || c.t[1].kind == aQuoted) {
			return Judgement{Kind: Session, Database: c.t[1].text}
		}
		return unknown("a USE that is not understood")
	case "begin", "start", "commit", "rollback", "savepoint", "release":
		return c.transaction()
	case "insert", "update", "delete", "replace":
		return c.change(w)
	case "call":
		return write("calls a procedure")
	case "lock", "unlock":
		return write("locks tables")
	case "create", "alter", "drop", "truncate", "rename":
		return c.define(w)
	case "do":
		return write("DO: its result is thrown away, its effects are not")
	case "handler":
		return unknown("HANDLER")
	case "prepare", "execute", "deallocate":
		return unknown("prepared in SQL: what it runs stands elsewhere")
	case "load":
		return server("reads a file")
	case "import", "grant", "revoke", "flush", "kill", "shutdown", "reset", "change", "purge", "install", "uninstall", "optimize", "repair",
		"check", "cache", "stop", "binlog", "backup", "restart", "clone", "xa":
		return server("a statement for administrators: " + w)
	default:
		return unknown("not known: " + Clip(w, 20))
	}
	return unknown("not known")
}

// query judges what begins with SELECT, VALUES, TABLE, WITH or a parenthesis.
func (c clause) query() Judgement {
	switch main := c.main(); main {
	case "select", "values", "table":
	case "insert", "update", "delete", "replace":
		return c.change(main)
	default:
		return unknown("not a query")
	}
	j := c.plain(Judgement{})
	j.IsQuery, j.IsOrdered = true, j.Kind == Read && c.isOrdered()
	return j
}

// main is the word by which the query is known: behind WITH and its parts, and
// inside parentheses.
func (c clause) main() string {
	i := 0
	for c.symbol(i) == "(" {
		i++
	}
	if c.word(i) != "with" {
		return c.word(i)
	}
	depth := c.t[i].depth
	for k := i + 1; k < len(c.t); k++ {
		if c.t[k].depth != depth || c.symbol(k-1) != ")" {
			continue
		}
		switch w := c.word(k); w {
		case "select", "values", "table", "insert", "update", "delete", "replace":
			return w
		case "":
			if c.symbol(k) == "(" {
				return c.from(k).main()
			}
		}
	}
	return ""
}

// isOrdered says whether there is an ORDER BY for the whole.
func (c clause) isOrdered() bool {
	base := c.t[0].depth
	for i := range c.t {
		if c.t[i].depth == base && c.is(i, "order", "by") {
			return true
		}
	}
	return false
}

// change judges INSERT, UPDATE, DELETE, REPLACE.
func (c clause) change(what string) Judgement {
	for i := range c.t {
		if w := c.word(i); (w == "outfile" || w == "dumpfile" || w == "infile") && c.symbol(i-1) != "." {
			return server("names a file")
		}
	}
	j := c.plain(Judgement{})
	if j.Kind == Server || j.Kind == Unknown && !strings.HasPrefix(j.Reason, writeWord) {
		return j
	}
	return Judgement{Kind: Write, Reason: "changes rows: " + what, Chance: j.Chance}
}

// transaction judges what begins and ends transactions.
func (c clause) transaction() Judgement {
	w := c.word(0)
	rest := c.from(1)
	if rest.word(0) == "work" {
		rest = rest.from(1)
	}
	switch {
	case w == "begin" && rest.ends(0):
		return Judgement{Kind: Session, Begins: true}
	case w == "start" && c.word(1) == "transaction":
		for i := range c.t {
			if c.is(i, "read", "write") {
				return Judgement{Kind: Write, Reason: "begins a transaction that may write", Begins: true}
			}
		}
		return Judgement{Kind: Session, Begins: true}
	case w == "rollback" && (rest.word(0) == "to"):
		return Judgement{Kind: Session}
	case w == "commit" || w == "rollback":
		return c.ending(rest)
	case w == "savepoint" && c.ends(2), w == "release" && c.is(1, "savepoint"):
		return Judgement{Kind: Session}
	case w == "start":
		return server("a statement for administrators: start")
	}
	return unknown("a block of statements")
}

// ending judges the words behind COMMIT and ROLLBACK.
func (c clause) ending(rest clause) Judgement {
	j := Judgement{Kind: Session, Ends: true}
	for i := range rest.t {
		switch rest.word(i) {
		case "and", "no":
		case "chain":
			j.Ends = rest.word(i-1) == "no"
		case "release":
			if rest.word(i-1) != "no" {
				return unknown("ends its connection by COMMIT RELEASE")
			}
		default:
			return unknown("a COMMIT or ROLLBACK that is not understood")
		}
	}
	j.Begins = !j.Ends
	return j
}

// define judges CREATE, ALTER, DROP, TRUNCATE, RENAME. Only tables, their
// indexes and views are defined.
func (c clause) define(what string) Judgement {
	object, at := "", 0
	for i := 1; i < len(c.t) && i < 40 && object == ""; i++ {
		switch w := c.word(i); w {
		case "table", "tables", "index", "view", "sequence":
			object, at = w, i
		case "database", "schema", "user", "role", "function", "procedure", "trigger", "event", "server", "tablespace", "logfile", "package",
			"system", "instance", "resource", "undo", "spatial_reference":
			return server("defines a " + w)
		}
	}
	if object == "" && what != "truncate" {
		return unknown("a definition that is not understood")
	}
	for i := range c.t {
		if w := c.word(i); w == "directory" || w == "connection" || w == "federated" || w == "connect" || w == "spider" || w == "outfile" || w == "dumpfile" {
			return server("a table that reaches out of its server")
		}
	}
	j := Judgement{Kind: Define, Reason: "changes tables: " + what}
	if what == "create" && c.word(at-1) == "temporary" {
		at++
		if c.is(at, "if", "not", "exists") {
			at += 3
		}
		if c.symbol(at+1) == "." {
			at += 2
		}
		if at < len(c.t) {
			j.Temporary = c.t[at].text
		}
		j.Reason = "makes a temporary table"
	}
	return j
}

// show judges SHOW: what tells of the data is a read, what tells of the server
// is not for an account that may only read.
func (c clause) show() Judgement {
	rest := 1
	if c.word(1) == "create" {
		rest = 3
	}
	if j := c.from(rest).plain(Judgement{}); j.Kind != Read {
		return j
	}
	i := 1
	for c.word(i) == "full" || c.word(i) == "extended" || c.word(i) == "session" || c.word(i) == "local" {
		i++
	}
	w := c.word(i)
	switch {
	case w == "" || vocabulary().serverShows[w] || w == "count" || w == "warnings":
		return Judgement{Kind: Server, Reason: "asks about the server, not its data"}
	case w == "create" && vocabulary().serverShows[c.word(i+1)]:
		return Judgement{Kind: Server, Reason: "asks about the server, not its data"}
	case w == "variables" || w == "table", w == "index", w == "indexes", w == "keys":
		return Judgement{Chance: "figures of the server"}
	}
	return Judgement{}
}

// explain judges EXPLAIN, DESCRIBE and ANALYZE by what they explain.
func (c clause) explain() Judgement {
	i := 1
	if c.word(0) == "analyze" && (c.word(1) == "table" || c.word(1) == "local" || c.word(1) == "no_write_to_binlog") {
		return server("a statement for administrators: analyze")
	}
	for i < len(c.t) {
		switch w := c.word(i); {
		case w == "extended" || w == "partitions" || w == "analyze":
			i++
		case w == "format" && c.symbol(i+1) == "=":
			i += 3
		case w == "for":
			return server("asks about another connection")
		case w == "select" || w == "with" || w == "values" || w == "table" && c.word(0) != "desc" || c.symbol(i) == "(":
			j := c.from(i).query()
			j.Chance, j.IsOrdered, j.IsQuery = "plans are the server's", false, false
			return j
		case w == "insert" || w == "update" || w == "delete" || w == "replace":
			return write("explains a change, which READ ONLY refuses")
		case c.word(0) == "analyze":
			return unknown("an ANALYZE that is not understood")
		default:
			return c.plain(Judgement{})
		}
	}
	return unknown("an EXPLAIN of nothing")
}

// Clip is the first n bytes of a text, and three dots where there are more.
func Clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}
