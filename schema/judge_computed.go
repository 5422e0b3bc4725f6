package schema

import (
	"slices"
	"strings"
)

// readsAlike reports whether an expression has the same value for a column of either type, wherever the values themselves fit: 1.5 reads 1.50 or 1.5000, 0.1 as a FLOAT is another DOUBLE, a
// date gets a time of day, bytes of a fixed length get zeros.
func readsAlike(was, is column) bool {
	a, b := was.kind, is.kind
	switch {
	case was.zerofill || is.zerofill:
		return was.zerofill == is.zerofill && was.typeText() == is.typeText()
	case integer(a) >= 0 && integer(b) >= 0:
		return true
	case a == "decimal" && b == "decimal":
		_, from, _ := strings.Cut(was.args, ",")
		_, to, _ := strings.Cut(is.args, ",")
		return number(from, 0) == number(to, 0)
	case a == b && (a == "enum" || a == "set"):
		return true
	case a == "enum", a == "set", b == "enum", b == "set":
		return false
	case texts[a] && texts[b], binaries[a] && binaries[b] && a != "binary" && b != "binary":
		return true
	}
	return a == b && was.args == is.args
}

// computedOf is a column that was there, or a key of an expression, whose computed values are kept, in rows or in a key, and which is computed of this one, maybe by way of others; "" for none. Without a primary key
// an applier looks for rows by all their values, so there each one counts.
func (j *judging) computedOf(name string) string {
	for _, k := range j.t.After.Keys { // MySQL has keys of expressions
		_, inside, _, _ := body(k.Text)
		for _, part := range split(inside, ',') {
			if strings.HasPrefix(strings.TrimSpace(part), "(") && word(name).MatchString(part) {
				return "key " + k.Name
			}
		}
	}
	keyless := find(j.t.Before.Keys, "PRIMARY KEY") < 0
	names := []string{name}
	for n := 0; n < len(names); n++ {
		for at, c := range j.after {
			if c.generated == "" || j.fresh[at] || slices.Contains(names, c.name) || !word(names[n]).MatchString(c.generated) {
				continue
			}
			if c.stored || keyless || j.keyOver(c.name) != "" {
				return "column " + c.name
			}
			names = append(names, c.name)
		}
	}
	return ""
}
