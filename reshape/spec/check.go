package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stowage/internal/lazy"
)

// Problem is one thing in a spec that these tables do not allow.
type Problem struct {
	Line int
	Text string
	Slow bool // it can be done, and takes long, or something is to be heeded
}

// Names are the tables that a spec speaks of.
func (s Spec) Names() []string {
	out := []string{s.Tenant.Table, s.Parent.Table, s.Child.Table}
	for _, j := range s.Snapshot.Join {
		out = append(out, j.Table)
	}
	return slices.Compact(out)
}

// Complete fills in what the file leaves to the tables: keys, and what carried columns are.
func (s Spec) Complete(t Tables) Spec {
	if len(s.Parent.Key) == 0 {
		s.Parent.Key = t[s.Parent.Table].primary()
	}
	if key := t[s.Child.Table].primary(); s.Child.Key == "" && len(key) == 1 {
		s.Child.Key = key[0]
	}
	s.Parent.Bytes, s.Parent.Numbers, s.Parent.Decimals = make([]bool, len(s.Parent.Key)), make([]bool, len(s.Parent.Key)), make([]bool, len(s.Parent.Key))
	for n, name := range s.Parent.Key {
		of, _ := t[s.Parent.Table].Column(name)
		s.Parent.Bytes[n] = strings.HasPrefix(of.Type, "binary(") || strings.HasPrefix(of.Type, "varbinary(")
		s.Parent.Numbers[n] = strings.HasPrefix(of.Type, "enum(") || strings.HasPrefix(of.Type, "set(") || strings.HasPrefix(of.Type, "bit(")
		s.Parent.Decimals[n] = strings.HasPrefix(of.Type, "decimal(")
	}
	s.Parent.Stamped = nil
	for _, c := range t[s.Parent.Table].Columns {
		if c.Stamped && !slices.ContainsFunc(s.Carry, func(x Carry) bool { return x.Column == c.Name }) {
			s.Parent.Stamped = append(s.Parent.Stamped, c.Name)
		}
	}
	s.Carry = slices.Clone(s.Carry)
	for n, c := range s.Carry {
		from, _ := t[s.Child.Table].Column(c.From)
		s.Carry[n].Text = from.charset() != ""
		at, there := t[s.Parent.Table].Column(c.Column)
		s.Carry[n].OtherCharset = there && at.charset() != from.charset()
	}
	return s
}

// moves are functions whose value moves on by itself.
var moves = lazy.Regexp(`(?i)\b(?:(?:now|sysdate|curdate|curtime|utc_timestamp|utc_date|utc_time|unix_timestamp|rand|uuid|uuid_short|connection_id|user|last_insert_id|sleep|localtime|localtimestamp)\s*\(|(?:current_(?:timestamp|date|time|user)|utc_timestamp|utc_date|utc_time|localtime|localtimestamp)\b|@)`)

var asks = lazy.Regexp(`(?i)\(\s*select\b`)

type checking struct {
	Spec
	tables Tables
	found  []Problem
}

// Check says what is wrong with a complete spec on the tables of one shard, in the order of the file.
func (s Spec) Check(t Tables) []Problem {
	c := &checking{Spec: s, tables: t}
	for _, x := range []struct{ key, table string }{{"tenant.table", s.Tenant.Table}, {"parent.table", s.Parent.Table}, {"child.table", s.Child.Table}} {
		if at, ok := t[x.table]; !ok {
			c.fault(x.key, "there is no table %s, or it is a view, or keeps a history of its rows (system versioning)", x.table)
		} else if at.Engine != "InnoDB" {
			c.fault(x.key, "table %s is %s, must be InnoDB: a flag and its rows are checked and set in one transaction", x.table, at.Engine)
		}
	}
	if len(c.found) > 0 {
		return c.found
	}
	c.tenant()
	c.parent()
	c.child()
	c.carried()
	c.snapshot()
	slices.SortStableFunc(c.found, func(a, b Problem) int { return a.Line - b.Line })
	return c.found
}

func (c *checking) fault(key, format string, args ...any) {
	c.found = append(c.found, Problem{Line: c.Line(key), Text: fmt.Sprintf(format, args...)})
}

// has reports whether a table has a column.
func (c *checking) has(key, table, column string) bool {
	_, ok := c.tables[table].Column(column)
	if !ok {
		c.fault(key, "table %s has no column %s", table, column)
	}
	return ok
}

func (c *checking) tenant() {
	t := c.Tenant
	if c.has("tenant.key", t.Table, t.Key) && !c.tables[t.Table].isUnique([]string{t.Key}) {
		c.fault("tenant.key", "%s is not a unique key of table %s: a tenant would have several rows, and several flags", t.Key, t.Table)
	}
	for _, x := range []struct{ key, table, column string }{{"tenant.key", t.Table, t.Key}, {"parent.tenant", c.Parent.Table, c.Parent.Tenant}} {
		if col, _ := c.tables[x.table].Column(x.column); strings.Contains(col.Type, "binary(") || strings.HasSuffix(col.Type, "blob") || strings.HasPrefix(col.Type, "bit(") {
			c.fault(x.key, "column %s.%s is %s: tenants are named by a number, text or UUID; add such a column", x.table, x.column, col.Type)
		}
	}
	for key, flag := range map[string]string{"tenant.migrated": t.Migrated, "tenant.active": t.Active} {
		col, there := c.tables[t.Table].Column(flag)
		if there && !strings.Contains(col.Type, "int") && !strings.HasPrefix(col.Type, "bit") {
			c.fault(key, "column %s.%s is %s: a flag is a TINYINT", t.Table, flag, col.Type)
		}
	}
}

