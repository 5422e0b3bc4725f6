package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
)

// Change is what a script does to one table.
type Change struct {
	Table string `json:"table"`
	Text  string `json:"text"`  // always an ALTER TABLE, without comments: CREATE INDEX, DROP INDEX and OPTIMIZE TABLE are written as what they are
	Place string `json:"place"` // file:line
}

// Changes reads a script: one statement for each table. farm.ErrInput with file:line for anything that is not a change of a table's shape, and for what Stowage chooses itself.
// It refuses what can be seen in the text; what a change means for rows is asked of a server (schema/scratch) and judged by JudgeChange.
func Changes(file string, text []byte) ([]Change, error) {
	var out []Change
	for _, s := range Statements(strings.TrimPrefix(string(text), "\ufeff")) { // editors of Windows begin files with it
		place := fmt.Sprintf("%s:%d", file, s.Line)
		refuse := func(e refusal) error {
			return &farm.Error{Op: "read", Subject: place, Err: fmt.Errorf("%w: %s", farm.ErrInput, e.what), Hint: e.hint}
		}
		plain, e := withoutComments(s.Text)
		if e != nil {
			return nil, refuse(*e)
		}
		c, e := changeOf(plain)
		if e != nil {
			return nil, refuse(*e)
		}
		c.Place = place
		if n := slices.IndexFunc(out, func(o Change) bool { return o.Table == c.Table }); n >= 0 {
			return nil, refuse(refusal{fmt.Sprintf("table %s is changed at %s, too", c.Table, out[n].Place), "merge them into one ALTER TABLE, or run two scripts one after the other"})
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, &farm.Error{Op: "read", Subject: file, Err: fmt.Errorf("%w: no statement", farm.ErrInput), Hint: "write ALTER TABLE, CREATE INDEX or DROP INDEX"}
	}
	return out, nil
}

// refusal is why a statement is none of a change script, and what to write.
type refusal struct{ what, hint string }

// withoutComments puts a blank in place of each comment. Executable comments are refused: what they say depends on the server.
func withoutComments(s string) (string, *refusal) {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := skip(s, i)
		switch {
		case j == i && strings.HasPrefix(s[i:], "/*"):
			return "", &refusal{"an executable comment (/*! or /*M!)", "write it without executable comments"}
		case j == i:
			b.WriteByte(s[i])
			i++
			continue
		case s[i] == '\'' || s[i] == '"' || s[i] == '`':
			if j == i+1 || s[j-1] != s[i] {
				return "", &refusal{"a quote that is not closed", "close it"}
			}
			b.WriteString(s[i:j])
		default:
			b.WriteByte(' ')
		}
		i = j
	}
	return strings.TrimSpace(b.String()), nil
}

// others are statements that people put into such scripts, and why they do not belong there.
var others = []struct {
	start func() *regexp.Regexp
	refusal
}{
	{lazy.Regexp(`(?i)^RENAME\b`), refusal{"it renames a table", "a table that is renamed on one side only stops replication; rename it in a maintenance window"}},
	{lazy.Regexp(`(?i)^(DROP|TRUNCATE)\s+(TEMPORARY\s+)?TABLES?\b|^TRUNCATE\b`), refusal{"it removes all rows of a table", "Stowage never does that; drop the table yourself when no client needs it"}},
	{lazy.Regexp(`(?i)^CREATE\s+(OR\s+REPLACE\s+)?(TEMPORARY\s+)?TABLE\b`), refusal{"it makes a table", "a new table needs no swing: create it through the binary log"}},
	{lazy.Regexp(`(?i)^(INSERT|UPDATE|DELETE|REPLACE|LOAD|SELECT|WITH|CALL|DO|HANDLER)\b`), refusal{"it reads or writes rows", "let the application, or a separate script, write rows"}},
	{lazy.Regexp(`(?i)^SET\b`), refusal{"it changes a setting", "leave SET out: Stowage sets what an ALTER needs"}},
	{lazy.Regexp(`(?i)^(DELIMITER|SOURCE|TEE|PROMPT|PAGER|SYSTEM)\b|^\\`), refusal{"it is a word of the mysql client, not of a server", "leave it out"}},
	{lazy.Regexp(`(?i)^USE\b`), refusal{"it chooses a database", "leave it out: --shards says which databases are changed"}},
	{lazy.Regexp(`(?i)^(BEGIN|START|COMMIT|ROLLBACK|LOCK|UNLOCK|FLUSH)\b`), refusal{"it belongs to transactions or locks", "leave it out"}},
	{lazy.Regexp(`(?i)^(CREATE|ALTER|DROP)\b`), refusal{"it changes no table", "write ALTER TABLE, CREATE INDEX, DROP INDEX or OPTIMIZE TABLE; views, routines, triggers and events are not changed by swings"}},
	{lazy.Regexp(``), refusal{"an unknown statement", "write ALTER TABLE, CREATE INDEX, DROP INDEX or OPTIMIZE TABLE"}},
}

