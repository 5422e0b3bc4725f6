package schema

import (
	"slices"
	"strings"

	"stowage/internal/lazy"
)

var uniqueNew = lazy.Regexp(`(?i)^ADD\s+UNIQUE\b`)

// InTwo parts a way back that brings columns back. They come with values that the server makes up, alike in all rows: unique keys, foreign keys and checks over them are for then, when the rows have the
// values that they had. then is "" where nothing has to wait; waits are the keys and constraints of it.
func InTwo(back string) (first, then string, waits []Difference) {
	all, err := Changes("back", []byte(back))
	if err != nil {
		return back, "", nil
	}
	clauses := clausesOf(all[0].body())
	comes := func(in func(string) bool) bool {
		return slices.ContainsFunc(clauses, func(c clause) bool { return c.does == "add column" && in(c.name) })
	}
	var now, late []string
	for _, c := range clauses {
		text := strings.TrimSpace(c.text)
		line := strings.TrimSpace(strings.TrimPrefix(text, "ADD "))
		var t Table
		switch {
		case strings.Contains(c.does, "partition"):
			return back, "", nil
		case c.does == "add key" && uniqueNew().MatchString(text):
			if t.add(line); len(t.Keys) == 1 && comes(keyOf(t.Keys[0]).has) {
				late, waits = append(late, text), append(waits, Difference{OfKey, t.Keys[0].Name, "", t.Keys[0].Text})
				continue
			}
		case c.does == "add constraint":
			if t.add(line); len(t.Constraints) == 1 && comes(func(name string) bool { return word(name).MatchString(line) }) {
				late, waits = append(late, text), append(waits, Difference{OfConstraint, t.Constraints[0].Name, "", t.Constraints[0].Text})
				continue
			}
		}
		now = append(now, text)
	}
	if len(late) == 0 || len(now) == 0 {
		return back, "", nil
	}
	start := "ALTER TABLE " + quoted(all[0].Table) + " "
	return start + strings.Join(now, ", "), start + strings.Join(late, ", "), waits
}

// LacksOnly reports whether a table is what it should be but for some of these keys and constraints, which it does not have; and for one of them at least.
func LacksOnly(is, should Table, of []Difference) bool {
	lacks := Diff(is, should)
	for _, d := range lacks {
		if d.Is != "" || !slices.ContainsFunc(of, func(o Difference) bool { return o.Kind == d.Kind && strings.EqualFold(o.Name, d.Name) }) {
			return false
		}
	}
	return len(lacks) > 0
}