func (c *checking) parent() {
	p, table := c.Parent, c.tables[c.Parent.Table]
	if len(p.Key) == 0 {
		c.fault("parent", "table %s has no primary key: set parent.key", p.Table)
		return
	}
	whole := c.has("parent.tenant", p.Table, p.Tenant)
	for _, k := range p.Key {
		whole = c.has("parent.key", p.Table, k) && whole
	}
	if !whole {
		return
	}
	for _, k := range p.Key {
		if of, _ := table.Column(k); strings.HasPrefix(of.Type, "float") {
			c.fault("parent.key", "column %s.%s is %s: the server shows a FLOAT rounded, and finds no row by that; use a DOUBLE or DECIMAL", p.Table, k, of.Type)
		}
	}
	if len(table.Triggers) > 0 {
		c.found = append(c.found, Problem{Line: c.Line("parent.table"), Slow: true,
			Text: fmt.Sprintf("table %s has triggers of its own, which fire for each row that is filled in, and whenever its latest child changes: %s", p.Table, strings.Join(table.Triggers, ", "))})
	}
	if !table.isUnique(p.Key) {
		c.fault("parent.key", "(%s) is not a unique key of table %s without NULL", strings.Join(p.Key, ", "), p.Table)
	}
	for _, r := range table.References {
		if (r.Updates || r.Leaves) && c.movesParents(r) {
			c.fault("parent.table", "foreign key (%s) can move rows of %s to another tenant or key: no trigger fires, and the binary log does not show it", strings.Join(r.Columns, ", "), p.Table)
		}
	}
	if !table.leads([]string{p.Tenant}) {
		c.found = append(c.found, Problem{Line: c.Line("parent.tenant"), Slow: true,
			Text: fmt.Sprintf("no index of table %s begins with %s: the whole table is read for each tenant", p.Table, p.Tenant)})
	}
}

// movesParents reports whether a foreign key of the parent can bring its rows to another tenant, or give them another key, apart from their children. A tenant that
// is renamed takes its rows and its flags along.
func (c *checking) movesParents(r Reference) bool {
	inKey := slices.Contains(c.Parent.Key, c.Parent.Tenant)
	if r.Table == c.Tenant.Table && slices.Equal(r.Columns, []string{c.Parent.Tenant}) && slices.Equal(r.Of, []string{c.Tenant.Key}) && (!inKey || c.Follows(c.tables)) {
		return false
	}
	return slices.ContainsFunc(r.Columns, func(name string) bool { return name == c.Parent.Tenant || slices.Contains(c.Parent.Key, name) })
}

func (c *checking) child() {
	ch, table := c.Child, c.tables[c.Child.Table]
	whole := len(ch.Parent) == len(c.Parent.Key)
	if !whole {
		c.fault("child.parent", "(%s) and the parent's key (%s) have different numbers of columns", strings.Join(ch.Parent, ", "), strings.Join(c.Parent.Key, ", "))
	}
	for _, p := range ch.Parent {
		whole = c.has("child.parent", ch.Table, p) && whole
	}
	if ch.Key == "" {
		c.fault("child", "table %s has no primary key of one column: set child.key", ch.Table)
		return
	}
	if c.has("child.key", ch.Table, ch.Key) && !table.isUnique([]string{ch.Key}) {
		c.fault("child.key", "%s is not a unique key of table %s without NULL", ch.Key, ch.Table)
	}
	if word := moves().FindString(ch.Counts); word != "" {
		c.fault("child.counts", "%s changes with time: a row would stop counting although nobody wrote it", strings.TrimRight(word, "( "))
	}
	if asks().MatchString(ch.Counts) {
		c.fault("child.counts", "a query in child.counts: a row would count, or not, because of what is written elsewhere; use columns of %s only", ch.Table)
	}
	columns := slices.Clone(ch.Parent)
	for _, o := range ch.Latest {
		if col, _ := table.Column(o.Column); c.has("child.latest", ch.Table, o.Column) && col.Nullable {
			c.fault("child.latest", "column %s.%s can be NULL: the order of such rows is undefined", ch.Table, o.Column)
		}
		columns = append(columns, o.Column)
	}
	if whole && !table.isUnique(columns, ch.Parent...) && // a row without a parent is nobody's child
		!slices.Contains(columns, ch.Key) {
		c.fault("child.latest", "several rows of one parent can have the same %s, so the latest is undefined; add %s as the last column", strings.Join(columns[len(ch.Parent):], ", "), ch.Key)
	}
	if whole && !table.leads(ch.Parent) {
		c.fault("child.parent", "no index of table %s begins with (%s): finding the children of one parent would read the whole table", ch.Table, strings.Join(ch.Parent, ", "))
	}
	for _, r := range table.References {
		own := whole && c.isOwn(r) && (!r.Updates || len(r.Columns) == len(ch.Parent)) // the parent goes with its children, or they get its new key
		if (r.Deletes || r.Updates) && !own {
			c.fault("child.table", "foreign key (%s) changes rows of %s together with those of %s: no trigger fires, and the binary log does not show it", strings.Join(r.Columns, ", "), ch.Table, r.Table)
		}
	}
	if c.Keep == Triggers && c.GoesAlong(c.tables) {
		c.found = append(c.found, Problem{Line: c.Line("child.table"), Slow: true,
			Text: fmt.Sprintf("REPLACE INTO %s deletes the rows of %s too (foreign key), after a trigger has read them: the row would carry one that is gone", c.Parent.Table, ch.Table)})
	}
	if c.Keep == Triggers && len(table.Triggers) > 0 {
		c.found = append(c.found, Problem{Line: c.Line("child.table"), Slow: true, Text: fmt.Sprintf("table %s has triggers of its own, which fire before those of the reshape: %s", ch.Table, strings.Join(table.Triggers, ", "))})
	}
}

