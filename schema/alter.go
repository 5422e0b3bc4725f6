package schema

import (
	"errors"
	"slices"
	"strings"

	"stowage/internal/lazy"
)

// ErrByHand: the differences are of a kind for which no ALTER is written.
var ErrByHand = errors.New("write this change by hand")

// Alter is the statement that makes a table what it should be, without a semicolon; "" where nothing differs. ErrByHand where partitions or sequences differ.
// A column that has another name is a column less and a new one: names alone cannot tell.
func Alter(is, should Table) (string, error) {
	if len(Diff(is, should)) == 0 {
		return "", nil
	}
	if is.Partitions != should.Partitions || len(is.Columns) == 0 || len(should.Columns) == 0 {
		return "", ErrByHand
	}
	var clauses []string
	changed := func(a, b []Part, p Part) bool { // p of a is not in b, or is another there
		n := find(b, p.Name)
		return n < 0 || b[n].Text != p.Text
	}
	for _, p := range is.Constraints {
		if changed(is.Constraints, should.Constraints, p) {
			drop, err := dropConstraint(p)
			if err != nil {
				return "", err
			}
			clauses = append(clauses, drop)
		}
	}
	for _, p := range is.Keys {
		if changed(is.Keys, should.Keys, p) {
			if p.Name == "PRIMARY KEY" {
				clauses = append(clauses, "DROP PRIMARY KEY")
			} else {
				clauses = append(clauses, "DROP KEY "+quoted(p.Name))
			}
		}
	}
	clauses = append(clauses, columns(is, should)...)
	for _, p := range should.Keys {
		if changed(should.Keys, is.Keys, p) {
			clauses = append(clauses, "ADD "+p.Text)
		}
	}
	for _, p := range should.Constraints {
		if changed(should.Constraints, is.Constraints, p) {
			clauses = append(clauses, "ADD "+p.Text)
		}
	}
	if is.Options != should.Options {
		options, err := changeOptions(is.Options, should.Options)
		if err != nil {
			return "", err
		}
		clauses = append(clauses, options)
	}
	return unwrapped("ALTER TABLE " + quoted(should.Name) + "\n  " + strings.Join(clauses, ",\n  ")), nil
}

// columns are the clauses for columns, in the order in which a server carries them out: those that go, and then place by place.
func columns(was, to Table) []string {
	is, should := was.Columns, to.Columns
	var out, now []string
	for _, p := range is {
		if find(should, p.Name) < 0 {
			out = append(out, "DROP COLUMN "+quoted(p.Name))
		} else {
			now = append(now, strings.ToLower(p.Name))
		}
	}
	for i, p := range should {
		low := strings.ToLower(p.Name)
		place := " FIRST"
		if i > 0 {
			place = " AFTER " + quoted(should[i-1].Name)
		}
		n := find(is, p.Name)
		switch at := slices.Index(now, low); {
		case n < 0:
			if i == len(now) {
				place = ""
			}
			out = append(out, "ADD COLUMN "+p.Text+place)
			now = slices.Insert(now, i, low)
		case at != i:
			out = append(out, "MODIFY COLUMN "+p.Text+place)
			now = slices.Insert(slices.Delete(now, at, at+1), i, low)
		case is[n].Text != p.Text, columnOf(is[n], was.Options).collation != columnOf(p, to.Options).collation: // it has the character set of its table
			out = append(out, "MODIFY COLUMN "+p.Text)
		}
	}
	return out
}

var foreign = lazy.Regexp(`(?is)\bFOREIGN\s+KEY\b`)

func dropConstraint(p Part) (string, error) {
	switch {
	case !strings.HasPrefix(strings.ToUpper(p.Text), "CONSTRAINT"):
		return "", ErrByHand // it has no name
	case foreign().MatchString(mask(p.Text)):
		return "DROP FOREIGN KEY " + quoted(p.Name), nil
	}
	return "DROP CONSTRAINT " + quoted(p.Name), nil
}

// gone are options whose absence cannot be asked for by leaving them out, with what asks for it.
var gone = map[string]string{"COMMENT": "''", "ROW_FORMAT": "DEFAULT", "KEY_BLOCK_SIZE": "0", "STATS_PERSISTENT": "DEFAULT", "STATS_AUTO_RECALC": "DEFAULT", "STATS_SAMPLE_PAGES": "DEFAULT",
	"MAX_ROWS": "0", "MIN_ROWS": "0", "AVG_ROW_LENGTH": "0", "CHECKSUM": "0", "DELAY_KEY_WRITE": "0", "PACK_KEYS": "DEFAULT",
	"PAGE_COMPRESSED": "DEFAULT", "PAGE_COMPRESSION_LEVEL": "DEFAULT", "ENCRYPTED": "DEFAULT", "ENCRYPTION_KEY_ID": "DEFAULT", "ENCRYPTION": "'N'", "COMPRESSION": "''"}

// changeOptions are the options that differ from what they should be, and those that go. What is equal is left out: a server writes a table anew that is told its own engine.
func changeOptions(is, should string) (string, error) {
	had, want := optionsOf(is), optionsOf(should)
	var out []string
	for _, o := range want {
		if n := find(had, o.Name); n >= 0 && had[n].Text == o.Text {
			continue
		}
		if strings.HasSuffix(o.Name, "DIRECTORY") {
			return "", ErrByHand // the server passes it over
		}
		out = append(out, o.Text)
	}
	for _, o := range had {
		if find(want, o.Name) >= 0 {
			continue
		}
		none, known := gone[o.Name]
		if !known {
			return "", ErrByHand // WITH SYSTEM VERSIONING has words of its own
		}
		out = append(out, o.Name+"="+none)
	}
	if len(out) == 0 { // the difference is in a comment for some versions
		return should, nil
	}
	return strings.Join(out, " "), nil
}

var option = lazy.Regexp("(?i)((?:DEFAULT|DATA|INDEX)\\s+)?`?\\b([A-Z_]+)`?\\s*=|\\b(WITH SYSTEM VERSIONING)\\b")

// optionsOf are the options of a table, each with its name. A collation is part of its character set.
func optionsOf(s string) []Part {
	var out []Part
	s = unwrapped(s)
	masked := maskText(s)
	at := option().FindAllStringSubmatchIndex(masked, -1)
	for n, m := range at {
		end := len(s)
		if n+1 < len(at) {
			end = at[n+1][0]
		}
		text := strings.TrimSpace(s[m[0]:end])
		name := "WITH SYSTEM VERSIONING"
		if m[4] >= 0 {
			name = strings.ToUpper(masked[m[4]:m[5]])
		}
		if name == "DIRECTORY" {
			name = strings.ToUpper(strings.Fields(text)[0]) + " " + name
		}
		if last := len(out) - 1; name == "COLLATE" && last >= 0 && out[last].Name == "CHARSET" {
			out[last].Text += " " + text
			continue
		}
		out = append(out, Part{name, text})
	}
	return out
}

// maskText is mask, with quoted names left as they are.
func maskText(s string) string {
	out := []byte(s)
	for i := 0; i < len(s); {
		j := skip(s, i)
		if s[i] != '`' {
			for k := i; k < j; k++ {
				out[k] = ' '
			}
		}
		i = max(j, i+1)
	}
	return string(out)
}

func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
