package latest

import (
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
	"stowage/mysql"
	"stowage/reshape/spec"
)

// Shape is a complete spec: its keys are known.
type Shape struct{ spec.Spec }

// Form is one way of asking for what a tenant has. All give the same rows.
type Form string

const (
	Denormalised Form = "denormalised" // from the carried columns
	Grouped      Form = "grouped"      // a join with the largest of each group; where one column decides which is the latest
	Correlated   Form = "correlated"   // a subquery for each parent
)

// Forms are those that a spec can be asked in, the best first: a subquery that an index answers reads one child of each parent, and a group all of them (docs/measuring/benchmarks.md).
func (s Shape) Forms() []Form {
	if len(s.Child.Latest) == 1 {
		return []Form{Denormalised, Correlated, Grouped}
	}
	return []Form{Denormalised, Correlated}
}

// Normalised is the form by which a tenant is read that is not active.
func (s Shape) Normalised() Form { return s.Forms()[1] }

// OfFlag is the form that a tenant's flag says, for a reader whose rows must be those of one position.
func (s Shape) OfFlag(active bool) Form {
	if s.isExact(active) {
		return Denormalised
	}
	return s.Normalised()
}

// isExact reports whether carried columns of a tenant are those of a position. What an applier keeps is behind it.
func (s Shape) isExact(active bool) bool { return active && s.Keep != spec.Applier }

// Columns are those of a snapshot, as TABLE.COLUMN.
func (s Shape) Columns() []string {
	if len(s.Snapshot.Columns) > 0 {
		return s.Snapshot.Columns
	}
	var out []string
	for _, k := range s.Parent.Key {
		out = append(out, s.Parent.Table+"."+k)
	}
	for _, c := range s.Carry {
		out = append(out, s.Child.Table+"."+c.From)
	}
	return out
}

// Query asks for what one tenant has, which is its only parameter. Each column is named as Columns has it, without the table where that is unique. ordered: in the order of the parent's key.
func (s Shape) Query(shard farm.ShardName, f Form, ordered bool) string {
	var list []string
	for _, name := range s.Columns() {
		table, column, _ := strings.Cut(name, ".")
		expr := s.alias(table) + "." + mysql.Ident(column)
		if carried, ok := s.Carried(column); ok && table == s.Child.Table && f == Denormalised {
			expr = "p." + mysql.Ident(carried)
		}
		list = append(list, expr+" AS "+mysql.Ident(s.short(name)))
	}
	text := "SELECT " + strings.Join(list, ", ") + " FROM "
	parent, child := at(shard, s.Parent.Table), at(shard, s.Child.Table)
	switch f {
	case Grouped:
		first := s.Child.Latest[0]
		fold := "MIN"
		if first.Desc {
			fold = "MAX"
		}
		inner := "SELECT " + names("x", s.Child.Parent, "k") + ", " + fold + "(x." + mysql.Ident(first.Column) + ") AS latest FROM " + parent + " q JOIN " + child + " x ON " + s.joined("x", "q") +
			" WHERE q." + mysql.Ident(s.Parent.Tenant) + " = ?" + s.counts() + " GROUP BY " + names("x", s.Child.Parent, "")
		text += "(" + inner + ") g JOIN " + child + " c ON c." + mysql.Ident(first.Column) + " = g.latest" + pairs("c", s.Child.Parent, "g") + " JOIN " + parent + " p ON " + s.joined("c", "p")
	case Correlated:
		text += parent + " p JOIN " + child + " c ON c." + mysql.Ident(s.Child.Key) + " = (" + s.latestKey(shard, "p") + ")"
	default:
		text += parent + " p"
	}
	for n, j := range s.Snapshot.Join {
		alias := "j" + strconv.Itoa(n)
		text += " JOIN " + at(shard, j.Table) + " " + alias + " ON "
		and := ""
		for its, of := range j.On {
			text += and + alias + "." + mysql.Ident(its) + " = p." + mysql.Ident(of)
			and = " AND "
		}
	}
	switch f {
	case Denormalised:
		text += " WHERE p." + mysql.Ident(s.Parent.Tenant) + " = ? AND p." + mysql.Ident(s.Presence()) + " IS NOT NULL"
	case Correlated:
		text += " WHERE p." + mysql.Ident(s.Parent.Tenant) + " = ?"
	}
	if ordered {
		text += " ORDER BY " + names("p", s.Parent.Key, "")
	}
	return text
}

