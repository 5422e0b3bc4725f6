package schema

import (
	"fmt"
	"slices"
	"strings"

	"stowage/internal/lazy"
)

// key is the line of a key, taken apart.
type key struct {
	unique  bool // PRIMARY KEY and UNIQUE
	columns []string
	whole   bool // no column with a prefix, no expression
	hidden  bool // IGNORED, INVISIBLE
	plain   string
}

var hiddenKey = lazy.Regexp(`(?i)\s*(\bIGNORED\b|/\*!80000 INVISIBLE \*/)`)

func keyOf(p Part) key {
	k := key{whole: true}
	upper := strings.ToUpper(p.Text)
	k.unique = strings.HasPrefix(upper, "PRIMARY") || strings.HasPrefix(upper, "UNIQUE")
	_, inside, behind, _ := body(p.Text)
	k.hidden = hiddenKey().MatchString(maskText(behind)) || strings.Contains(behind, "80000 INVISIBLE")
	k.plain = strings.TrimSpace(p.Text[:len(p.Text)-len(behind)] + hiddenKey().ReplaceAllString(behind, ""))
	for _, c := range split(inside, ',') {
		n, rest := name(c)
		k.columns = append(k.columns, strings.ToLower(n))
		if strings.Contains(rest, "(") || strings.HasPrefix(strings.TrimSpace(c), "(") || strings.Contains(strings.ToUpper(rest), "WITHOUT OVERLAPS") {
			k.whole = false
		}
	}
	return k
}

func (k key) has(column string) bool { return slices.Contains(k.columns, strings.ToLower(column)) }

// nameless is the definition without the name.
func nameless(p Part) string {
	start := keyStart().FindString(p.Text)
	_, rest := name(p.Text[len(start):])
	return strings.ToUpper(strings.TrimSpace(start)) + " " + strings.TrimSpace(rest)
}

// keysGone are keys that go, or change.
func (j *judging) keysGone() []part {
	var out []part
	for _, k := range j.t.Before.Keys {
		n := find(j.t.After.Keys, k.Name)
		switch {
		case n >= 0 && j.sameKey(k, j.t.After.Keys[n]):
		case n >= 0 && keyOf(k).plain == keyOf(j.t.After.Keys[n]).plain:
			word := map[bool]string{true: "IGNORED", false: "NOT IGNORED"}
			if j.around.MySQL {
				word = map[bool]string{true: "INVISIBLE", false: "VISIBLE"}
			}
			alter := "ALTER INDEX " + quoted(k.Name) + " "
			out = append(out, part{class: Instant, clauses: []string{alter + word[!keyOf(k).hidden]}, back: []string{alter + word[keyOf(k).hidden]}})
		case n < 0 && j.renamedTo(k) != "":
			to := j.renamedTo(k)
			out = append(out, part{class: Instant, clauses: []string{"RENAME INDEX " + quoted(k.Name) + " TO " + quoted(to)}, back: []string{"RENAME INDEX " + quoted(to) + " TO " + quoted(k.Name)},
				remarks: []string{"queries that name index " + k.Name + " (FORCE INDEX) fail from then on"}})
		default:
			out = append(out, j.keyGone(k, n >= 0))
		}
	}
	return out
}

// sameKey reports whether a key is the same, under new names of its columns.
func (j *judging) sameKey(was, is Part) bool {
	if was.Text == is.Text {
		return true
	}
	a, b := keyOf(was), keyOf(is)
	return slices.Equal(j.renamed(a.columns), b.columns) && a.whole && b.whole && stripped(was) == stripped(is)
}

// stripped is a key without its columns.
func stripped(p Part) string {
	before, _, after, _ := body(p.Text)
	return before + "()" + after
}

// renamed gives columns the names that they have after the change; those that go have "".
func (j *judging) renamed(names []string) []string {
	out := make([]string, len(names))
	for n, name := range names {
		if from := find(j.t.Before.Columns, name); from >= 0 {
			if to, stays := j.kept[from]; stays {
				out[n] = strings.ToLower(j.after[to].name)
			}
		}
	}
	return out
}

// renamedTo is the new name of an index of which only the name changes.
func (j *judging) renamedTo(k Part) string {
	for _, other := range j.t.After.Keys {
		if find(j.t.Before.Keys, other.Name) < 0 && nameless(other) == nameless(k) {
			return other.Name
		}
	}
	return ""
}

func isSpatial(k Part) bool { return strings.HasPrefix(strings.ToUpper(k.Text), "SPATIAL") }