// isOwn reports whether a foreign key of the child leads to its parent.
func (s Spec) isOwn(r Reference) bool { return r.leads(s.Parent.Table, s.Child.Parent, s.Parent.Key) }

// Follows reports whether children are bound to their parent by a foreign key: one that gets another key takes them along, or has none.
func (s Spec) Follows(t Tables) bool {
	return slices.ContainsFunc(t[s.Child.Table].References, s.isOwn)
}

// GoesAlong reports whether children are deleted, or lose their parent, together with it.
func (s Spec) GoesAlong(t Tables) bool {
	return slices.ContainsFunc(t[s.Child.Table].References, func(r Reference) bool { return r.Deletes && s.isOwn(r) })
}

func (c *checking) carried() {
	if c.Presence() == "" && c.Child.Key != "" {
		c.fault("carry", "the child's key %s is not carried: without it a parent without children looks like any other", c.Child.Key)
	}
	for _, x := range c.Carry {
		key := "carry." + x.Column
		from, ok := c.tables[c.Child.Table].Column(x.From)
		if !ok {
			c.fault(key, "table %s has no column %s", c.Child.Table, x.From)
			continue
		}
		if from.Generated && from.Name == c.Child.Key {
			c.fault(key, "column %s.%s is generated", c.Child.Table, x.From)
		}
		at, there := c.tables[c.Parent.Table].Column(x.Column)
		switch {
		case there && at.Generated:
			c.fault(key, "column %s.%s exists and is generated", c.Parent.Table, x.Column)
		case there && !at.Nullable:
			c.fault(key, "column %s.%s exists and cannot be NULL: a parent without children needs NULL", c.Parent.Table, x.Column)
		}
		if is := cmp.Or(at.plain(), Column{Type: x.Type}.plain()); is != "" && is != from.plain() {
			text := fmt.Sprintf("column %s.%s is %s, and %s.%s is %s", c.Parent.Table, x.Column, is, c.Child.Table, x.From, from.plain())
			if c.Keep == Triggers {
				text += ": a client's write of a value that does not fit fails"
			}
			c.found = append(c.found, Problem{Line: c.Line(key), Slow: true, Text: text})
		}
	}
	for _, i := range c.Indexes {
		for _, name := range i.Columns {
			_, there := c.tables[c.Parent.Table].Column(name)
			if !there && !slices.ContainsFunc(c.Carry, func(x Carry) bool { return x.Column == name }) {
				c.fault("indexes."+i.Name, "table %s has no column %s, and none of that name is carried", c.Parent.Table, name)
			}
		}
	}
}

func (c *checking) snapshot() {
	for _, j := range c.Snapshot.Join {
		key, table := "snapshot.join", c.tables[j.Table]
		if _, ok := c.tables[j.Table]; !ok {
			c.fault(key, "there is no table %s", j.Table)
			continue
		}
		var columns []string
		for its, of := range j.On {
			c.has(key, j.Table, its)
			c.has(key, c.Parent.Table, of)
			columns = append(columns, its)
		}
		if !table.isUnique(columns) {
			c.fault(key, "(%s) is not a unique key of table %s: a parent would appear several times", strings.Join(columns, ", "), j.Table)
		}
	}
	for _, name := range c.Snapshot.Columns {
		table, column, ok := strings.Cut(name, ".")
		switch {
		case !ok:
			c.fault("snapshot.columns", "%q is not a column: write TABLE.COLUMN", name)
		case !slices.Contains(c.Names(), table) || table == c.Tenant.Table && table != c.Parent.Table:
			c.fault("snapshot.columns", "%s is not in a table that the snapshot reads", name)
		case c.has("snapshot.columns", table, column) && table == c.Child.Table:
			if _, carried := c.Carried(column); !carried {
				c.fault("snapshot.columns", "%s is not carried: a denormalised snapshot would not have it", name)
			}
		}
	}
}