// AnswerKey are the columns of the parent's key as Query names them; nil where the columns of a snapshot lack one of them.
func (s Shape) AnswerKey() (out []string) {
	for _, k := range s.Parent.Key {
		name := s.Parent.Table + "." + k
		if !slices.Contains(s.Columns(), name) {
			return nil
		}
		out = append(out, s.short(name))
	}
	return out
}

// latestKey is the subquery for the key of the latest child of the parent that outer stands for.
func (s Shape) latestKey(shard farm.ShardName, outer string) string {
	return "SELECT x." + mysql.Ident(s.Child.Key) + " FROM " + at(shard, s.Child.Table) + " x WHERE " + s.joined("x", outer) + s.counts() + s.order("x") + " LIMIT 1"
}

// counts is the condition for children that count, where there is one. Its columns stand for those of the only table of its query, or of the only one that has them.
func (s Shape) counts() string {
	if s.Child.Counts == "" {
		return ""
	}
	return " AND (" + s.Child.Counts + ")"
}

func (s Shape) order(alias string) string {
	terms := make([]string, len(s.Child.Latest))
	for n, o := range s.Child.Latest {
		terms[n] = alias + "." + mysql.Ident(o.Column)
		if o.Desc {
			terms[n] += " DESC"
		}
	}
	return " ORDER BY " + strings.Join(terms, ", ")
}

// joined says that a child is one of a parent; either is an alias, or NEW or OLD.
func (s Shape) joined(child, parent string) string {
	terms := make([]string, len(s.Child.Parent))
	for n, c := range s.Child.Parent {
		terms[n] = child + "." + mysql.Ident(c) + " = " + parent + "." + mysql.Ident(s.Parent.Key[n])
	}
	return strings.Join(terms, " AND ")
}

// differ is true where a parent's row does not say what the child c has.
func (s Shape) differ() string {
	terms := make([]string, len(s.Carry))
	for n, c := range s.Carry {
		terms[n] = "p." + mysql.Ident(c.Column) + " <=> c." + mysql.Ident(c.From)
		if c.Text { // A and a may be equal to the server
			terms[n] = "CAST(p." + mysql.Ident(c.Column) + " AS BINARY) <=> CAST(c." + mysql.Ident(c.From) + " AS BINARY)"
		}
		if c.Text && c.OtherCharset {
			terms[n] = "CAST(CONVERT(p." + mysql.Ident(c.Column) + " USING utf8mb4) AS BINARY) <=> CAST(CONVERT(c." + mysql.Ident(c.From) + " USING utf8mb4) AS BINARY)"
		}
	}
	return "NOT (" + strings.Join(terms, " AND ") + ")"
}

// alias is how a query of Query calls a table.
func (s Shape) alias(table string) string {
	switch table {
	case s.Parent.Table:
		return "p"
	case s.Child.Table:
		return "c"
	}
	for n, j := range s.Snapshot.Join {
		if j.Table == table {
			return "j" + strconv.Itoa(n)
		}
	}
	return mysql.Ident(table) // Check has refused it
}

// short is a column's name without its table, where no other column has it.
func (s Shape) short(name string) string {
	_, column, _ := strings.Cut(name, ".")
	for _, other := range s.Columns() {
		if _, c, _ := strings.Cut(other, "."); c == column && other != name {
			return name
		}
	}
	return column
}

func at(shard farm.ShardName, table string) string {
	return mysql.Ident(string(shard)) + "." + mysql.Ident(table)
}

// names lists columns of an alias; as: under this name and their number.
func names(alias string, columns []string, as string) string {
	out := make([]string, len(columns))
	for n, c := range columns {
		out[n] = alias + "." + mysql.Ident(c)
		if as != "" {
			out[n] += " AS " + as + strconv.Itoa(n)
		}
	}
	return strings.Join(out, ", ")
}

func pairs(alias string, columns []string, of string) string {
	var b strings.Builder
	for n, c := range columns {
		b.WriteString(" AND " + alias + "." + mysql.Ident(c) + " = " + of + ".k" + strconv.Itoa(n))
	}
	return b.String()
}
