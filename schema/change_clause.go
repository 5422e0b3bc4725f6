package schema

import (
	"regexp"
	"strings"

	"stowage/internal/lazy"
)

// clause is one of an ALTER TABLE: what it does, by its first words, and the names that it speaks of.
type clause struct {
	does string // "add column", "rename index": see verbs; "" for an unknown one
	name string // of the column, or its old name
	to   string // its new name
	text string
}

// verbs are the clauses that Stowage knows, the longer before the shorter. A clause that is not in the list is never called safe.
var verbs = []struct {
	does  string
	start func() *regexp.Regexp
}{
	{"add partition", lazy.Regexp(`(?i)^ADD\s+PARTITION\b`)},
	{"add key", lazy.Regexp(`(?i)^ADD\s+((UNIQUE|FULLTEXT|SPATIAL)\b(\s+(KEY|INDEX)\b)?|(KEY|INDEX|PRIMARY\s+KEY)\b)`)},
	{"add constraint", lazy.Regexp(`(?i)^ADD\s+(CONSTRAINT|FOREIGN\s+KEY|CHECK)\b`)},
	{"unknown", lazy.Regexp(`(?i)^ADD\s+(PERIOD|SYSTEM)\b`)},
	{"add column", lazy.Regexp(`(?i)^ADD\s+(COLUMN\b\s*)?(IF\s+NOT\s+EXISTS\b\s*)?`)},
	{"drop partition", lazy.Regexp(`(?i)^(DROP|TRUNCATE)\s+PARTITION\b`)},
	{"drop key", lazy.Regexp(`(?i)^DROP\s+(KEY|INDEX|PRIMARY\s+KEY)\b`)},
	{"drop constraint", lazy.Regexp(`(?i)^DROP\s+(CONSTRAINT|FOREIGN\s+KEY|CHECK)\b`)},
	{"unknown", lazy.Regexp(`(?i)^DROP\s+(PERIOD|SYSTEM)\b`)},
	{"drop column", lazy.Regexp(`(?i)^DROP\s+(COLUMN\b\s*)?(IF\s+EXISTS\b\s*)?`)},
	{"modify column", lazy.Regexp(`(?i)^MODIFY\s+(COLUMN\b\s*)?(IF\s+EXISTS\b\s*)?`)},
	{"change column", lazy.Regexp(`(?i)^CHANGE\s+(COLUMN\b\s*)?(IF\s+EXISTS\b\s*)?`)},
	{"rename column", lazy.Regexp(`(?i)^RENAME\s+COLUMN\b\s*(IF\s+EXISTS\b\s*)?`)},
	{"rename index", lazy.Regexp(`(?i)^RENAME\s+(INDEX|KEY)\b`)},
	{"rename table", lazy.Regexp(`(?i)^RENAME\b`)},
	{"alter index", lazy.Regexp(`(?i)^ALTER\s+(INDEX|KEY)\b`)},
	{"alter column", lazy.Regexp(`(?i)^ALTER\s+(COLUMN\b\s*)?(IF\s+EXISTS\b\s*)?`)},
	{"exchange", lazy.Regexp(`(?i)^(EXCHANGE\s+PARTITION|CONVERT\s+(PARTITION|TABLE))\b`)},
	{"tablespace", lazy.Regexp(`(?i)^(DISCARD|IMPORT)\b`)},
	{"convert", lazy.Regexp(`(?i)^CONVERT\s+TO\s+(CHARACTER\s+SET|CHARSET)\b`)},
	{"reorganize partition", lazy.Regexp(`(?i)^REORGANIZE\s+PARTITION\b`)},
	{"coalesce partition", lazy.Regexp(`(?i)^COALESCE\s+PARTITION\b`)},
	{"partition by", lazy.Regexp(`(?i)^PARTITION\s+BY\b`)},
	{"remove partitioning", lazy.Regexp(`(?i)^REMOVE\s+PARTITIONING\b`)},
	{"force", lazy.Regexp(`(?i)^FORCE\s*$`)},
	{"option", lazy.Regexp(`(?i)^(DEFAULT\s+)?(ENGINE|COMMENT|AUTO_INCREMENT|ROW_FORMAT|KEY_BLOCK_SIZE|CHARSET|CHARACTER\s+SET|COLLATE|STATS_[A-Z_]+|` + "`?" + `PAGE_[A-Z_]+` + "`?" + `|` + "`?" + `ENCRYPT[A-Z_]+` + "`?" + `|COMPRESSION|MAX_ROWS|MIN_ROWS|AVG_ROW_LENGTH|CHECKSUM|DELAY_KEY_WRITE|PACK_KEYS)\b`)},
}

