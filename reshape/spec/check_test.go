package spec

import (
	"strings"
	"testing"
)

// orders are tables with keys of two columns: the last of several statuses of an order.
func orders() (Spec, Tables) {
	int64s := func(names ...string) (out []Column) {
		for _, n := range names {
			out = append(out, Column{Name: n, Type: "bigint(20)"})
		}
		return out
	}
	s := Spec{
		Tenant: Tenant{Table: "shops", Key: "shop", Migrated: "m", Active: "a"},
		Parent: Parent{Table: "orders", Tenant: "shop"},
		Child:  Child{Table: "statuses", Parent: []string{"shop", "number"}, Latest: []Order{{"at", true}, {"id", true}}},
		Carry:  []Carry{{Column: "status_id", From: "id"}, {Column: "status", From: "status"}},
		Lines:  map[string]int{"tenant": 1, "parent": 5, "child": 9, "child.latest": 11, "child.parent": 10, "carry": 14, "carry.status": 16},
	}
	t := Tables{
		"shops":  {Engine: "InnoDB", Columns: int64s("shop"), Unique: []Key{{"PRIMARY", []string{"shop"}, true}}, Indexes: []Key{{"PRIMARY", []string{"shop"}, true}}},
		"orders": {Engine: "InnoDB", Columns: int64s("shop", "number", "total"), Unique: []Key{{"PRIMARY", []string{"shop", "number"}, true}}, Indexes: []Key{{"PRIMARY", []string{"shop", "number"}, true}}},
		"statuses": {Engine: "InnoDB", Columns: append(int64s("id", "shop", "number", "at"), Column{Name: "status", Type: "varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", Nullable: true}),
			Unique: []Key{{"PRIMARY", []string{"id"}, true}}, Indexes: []Key{{"PRIMARY", []string{"id"}, true}, {"o", []string{"number", "shop", "at"}, true}}},
	}
	return s, t
}

