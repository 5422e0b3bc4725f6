package schema

import (
	"regexp"
	"strings"
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
	start *regexp.Regexp
}{
	{"add partition", regexp.MustCompile(`(?i)^ADD\s+PARTITION\b`)},
	{"add key", regexp.MustCompile(`(?i)^ADD\s+((UNIQUE|FULLTEXT|SPATIAL)\b(\s+(KEY|INDEX)\b)?|(KEY|INDEX|PRIMARY\s+KEY)\b)`)},
	{"add constraint", regexp.MustCompile(`(?i)^ADD\s+(CONSTRAINT|FOREIGN\s+KEY|CHECK)\b`)},
	{"unknown", regexp.MustCompile(`(?i)^ADD\s+(PERIOD|SYSTEM)\b`)},
	{"add column", regexp.MustCompile(`(?i)^ADD\s+(COLUMN\b\s*)?(IF\s+NOT\s+EXISTS\b\s*)?`)},
	{"drop partition", regexp.MustCompile(`(?i)^(DROP|TRUNCATE)\s+PARTITION\b`)},
	{"drop key", regexp.MustCompile(`(?i)^DROP\s+(KEY|INDEX|PRIMARY\s+KEY)\b`)},
	{"drop constraint", regexp.MustCompile(`(?i)^DROP\s+(CONSTRAINT|FOREIGN\s+KEY|CHECK)\b`)},
	{"unknown", regexp.MustCompile(`(?i)^DROP\s+(PERIOD|SYSTEM)\b`)},
	{"drop column", regexp.MustCompile(`(?i)^DROP\s+(COLUMN\b\s*)?(IF\s+EXISTS\b\s*)?`)},
	{"modify column", regexp.MustCompile(`(?i)^MODIFY\s+(COLUMN\b\s*)?(IF\s+EXISTS\b\s*)?`)},
	{"change column", regexp.MustCompile(`(?i)^CHANGE\s+(COLUMN\b\s*)?(IF\s+EXISTS\b\s*)?`)},
	{"rename column", regexp.MustCompile(`(?i)^RENAME\s+COLUMN\b\s*(IF\s+EXISTS\b\s*)?`)},
	{"rename index", regexp.MustCompile(`(?i)^RENAME\s+(INDEX|KEY)\b`)},
	{"rename table", regexp.MustCompile(`(?i)^RENAME\b`)},
	{"alter index", regexp.MustCompile(`(?i)^ALTER\s+(INDEX|KEY)\b`)},
	{"alter column", regexp.MustCompile(`(?i)^ALTER\s+(COLUMN\b\s*)?(IF\s+EXISTS\b\s*)?`)},
	{"exchange", regexp.MustCompile(`(?i)^(EXCHANGE\s+PARTITION|CONVERT\s+(PARTITION|TABLE))\b`)},
	{"tablespace", regexp.MustCompile(`(?i)^(DISCARD|IMPORT)\b`)},
	{"convert", regexp.MustCompile(`(?i)^CONVERT\s+TO\s+(CHARACTER\s+SET|CHARSET)\b`)},
	{"reorganize partition", regexp.MustCompile(`(?i)^REORGANIZE\s+PARTITION\b`)},
	{"coalesce partition", regexp.MustCompile(`(?i)^COALESCE\s+PARTITION\b`)},
	{"partition by", regexp.MustCompile(`(?i)^PARTITION\s+BY\b`)},
	{"remove partitioning", regexp.MustCompile(`(?i)^REMOVE\s+PARTITIONING\b`)},
	{"force", regexp.MustCompile(`(?i)^FORCE\s*$`)},
	{"option", regexp.MustCompile(`(?i)^(DEFAULT\s+)?(ENGINE|COMMENT|AUTO_INCREMENT|ROW_FORMAT|KEY_BLOCK_SIZE|CHARSET|CHARACTER\s+SET|COLLATE|STATS_[A-Z_]+|PAGE_[A-Z_]+|` + "`?" + `ENCRYPT[A-Z_]+` + "`?" + `|COMPRESSION|MAX_ROWS|MIN_ROWS|AVG_ROW_LENGTH|CHECKSUM|DELAY_KEY_WRITE|PACK_KEYS)\b`)},
}

// notOurs are clauses of another kind of change.
var notOurs = map[string]refusal{
	"rename table": {"it renames a table", "a table that is renamed on one side only stops replication; rename it in a maintenance window"},
	"exchange":     {"it exchanges a partition with a table", "rows would change places on one side only; do it through the binary log"},
	"tablespace":   {"it takes a tablespace away or brings another", "rows would differ between the sides; it is not done by a swing"},
}

// trailing stands behind the clauses of an ALTER TABLE, without a comma before it.
var trailing = regexp.MustCompile(`(?i)\b(PARTITION\s+BY|REMOVE\s+PARTITIONING)\b`)

// clausesOf takes the text behind ALTER TABLE name apart.
func clausesOf(body string) []clause {
	var texts []string
	for _, t := range split(body, ',') {
		t = strings.TrimSpace(t)
		if m := trailing.FindStringIndex(outside(t)); m != nil && m[0] > 0 {
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
		m := v.start.FindStringIndex(masked)
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