// notOurs are clauses of another kind of change.
var notOurs = map[string]refusal{
	"rename table": {"it renames a table", "a table that is renamed on one side only stops replication; rename it in a maintenance window"},
	"exchange":     {"it exchanges a partition with a table", "rows would change places on one side only; do it through the binary log"},
	"tablespace":   {"it takes a tablespace away or brings another", "rows would differ between the sides; it is not done by a swing"},
}

// trailing stands behind the clauses of an ALTER TABLE, without a comma before it.
var trailing = lazy.Regexp(`(?i)\b(PARTITION\s+BY|REMOVE\s+PARTITIONING)\b`)

// listsPartitions begins a list of partitions, whose commas are none between clauses. Nothing else stands beside it.
var listsPartitions = lazy.Regexp(`(?i)^(DROP|TRUNCATE|REORGANIZE)\s+PARTITION\b`)

// clausesOf takes the text behind ALTER TABLE name apart.
func clausesOf(body string) []clause {
	var texts []string
	for _, t := range split(body, ',') {
		t = strings.TrimSpace(t)
		if n := len(texts) - 1; n >= 0 && listsPartitions().MatchString(texts[n]) {
			texts[n] += ", " + t
			continue
		}
		if m := trailing().FindStringIndex(outside(t)); m != nil && m[0] > 0 {
			texts = append(texts, strings.TrimSpace(t[:m[0]]))
			t = t[m[0]:]
		}
		texts = append(texts, t)
	}
	var out []clause
	for _, t := range texts {
		out = append(out, clauseOf(t)...)
	}
	return out
}

// outside is mask, with blanks for what is in parentheses, too.
func outside(s string) string {
	out := []byte(mask(s))
	depth := 0
	for i, c := range out {
		if c == '(' {
			depth++
		}
		if depth > 0 {
			out[i] = ' '
		}
		if c == ')' {
			depth--
		}
	}
	return string(out)
}

func clauseOf(text string) []clause {
	masked := maskText(text)
	for _, v := range verbs {
		m := v.start().FindStringIndex(masked)
		if m == nil {
			continue
		}
		c := clause{does: v.does, text: text}
		rest := strings.TrimSpace(text[m[1]:])
		switch v.does {
		case "unknown":
			c.does = ""
		case "add column":
			if _, inside, _, ok := body(rest); ok && strings.HasPrefix(rest, "(") {
				return addedInParentheses(inside)
			}
			c.name, _ = name(rest)
		case "drop column", "modify column":
			c.name, _ = name(rest)
		case "change column":
			c.name, rest = name(rest)
			c.to, _ = name(rest)
		case "rename column":
			c.name, rest = name(rest)
			if rest = strings.TrimSpace(rest); len(rest) > 2 && strings.EqualFold(rest[:2], "to") {
				c.to, _ = name(rest[2:])
			}
		}
		return []clause{c}
	}
	return []clause{{text: text}}
}

// addedInParentheses are the columns, and keys, of ADD (a INT, b INT, KEY (a)).
func addedInParentheses(inside string) []clause {
	var out []clause
	for _, t := range split(inside, ',') {
		out = append(out, clauseOf("ADD "+strings.TrimSpace(t))...)
	}
	return out
}

// body of a change: what is behind ALTER TABLE name.
func (c Change) body() string {
	_, rest := name(strings.TrimPrefix(c.Text, "ALTER TABLE "))
	return strings.TrimSpace(rest)
}