func (j *judging) keyGone(k Part, another bool) part {
	drop := "DROP KEY " + quoted(k.Name)
	p := part{class: Invisible, remarks: []string{"queries that name index " + k.Name + " (FORCE INDEX) fail from then on"}}
	if k.Name == "PRIMARY KEY" {
		drop, p.remarks = "DROP PRIMARY KEY", nil
		if j.around.MinimalImages {
			p.refused, p.noWay = "rows of the other side are looked for by its primary key (binlog_row_image is not FULL): SET GLOBAL binlog_row_image=FULL first", true
		}
		if !another {
			p.remarks = []string{"without a primary key each row that the other side changes is looked for in the whole table"}
		}
	}
	p.clauses, p.back = []string{drop}, []string{"ADD " + k.Text}
	if another {
		p.clauses = []string{} // one statement takes the old one away and brings the new: keyNew
	}
	if keyOf(k).unique || isSpatial(k) {
		p.class = Directional // the altered side takes rows that the other would refuse
	}
	for n, c := range j.before { // a key over a column that goes is put back with it
		if _, stays := j.kept[n]; !stays && keyOf(k).has(c.name) {
			p.remarks = nil
		}
	}
	return p
}

// keysNew are keys that come, or are another.
func (j *judging) keysNew() []part {
	var out []part
	for _, k := range j.t.After.Keys {
		n := find(j.t.Before.Keys, k.Name)
		if n >= 0 && (j.sameKey(j.t.Before.Keys[n], k) || keyOf(j.t.Before.Keys[n]).plain == keyOf(k).plain) {
			continue
		}
		if n < 0 && slices.ContainsFunc(j.t.Before.Keys, func(b Part) bool { return find(j.t.After.Keys, b.Name) < 0 && nameless(b) == nameless(k) }) {
			continue // renamed
		}
		out = append(out, j.keyNew(k, n >= 0))
	}
	return out
}

func (j *judging) keyNew(k Part, another bool) part {
	p := part{class: Invisible, clauses: []string{"ADD " + k.Text}, back: []string{"DROP KEY " + quoted(k.Name)}}
	if k.Name == "PRIMARY KEY" {
		p.class, p.back = Directional, []string{"DROP PRIMARY KEY"}
	}
	if another {
		p.clauses = []string{p.back[0] + ", ADD " + k.Text}
	}
	is := keyOf(k)
	if upper := strings.ToUpper(k.Text); strings.HasPrefix(upper, "FULLTEXT") || strings.HasPrefix(upper, "SPATIAL") {
		p.remarks = append(p.remarks, "clients could not write while the server builds it (LOCK=SHARED): the side is out meanwhile")
	}
	if isSpatial(k) {
		p.noWay = true
		p.refused = fmt.Sprintf("key %s: a client that is not strict may write an empty geometry on the other side; the index takes none, and replication would stop there. On a pair with one writer an ordinary ALTER TABLE, through the binary log, has no such moment", k.Name)
	}
	if !is.unique {
		return p
	}
	switch {
	case k.Name == "PRIMARY KEY" && j.hasNew(is):
		p.refused, p.noWay = "a primary key over a new column: rows of the other side do not have that column and would not be found", true
	case k.Name == "PRIMARY KEY" && j.around.MinimalImages:
		p.refused, p.noWay = "rows of the other side are looked for by its primary key (binlog_row_image is not FULL): SET GLOBAL binlog_row_image=FULL first", true
	case j.implied(is):
	case k.Name != "PRIMARY KEY" && j.nullIn(is) != "":
		p.class, p.beside = Directional, j.nullIn(is)
	default:
		p.noWay = true
		p.refused = fmt.Sprintf("key %s: two rows that it takes for equal may be written on the other side; replication would stop at the second. On a pair with one writer an ordinary ALTER TABLE, through the binary log, has no such moment", k.Name)
	}
	return p
}

// implied reports whether rows are unique by this key because they are by a key of before, over some of its columns.
func (j *judging) implied(is key) bool {
	if !is.whole {
		return false
	}
	return slices.ContainsFunc(j.t.Before.Keys, func(b Part) bool {
		was := keyOf(b)
		if !was.unique || !was.whole {
			return false
		}
		names := j.renamed(was.columns)
		for n, name := range names {
			at := find(j.t.After.Columns, name)
			from := find(j.t.Before.Columns, was.columns[n])
			if name == "" || !is.has(name) || at < 0 || from < 0 || j.after[at].collation != j.before[from].collation {
				return false
			}
			// NULLs are not equal to each other in a key that takes them; a primary key takes none.
			if j.after[at].notNull && !j.before[from].notNull {
				return false
			}
		}
		return true
	})
}

// hasNew reports whether a key has a new column.
func (j *judging) hasNew(k key) bool {
	return slices.ContainsFunc(j.newOnes(), func(n string) bool { return k.has(n) })
}

// nullIn is a new column of a key that is NULL in each row of the other side: then no two are equal. "" for none.
func (j *judging) nullIn(k key) string {
	for n, c := range j.after {
		if j.fresh[n] && k.has(c.name) && c.isNull() {
			return c.name
		}
	}
	return ""
}