func TestCheck(t *testing.T) {
	s, tables := orders()
	s = s.Complete(tables)
	if found := s.Check(tables); len(found) > 0 {
		t.Fatalf("a spec that fits is refused: %+v", found)
	}
	if s.Child.Key != "id" || strings.Join(s.Parent.Key, ",") != "shop,number" || !s.Carry[1].Text || s.Carry[0].Text || s.Presence() != "status_id" {
		t.Errorf("completed to %+v", s)
	}
	for _, c := range []struct {
		name, want string
		line       int
		change     func(*Spec, Tables)
	}{
		{"a tie", "so the latest is undefined; add id", 11, func(s *Spec, _ Tables) { s.Child.Latest = s.Child.Latest[:1] }},
		{"an order that can be NULL", "can be NULL", 11, func(s *Spec, _ Tables) { s.Child.Latest[0].Column = "status" }},
		{"no index for children", "no index of table statuses begins with", 10, func(_ *Spec, t Tables) { x := t["statuses"]; x.Indexes = x.Indexes[:1]; t["statuses"] = x }},
		{"a parent of one column", "(shop) and the parent's key (shop, number) have different numbers of columns", 10, func(s *Spec, _ Tables) { s.Child.Parent = s.Child.Parent[:1] }},
		{"a child without its key", "is not carried", 14, func(s *Spec, _ Tables) { s.Carry = s.Carry[1:] }},
		{"a column that is not there", "no column state", 16, func(s *Spec, _ Tables) { s.Carry[1].From = "state" }},
		{"an engine without transactions", "is MyISAM", 9, func(_ *Spec, t Tables) { x := t["statuses"]; x.Engine = "MyISAM"; t["statuses"] = x }},
		{"rows that go with others", "foreign key (at) changes rows", 9, func(_ *Spec, t Tables) {
			x := t["statuses"]
			x.References = []Reference{{Table: "users", Columns: []string{"at"}, Of: []string{"id"}, Deletes: true}}
			t["statuses"] = x
		}},
		{"rows that go with another parent", "foreign key (copied) changes rows", 9, func(s *Spec, t Tables) {
			s.Parent.Key, s.Child.Parent = []string{"number"}, []string{"number"}
			x := t["orders"]
			x.Unique, x.Indexes = []Key{{"PRIMARY", []string{"number"}, true}}, append(x.Indexes, Key{"shop", []string{"shop"}, true})
			t["orders"] = x
			x = t["statuses"]
			x.References = []Reference{{Table: "orders", Columns: []string{"copied"}, Of: []string{"number"}, Deletes: true}, {Table: "orders", Columns: []string{"number"}, Of: []string{"number"}, Deletes: true}}
			t["statuses"] = x
		}},
		{"parents that go to another tenant", "foreign key (shop) can move rows of orders", 5, func(_ *Spec, t Tables) {
			x := t["orders"]
			x.References = []Reference{{Table: "malls", Columns: []string{"shop"}, Of: []string{"id"}, Updates: true}}
			t["orders"] = x
		}},
		{"parents that get another key with their tenant", "foreign key (shop) can move rows of orders", 5, func(_ *Spec, t Tables) {
			x := t["orders"]
			x.References = []Reference{{Table: "shops", Columns: []string{"shop"}, Of: []string{"shop"}, Updates: true}}
			t["orders"] = x
		}},
		{"parents that lose their number", "foreign key (number) can move rows of orders", 5, func(_ *Spec, t Tables) {
			x := t["orders"]
			x.References = []Reference{{Table: "numbers", Columns: []string{"number"}, Of: []string{"id"}, Deletes: true, Leaves: true}}
			t["orders"] = x
		}},
		{"children that a REPLACE takes along", "REPLACE INTO orders deletes the rows of statuses too", 9, func(s *Spec, t Tables) {
			s.Keep = Triggers
			x := t["statuses"]
			x.References = []Reference{{Table: "orders", Columns: []string{"shop", "number"}, Of: []string{"shop", "number"}, Deletes: true}}
			t["statuses"] = x
		}},
		{"a tenant of bytes", "is binary(16): tenants are named", 5, func(_ *Spec, t Tables) { t["orders"].Columns[0].Type = "binary(16)" }},
		{"a key that is shown rounded", "orders.number is float", 5, func(_ *Spec, t Tables) { t["orders"].Columns[1].Type = "float" }},
		{"parents with triggers of their own", "fire for each row that is filled in", 5, func(_ *Spec, t Tables) {
			x := t["orders"]
			x.Triggers = []string{"AFTER UPDATE audit"}
			t["orders"] = x
		}},
		{"a function of time", "now changes with time", 9, func(s *Spec, _ Tables) { s.Child.Counts = "at < now()" }},
		{"a function of time without parentheses", "LOCALTIME changes with time", 9, func(s *Spec, _ Tables) { s.Child.Counts = "at < LOCALTIME" }},
		{"a query", "a query in child.counts", 9, func(s *Spec, _ Tables) { s.Child.Counts = "id IN ( SELECT id FROM fs.other)" }},
		{"a type that holds less", "column orders.status_id is int, and statuses.id is bigint", 14, func(s *Spec, _ Tables) { s.Carry[0].Type = "INT(11)" }},
		{"no table", "there is no table statuses", 9, func(_ *Spec, t Tables) { delete(t, "statuses") }},
		{"a flag that is a text", "a flag is a TINYINT", 1, func(_ *Spec, t Tables) {
			x := t["shops"]
			x.Columns = append(x.Columns, Column{Name: "m", Type: "varchar(3)"})
			t["shops"] = x
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, tables := orders()
			c.change(&s, tables)
			found := s.Complete(tables).Check(tables)
			if len(found) != 1 || found[0].Line != c.line || !strings.Contains(found[0].Text, c.want) {
				t.Errorf("want one problem in line %d: %s\n%+v", c.line, c.want, found)
			}
		})
	}
	// What goes with its tenant, or is deleted, is right; and so is a parent that takes its children along.
	s, tables = orders()
	x := tables["orders"]
	x.References = []Reference{{Table: "shops", Columns: []string{"shop"}, Of: []string{"shop"}, Updates: true}, {Table: "users", Columns: []string{"number"}, Of: []string{"id"}, Deletes: true},
		{Table: "users", Columns: []string{"total"}, Of: []string{"id"}, Deletes: true, Leaves: true, Updates: true}}
	tables["orders"] = x
	x = tables["statuses"]
	x.References = []Reference{{Table: "orders", Columns: []string{"shop", "number"}, Of: []string{"shop", "number"}}}
	tables["statuses"] = x
	if found := s.Complete(tables).Check(tables); len(found) > 0 {
		t.Errorf("foreign keys that do no harm are refused: %+v", found)
	}
	// Rows without a parent may be alike.
	s, tables = orders()
	statuses := tables["statuses"]
	statuses.Columns[2].Nullable = true
	statuses.Unique = append(statuses.Unique, Key{"u", []string{"shop", "number", "at"}, true})
	tables["statuses"] = statuses
	s = s.Complete(tables)
	if s.Child.Latest = s.Child.Latest[:1]; len(s.Check(tables)) > 0 {
		t.Errorf("a parent that can be NULL is taken for a tie: %+v", s.Check(tables))
	}
	// A column whose name holds that of a function is none.
	s.Child.Counts = "known_user IS NULL AND rand_no > 3"
	if found := s.Check(tables); len(found) > 0 {
		t.Errorf("columns are taken for functions: %+v", found)
	}
}
