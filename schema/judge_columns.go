package schema

import (
	"fmt"
	"slices"
	"strings"
)

// columnsGone: an applier takes the first values of a row that is longer than its table, so only the last columns may go. The last one comes first: so they can go one by one, and the way back, which is the reverse, adds them in the order of the table.
func (j *judging) columnsGone() []part {
	last := -1 // place in before of the last column that stays
	for from := range j.kept {
		last = max(last, from)
	}
	var out []part
	for n, c := range slices.Backward(j.before) {
		if _, stays := j.kept[n]; stays {
			continue
		}
		p := part{class: Directional, ofRows: true, clauses: []string{"DROP COLUMN " + quoted(c.name)}, back: []string{"ADD COLUMN " + c.text}, lost: "the values of column " + c.name}
		if c.generated != "" {
			p.lost = ""
		}
		if k := hashed(j.t.After, j.around); k != "" {
			p.refused, p.noWay = fmt.Sprintf("column %s: "+behindAll, c.name, k), true
		}
		if n < last {
			p.noWay = true
			p.refused = fmt.Sprintf("column %s is not the last one: row events match columns by their place, so each value behind it would be one place off, without an error; make it INVISIBLE and leave it", c.name)
		}
		out = append(out, p)
	}
	return out
}

// columnsMoved: nothing leads to another order safely.
func (j *judging) columnsMoved() []part {
	var order []int
	for _, from := range j.source {
		if from >= 0 {
			order = append(order, from)
		}
	}
	if slices.IsSorted(order) {
		return nil
	}
	return []part{{ofRows: true, noWay: true, refused: "columns change their order: row events match columns by their place, so values would be swapped, without an error"}}
}

// columnsChanged are columns that stay and are another.
func (j *judging) columnsChanged() []part {
	var out []part
	for n, from := range j.source {
		if from >= 0 && j.before[from].meaning() != j.after[n].meaning() {
			out = append(out, j.columnChanged(j.before[from], j.after[n])...)
		}
	}
	return out
}

func (j *judging) columnChanged(was, is column) []part {
	modify := "MODIFY COLUMN " + is.text
	back := "MODIFY COLUMN " + was.text
	if was.name != is.name {
		modify, back = "CHANGE COLUMN "+quoted(was.name)+" "+is.text, "CHANGE COLUMN "+quoted(is.name)+" "+was.text
	}
	now := was
	now.name = is.name
	p := part{class: Unchanged, ofRows: now.meaning() != is.meaning(), clauses: []string{modify}, back: []string{back}}
	raise := func(c Class) {
		if slices.Index(ranks, c) > slices.Index(ranks, p.class) {
			p.class = c
		}
	}
	refuse := func(format string, args ...any) {
		p.refused, p.noWay = "column "+was.name+": "+fmt.Sprintf(format, args...), true
	}
	if was.name != is.name {
		raise(Directional)
		p.remarks = append(p.remarks, fmt.Sprintf("clients that say %s fail as soon as they come to the altered side, and those that say %s before it", was.name, is.name))
	}
	if was.dflt != is.dflt || was.onUpdate != is.onUpdate || was.comment != is.comment {
		raise(Instant)
	}
	if was.invisible != is.invisible || was.zerofill != is.zerofill {
		raise(Directional) // clients see it: SELECT *, INSERT without names
	}
	f := fits(was, is)
	switch {
	case was.period || is.period:
		refuse("it is a column of a period, which is not changed by swings")
	case j.nowNamed(was.generated) != is.generated || was.stored != is.stored:
		refuse("how its value comes to be is changed, and row events carry the value that the other side has computed")
	case is.auto && !was.auto:
		refuse("AUTO_INCREMENT gives each row with 0 a number, and not the same on both sides")
	case !f.ok && f.guard != "" && j.guarded(f.guard):
		raise(Directional)
		p.lost = "values that do not fit " + was.typeText()
	case !f.ok:
		refuse("%s", f.why)
		j.throughGuard(&p, was, is, f)
	case j.around.MySQL && f.conversions && was.unsigned:
		refuse("MySQL reads an unsigned value that becomes longer as a signed one")
	case f.conversions || f.lost != "" || was.kind != is.kind:
		raise(Directional)
		p.conversions, p.lost = f.conversions, f.lost
	case was.typeText() != is.typeText():
		raise(Instant) // the width of display
	}
	if was.auto && !is.auto {
		raise(Directional)
	}
	if p.refused == "" {
		j.collationChanged(&p, was, is, raise, refuse)
		j.nullsChanged(&p, was, is, raise)
		j.checkChanged(&p, was, is, raise)
	}
	if by := j.computedOf(is.name); p.refused == "" && by != "" && !readsAlike(was, is) {
		refuse("%s is computed of it, and %s may read otherwise than %s: the side that is altered keeps what the other side has computed", by, is.typeText(), was.typeText())
	}
	if p.class == Unchanged && p.refused == "" {
		return nil // it says the character set that the table said before
	}
	return []part{p}
}

