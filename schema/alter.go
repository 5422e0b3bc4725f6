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
	clauses = append(clauses, columns(is.Columns, should.Columns)...)
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
	return "ALTER TABLE " + quoted(should.Name) + "\n  " + strings.Join(clauses, ",\n  "), nil
}

// columns are the clauses for columns, in the order in which a server carries them out: those that go, and then place by place.
func columns(is, should []Part) []string {
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
		case is[n].Text != p.Text:
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
	"MAX_ROWS": "0", "MIN_ROWS": "0", "AVG_ROW_LENGTH": "0", "CHECKSUM": "0", "DELAY_KEY_WRITE": "0", "PACK_KEYS": "DEFAULT"}

// changeOptions are the options as they should be, and those that go.
func changeOptions(is, should string) (string, error) {
	had, want := optionNames(is), optionNames(should)
	out := should
	for _, n := range had {
		if slices.Contains(want, n) {
			continue
		}
		none, known := gone[n]
		if !known {
			return "", ErrByHand // WITH SYSTEM VERSIONING, page compression: each has words of its own
		}
		out = strings.TrimSpace(out + " " + n + "=" + none)
	}
	return out, nil
}

var option = lazy.Regexp("(?i)(`?)([A-Z_]+)`?\\s*=|\\b(WITH SYSTEM VERSIONING)\\b")

func optionNames(s string) []string {
	var out []string
	for _, m := range option().FindAllStringSubmatch(maskText(s), -1) {
		if m[3] != "" {
			out = append(out, strings.ToUpper(m[3]))
		} else {
			out = append(out, strings.ToUpper(m[2]))
		}
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