var (
	alterStart    = lazy.Regexp(`(?i)^ALTER\s+(ONLINE\s+|OFFLINE\s+)?(IGNORE\s+)?TABLE\s+(IF\s+EXISTS\s+)?`)
	makeIndex     = lazy.Regexp(`(?i)^CREATE\s+(OR\s+REPLACE\s+)?(?:ONLINE\s+|OFFLINE\s+)?((?:UNIQUE|FULLTEXT|SPATIAL)\s+)?INDEX\s+(IF\s+NOT\s+EXISTS\s+)?`)
	dropIndex     = lazy.Regexp(`(?i)^DROP\s+INDEX\s+(IF\s+EXISTS\s+)?`)
	optimize      = lazy.Regexp(`(?i)^OPTIMIZE\s+TABLE\s+`)
	indexType     = lazy.Regexp(`(?i)^\s*USING\s+[A-Z]+\b`)
	on            = lazy.Regexp(`(?i)^\s*ON\s+`)
	lockWaits     = lazy.Regexp(`(?i)^(NO)?WAIT\b|\bWAIT\s+\d+$|\s{2,}NOWAIT$`) // blanks: columns in parentheses were there
	chosenByUs    = lazy.Regexp(`(?i)\b(ALGORITHM|LOCK)\s*=?\s*(DEFAULT|INSTANT|NOCOPY|INPLACE|COPY|NONE|SHARED|EXCLUSIVE)\b`)
	leaveToUs     = refusal{"it tells the server how to do it (ALGORITHM, LOCK, WAIT, NOWAIT, ONLINE)", "leave it out: Stowage asks the server and chooses"}
	otherDatabase = refusal{"a database before the name of a table", "leave it out: --shards says which databases are changed"}
)

var plainName = lazy.Regexp(`^[0-9A-Za-z_$\x{80}-\x{ffff}]+$`)

// named is name, for what people wrote: "" for a plain name that servers would not take for one.
func named(s string) (string, string) {
	n, rest := name(s)
	if s = strings.TrimSpace(s); s != "" && s[0] != '`' && s[0] != '"' && !plainName().MatchString(n) {
		return "", rest
	}
	return n, rest
}

// changeOf makes a change of one statement without comments.
func changeOf(s string) (Change, *refusal) {
	var table, body string
	switch masked := maskText(s); {
	case alterStart().MatchString(masked):
		m := alterStart().FindStringSubmatch(masked)
		switch {
		case m[1] != "":
			return Change{}, &leaveToUs
		case m[2] != "":
			return Change{}, &refusal{"ALTER IGNORE drops rows that do not fit", "leave IGNORE out"}
		case m[3] != "":
			return Change{}, &refusal{"IF EXISTS of a table", "leave it out: a shard without the table is named before anything begins"}
		}
		table, body = named(s[len(m[0]):])
	case makeIndex().MatchString(masked):
		m := makeIndex().FindStringSubmatch(masked)
		if m[1] != "" {
			return Change{}, &refusal{"CREATE OR REPLACE INDEX", "write ALTER TABLE ... DROP INDEX ..., ADD INDEX ..."}
		}
		index, rest := named(s[len(m[0]):])
		kind := indexType().FindString(rest)
		rest = rest[len(kind):]
		at := on().FindString(rest)
		if at == "" || index == "" {
			return Change{}, &refusal{"CREATE INDEX without a name or ON", "write CREATE INDEX name ON table (columns)"}
		}
		table, rest = named(rest[len(at):])
		if strings.HasPrefix(rest, ".") {
			return Change{}, &otherDatabase
		}
		body = strings.ToUpper("ADD "+m[2]+"INDEX "+m[3]) + quoted(index) + kind + " " + strings.TrimSpace(rest)
	case dropIndex().MatchString(masked):
		m := dropIndex().FindStringSubmatch(masked)
		index, rest := named(s[len(m[0]):])
		at := on().FindString(rest)
		if at == "" || index == "" {
			return Change{}, &refusal{"DROP INDEX without a name or ON", "write DROP INDEX name ON table"}
		}
		table, rest = named(rest[len(at):])
		if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, ".") {
			return Change{}, &otherDatabase
		} else if rest != "" {
			return Change{}, &leaveToUs
		}
		body = strings.ToUpper("DROP INDEX "+m[1]) + quoted(index)
	case optimize().MatchString(masked):
		var rest string
		if table, rest = named(s[len(optimize().FindString(masked)):]); strings.HasPrefix(rest, ".") {
			return Change{}, &otherDatabase
		} else if strings.TrimSpace(rest) != "" {
			return Change{}, &refusal{"OPTIMIZE TABLE of more than one table", "write a statement for each table"}
		}
		body = "FORCE" // what InnoDB does for it
	default:
		for _, o := range others {
			if o.start().MatchString(s) {
				return Change{}, &o.refusal
			}
		}
	}
	body = strings.TrimSpace(body)
	switch {
	case table == "":
		return Change{}, &refusal{"no table is named", "write ALTER TABLE name ..."}
	case strings.HasPrefix(body, "."):
		return Change{}, &otherDatabase
	case body == "":
		return Change{}, &refusal{"it changes nothing", "say what is to be changed"}
	case lockWaits().MatchString(outside(body)), chosenByUs().MatchString(outside(body)):
		return Change{}, &leaveToUs
	}
	for _, c := range clausesOf(body) {
		if r, is := notOurs[c.does]; is {
			return Change{}, &r
		}
	}
	return Change{Table: table, Text: "ALTER TABLE " + quoted(table) + " " + body}, nil
}