// guarded reports whether a CHECK of the table holds this for all rows, before and after the change.
func (j *judging) guarded(condition string) bool {
	has := func(t Table) bool {
		return slices.ContainsFunc(t.Constraints, func(c Part) bool {
			_, inside, _, ok := body(c.Text)
			return ok && strings.Contains(strings.ToUpper(mask(c.Text)), " CHECK ") && strings.EqualFold(strings.TrimSpace(inside), condition)
		})
	}
	return has(j.t.Before) && has(j.t.After) && !j.around.MySQL
}

// throughGuard says the way to a type that fits under a condition only: first the condition, then the type, then the condition may go.
func (j *judging) throughGuard(p *part, was, is column, f fit) {
	guard := "stowage_" + was.name
	if j.around.MySQL || was.name != is.name || is.auto || len(guard) > 64 {
		return
	}
	var clauses []string
	if f.through != "" { // the longer type with the sign that it has
		longer := was
		longer.kind = strings.Fields(f.through)[0]
		line := strings.Replace(is.text, is.kind+typeRest(is), f.through, 1)
		clauses = append(clauses, "MODIFY COLUMN "+line)
		longer.args = ""
		f = integersFit(longer, is)
	}
	if f.guard == "" {
		return
	}
	p.noWay = false
	p.clauses = append(clauses, fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s)", quoted(guard), f.guard), "MODIFY COLUMN "+is.text, "DROP CONSTRAINT "+quoted(guard))
}

// typeRest is what is behind the first word of a type.
func typeRest(c column) string {
	out := ""
	if c.args != "" {
		out = "(" + c.args + ")"
	}
	if c.unsigned {
		out += " unsigned"
	}
	return out
}

// collationChanged: rows are the same; what a unique key takes for equal is not.
func (j *judging) collationChanged(p *part, was, is column, raise func(Class), refuse func(string, ...any)) {
	if was.collation == is.collation && was.charset == is.charset {
		return
	}
	raise(Directional)
	if was.charset != is.charset && was.collation != "" && strings.TrimPrefix(was.collation, "utf8mb3") == strings.TrimPrefix(is.collation, "utf8mb4") {
		return // utf8mb3_general_ci to utf8mb4_general_ci: the same order of what there was
	}
	for _, k := range j.t.After.Keys {
		if key := keyOf(k); key.unique && key.has(is.name) && !finer(was.collation, is.collation) {
			refuse("another collation in key %s, which may take rows of the other side for equal", k.Name)
			return
		}
	}
	for n, c := range j.after {
		if c.generated != "" && !j.fresh[n] && word(is.name).MatchString(c.generated) {
			refuse("another collation, and column %s is computed of it", c.name)
		}
	}
	if word(is.name).MatchString(j.t.After.Partitions) {
		refuse("another collation, and partitions are made of it")
	}
}

// finer reports whether what a collation takes for equal was equal before, too: bytes, where blanks at the end count as they did.
func finer(was, is string) bool {
	blanksCount := strings.Contains(was, "nopad") || strings.Contains(was, "0900") || strings.HasPrefix(was, "default of")
	return strings.HasSuffix(is, "_nopad_bin") || strings.HasSuffix(is, "_0900_bin") || strings.HasSuffix(is, "_bin") && !blanksCount
}

// nullsChanged: an applier stores 0 or ” for a NULL that may not be, without an error.
func (j *judging) nullsChanged(p *part, was, is column, raise func(Class)) {
	switch {
	case was.notNull && !is.notNull:
		raise(Directional)
		if p.lost == "" {
			p.lost = "NULLs in column " + is.name
		}
	case !was.notNull && is.notNull:
		raise(Directional)
		condition := quoted(was.name) + " is not null"
		if j.guarded(condition) {
			return
		}
		p.refused = fmt.Sprintf("column %s: a NULL that the other side writes would be stored as 0 or '', without an error", was.name)
		guard := "stowage_" + was.name
		if was.name != is.name || j.around.MySQL || is.auto || len(guard) > 64 || len(p.clauses) != 1 {
			p.noWay = true
			return
		}
		p.clauses = []string{fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s)", quoted(guard), condition), p.clauses[0], "DROP CONSTRAINT " + quoted(guard)}
	}
}

// checkChanged: a CHECK of a column is added instantly, and no row is looked at: rows that break it would stay.
func (j *judging) checkChanged(p *part, was, is column, raise func(Class)) {
	if j.nowNamed(was.check) == is.check {
		return
	}
	raise(Instant)
	if is.check == "" {
		if j.around.MySQL {
			raise(Directional)
		}
		return
	}
	if j.guarded(is.check) {
		raise(Directional)
		return
	}
	p.refused = fmt.Sprintf("column %s: the server adds CHECK of a column without looking at rows, and rows of the other side are not checked either; add it to the table first", was.name)
	guard := "stowage_" + was.name
	if len(guard) > 64 || is.auto || j.around.MySQL || was.name != is.name || len(p.clauses) != 1 { // its type has to go by steps, too
		p.noWay = true
		return
	}
	p.clauses = []string{fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s)", quoted(guard), is.check), p.clauses[0], "DROP CONSTRAINT " + quoted(guard)}
}
