package mysql

import (
	"slices"
	"strings"
)

// Meaning is what a statement in the binary log means to somebody who carries
// one database by its rows.
type Meaning int

const (
	Nothing    Meaning = iota // it does not touch the database, or not its tables and rows
	Own                       // the copier's own
	Definition                // it changes a table, view, routine or event of the database
	Writing                   // it writes rows of the database as a statement
	TwoPhase                  // part of an XA transaction
	PartUndone                // rows before it in the transaction do not count
)

// Understand says what a statement, run with a default database, means for schema.
// Where it cannot be sure it says Definition: to stop for nothing is a
// nuisance, to go on past a change would lose rows. With tables, definitions
// that name none of them mean Nothing.
func Understand(schema, current, text string, tables ...string) Meaning {
	if strings.Contains(text, OwnComment) {
		return Own
	}
	words := splitWords(text)
	if len(words) > 1 && words[0].is("SET") && words[1].is("STATEMENT") {
		for i, w := range words {
			if w.is("FOR") {
				words = words[i+1:]
				break
			}
		}
	}
	if len(words) == 0 {
		return Nothing
	}
	concerns := strings.EqualFold(current, schema) || qualifies(words, schema)
	switch first := words[0].upper(); first {
	case "XA":
		return TwoPhase
	case "ROLLBACK":
		return PartUndone
	case "SAVEPOINT", "RELEASE", "FLUSH", "ANALYZE", "OPTIMIZE", "REPAIR", "CHECK", "CHECKSUM", "GRANT", "REVOKE", "SET", "KILL", "RESET", "USE", "BEGIN", "COMMIT":
		return Nothing
	case "TRUNCATE": // TABLE may be left out: what comes next may be the name of a table
		if concerns && namesAny(words, tables) {
			return Definition
		}
		return Nothing
	case "CREATE", "ALTER", "DROP", "RENAME":
		return meaningOfDefinition(schema, words, concerns && namesAny(words, tables))
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL", "WITH", "SELECT", "DO":
		if concerns {
			return Writing
		}
		return Nothing
	}
	if concerns {
		return Definition
	}
	return Nothing
}

func meaningOfDefinition(schema string, words []word, concerns bool) Meaning {
	for i := 1; i < len(words); i++ {
		switch words[i].upper() {
		case "USER", "ROLE", "SERVER", "TEMPORARY":
			return Nothing
		case "TRIGGER": // events carry what triggers did, and triggers are taken over behind the fence
			return Nothing
		case "DATABASE", "SCHEMA":
			for _, w := range words[i+1:] {
				if w.names(schema) {
					return Definition
				}
			}
			return Nothing
		case "TABLE":
			if words[0].is("DROP") && onlyMarks(words[i+1:], schema) {
				return Own
			}
		case "OR", "REPLACE", "IF", "NOT", "EXISTS", "DEFINER", "=", "@", "ONLINE", "OFFLINE", "IGNORE", "AGGREGATE", "ALGORITHM", "SQL", "SECURITY",
			"UNDEFINED", "MERGE", "TEMPTABLE", "INVOKER", "CURRENT_USER", "CURRENT_ROLE", "UNIQUE", "FULLTEXT", "SPATIAL":
			continue
		default:
			if words[i].quoted { // a definer's name
				continue
			}
		}
		break
	}
	if concerns {
		return Definition
	}
	return Nothing
}

// namesAny reports whether one of the tables is named, aside or not; no tables: all are meant.
func namesAny(words []word, tables []string) bool {
	return tables == nil || slices.ContainsFunc(words, func(w word) bool {
		return slices.ContainsFunc(tables, func(t string) bool { return w.names(t) || w.names(AsidePrefix+t) })
	})
}

// onlyMarks: a DROP TABLE of the copier's own tables, which the server logs in words of its own.
func onlyMarks(words []word, schema string) bool {
	marks := 0
	for i, w := range words {
		switch {
		case !w.quoted:
			continue
		case strings.HasPrefix(w.text, MarkPrefix):
			marks++
		case w.names(schema) && i+1 < len(words) && words[i+1].text == ".":
		default:
			return false
		}
	}
	return marks > 0
}

// qualifies reports whether the statement names something of schema: `schema`.x
func qualifies(words []word, schema string) bool {
	for i := 0; i+1 < len(words); i++ {
		if words[i].names(schema) && words[i+1].text == "." && !words[i+1].quoted {
			return true
		}
	}
	return false
}

// Named are those of some databases of which a statement names something.
func Named(text string, databases []string) (out []string) {
	words := splitWords(text)
	for _, schema := range databases {
		if qualifies(words, schema) {
			out = append(out, schema)
		}
	}
	return out
}

// word is one word, number or sign of a statement; strings and comments are left out.
type word struct {
	text   string
	quoted bool
}

func (w word) upper() string {
	if w.quoted {
		return ""
	}
	return strings.ToUpper(w.text)
}
func (w word) is(text string) bool      { return w.upper() == text }
func (w word) names(schema string) bool { return strings.EqualFold(w.text, schema) }

func splitWords(text string) []word {
	var out []word
	for i := 0; i < len(text); {
		b := text[i]
		switch {
		case b <= ' ':
			i++
		case strings.HasPrefix(text[i:], "/*!"), strings.HasPrefix(text[i:], "/*M!"): // what it holds is carried out
			i += strings.IndexByte(text[i:], '!') + 1
			for i < len(text) && text[i] >= '0' && text[i] <= '9' {
				i++
			}
		case strings.HasPrefix(text[i:], "*/"):
			i += 2
		case strings.HasPrefix(text[i:], "/*"):
			i = skipTo(text, i+2, "*/")
		case b == '#', strings.HasPrefix(text[i:], "-- "), strings.HasPrefix(text[i:], "--\t"), strings.HasPrefix(text[i:], "--\n"):
			i = skipTo(text, i, "\n")
		case b == '\'':
			_, i = QuotedWord(text, i)
		case b == '`', b == '"': // in ANSI mode the latter holds a name
			var name string
			name, i = QuotedWord(text, i)
			out = append(out, word{name, true})
		case isWordByte(b):
			from := i
			for i < len(text) && isWordByte(text[i]) {
				i++
			}
			out = append(out, word{text[from:i], false})
		default:
			out = append(out, word{text[i : i+1], false})
			i++
		}
	}
	return out
}

func isWordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b == '$' || b >= 0x80
}

func skipTo(text string, from int, end string) int {
	if at := strings.Index(text[from:], end); at >= 0 {
		return from + at + len(end)
	}
	return len(text)
}

// QuotedWord reads from a quote to its end; doubled quotes and, in strings, backslashes are undone.
func QuotedWord(text string, from int) (string, int) {
	quote := text[from]
	var name []byte
	for i := from + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`' && i+1 < len(text):
			i++
			name = append(name, text[i])
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
			name = append(name, quote)
		case text[i] == quote:
			return string(name), i + 1
		default:
			name = append(name, text[i])
		}
	}
	return string(name), len(text)
}
