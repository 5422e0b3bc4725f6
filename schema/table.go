package schema

import (
	"errors"
	"strings"

	"stowage/internal/lazy"
)

// Table is a table as a server defines it.
type Table struct {
	Name        string
	Columns     []Part // in their order
	Keys        []Part // primary, unique, plain, full text and spatial
	Constraints []Part // foreign keys and checks of the table, its periods
	Options     string // ENGINE=InnoDB ..., without AUTO_INCREMENT
	Partitions  string // PARTITION BY ...; "" where there are none
	Text        string // all of it, without AUTO_INCREMENT
}

// Part is a column, a key or a constraint.
type Part struct {
	Name string // "PRIMARY KEY" for that one
	Text string // its line of SHOW CREATE TABLE, without the comma
}

// ErrNoTable: a statement makes no table.
var ErrNoTable = errors.New("no CREATE TABLE or CREATE SEQUENCE")

var creates = lazy.Regexp(`(?is)^CREATE\s+(?:OR\s+REPLACE\s+)?(TABLE|SEQUENCE)\s+(?:IF\s+NOT\s+EXISTS\s+)?`)

// Named is the table or sequence that a statement makes; ErrNoTable for any other. A database before the name is left out.
func Named(statement string) (string, error) {
	at := creates().FindStringIndex(statement)
	if at == nil {
		return "", ErrNoTable
	}
	n, rest := name(statement[at[1]:])
	if strings.HasPrefix(rest, ".") {
		n, _ = name(rest[1:])
	}
	if n == "" {
		return "", ErrNoTable
	}
	return n, nil
}

// Read takes the answer of SHOW CREATE TABLE apart. A sequence has options only. ErrNoTable for anything else.
func Read(create string) (Table, error) {
	create = strings.TrimRight(create, " \t\r\n;")
	n, err := Named(create)
	if err != nil {
		return Table{}, err
	}
	t := Table{Name: n}
	before, inside, after, ok := body(create)
	if !ok || strings.EqualFold(creates().FindStringSubmatch(create)[1], "SEQUENCE") {
		t.Options = strings.TrimSpace(create)
		t.Text = t.Options
		return t, nil
	}
	for _, text := range split(inside, ',') {
		t.add(strings.TrimSpace(text))
	}
	t.options(after)
	var b strings.Builder
	b.WriteString(strings.TrimSpace(before) + " (\n")
	parts := append(append(append([]Part{}, t.Columns...), t.Keys...), t.Constraints...)
	for i, p := range parts {
		b.WriteString("  " + p.Text)
		if i < len(parts)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString(strings.TrimSpace(") " + t.Options))
	if t.Partitions != "" {
		b.WriteString("\n" + t.Partitions)
	}
	t.Text = b.String()
	return t, nil
}

var (
	keyStart        = lazy.Regexp(`(?is)^(PRIMARY\s+KEY|(?:UNIQUE|FULLTEXT|SPATIAL)\s+(?:KEY|INDEX)?|KEY\s|INDEX\s)`)
	constraintStart = lazy.Regexp(`(?is)^(CONSTRAINT\s|FOREIGN\s+KEY|CHECK\s*\(|PERIOD\s+FOR\s)`)
	anyPartitions   = lazy.Regexp(`(?i)(/\*[!M][!]?\d+\s*)?\bPARTITION\s+BY\b`)
	counter         = lazy.Regexp(`(?i)\s*\bAUTO_INCREMENT=\d+`)
	oldUTF8         = lazy.Regexp(`(?i)\butf8(_[a-z0-9_]+|\b)`)
)

func (t *Table) add(text string) {
	text = unquoted(text, func(s string) string { return oldUTF8().ReplaceAllString(s, "utf8mb3$1") })
	switch {
	case text == "":
	case constraintStart().MatchString(text):
		p := Part{Text: text}
		if rest, is := cutWord(text, "CONSTRAINT"); is {
			p.Name, _ = name(rest)
		} else {
			p.Name = strings.Join(strings.Fields(text), " ")
		}
		t.Constraints = append(t.Constraints, p)
	case keyStart().MatchString(text):
		start := strings.ToUpper(keyStart().FindString(text))
		p := Part{Name: "PRIMARY KEY", Text: text}
		if !strings.HasPrefix(start, "PRIMARY") {
			p.Name, _ = name(text[len(start):])
		}
		t.Keys = append(t.Keys, p)
	default:
		p := Part{Text: text}
		p.Name, _ = name(text)
		t.Columns = append(t.Columns, p)
	}
}

func (t *Table) options(after string) {
	at := -1
	masked := mask(after)
	if m := anyPartitions().FindStringIndex(masked); m != nil {
		at = m[0]
	}
	if at >= 0 {
		t.Partitions = strings.TrimSpace(after[at:])
		after = after[:at]
	}
	t.Options = strings.TrimSpace(unquoted(after, func(s string) string {
		return oldUTF8().ReplaceAllString(counter().ReplaceAllString(s, ""), "utf8mb3$1")
	}))
}

func cutWord(s, word string) (rest string, ok bool) {
	if len(s) > len(word) && strings.EqualFold(s[:len(word)], word) && strings.ContainsRune(" \t\r\n", rune(s[len(word)])) {
		return s[len(word):], true
	}
	return s, false
}

// unquoted changes what is outside of quotes and comments.
func unquoted(s string, change func(string) string) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(s); {
		j := skip(s, i)
		if j == i {
			i++
			continue
		}
		b.WriteString(change(s[from:i]))
		b.WriteString(s[i:j])
		i, from = j, j
	}
	b.WriteString(change(s[from:]))
	return b.String()
}

// mask is a text of the same length with blanks where quotes and comments were.
func mask(s string) string {
	out := []byte(s)
	for i := 0; i < len(s); {
		j := skip(s, i)
		for k := i; k < j; k++ {
			out[k] = ' '
		}
		i = max(j, i+1)
	}
	return string(out)
}
