package latest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
	"stowage/mysql"
	"stowage/reshape/spec"
)

// triggerPrefix begins the names of all triggers of reshapes.
const triggerPrefix = "stowage_latest_"

// Trigger is one trigger: its name, and the statement that makes it in the current database.
type Trigger struct {
	Name, Table, Create string
	Body                string // as the server shows it
}

// Replace is the statement that makes it in place of one of that name, with no write in between. MySQL has none.
func (t Trigger) Replace() string {
	return strings.Replace(t.Create, "CREATE TRIGGER", "CREATE OR REPLACE TRIGGER", 1)
}

// Triggers keep the carried columns of a shard current, in the client's own transaction.
//
// Each locks the parent before anything is read of its children, and reads them with locks: of two clients that write children of one parent, the second waits for the first, and sees what it
// has done. A parent that is made after its children, or gets another key, looks for them itself. Rows that come by replication fire none of them: what they wrote where the client was is in
// the binary log.
func (s Shape) Triggers(t spec.Tables) []Trigger {
	lock := func(row string) string {
		return "SELECT COUNT(*) INTO stowage_held FROM " + mysql.Ident(s.Parent.Table) + " WHERE " + s.parentOf(row) + " FOR UPDATE;\n"
	}
	moved := "NOT (" + s.equal(s.Child.Parent, "OLD", "NEW") + ")"
	child, parent := s.Child.Table, s.Parent.Table
	take := s.take(t)
	update := func(row string) string {
		return s.clear() + s.read(row) + "UPDATE " + mysql.Ident(parent) + " SET " + strings.Join(append([]string{s.assign("", ", ")}, s.stays("")...), ", ") + " WHERE " + s.parentOf(row) + ";\n"
	}
	set := func(read string) string { return s.clear() + read + "SET " + s.assign("NEW.", ", ") + ";\n" }
	ifMoved := func(text string) string { return "IF " + moved + " THEN\n" + text + "END IF;\n" }
	held := "DECLARE stowage_held BIGINT;\n"
	list := []struct{ on, when, body string }{
		{child, "BEFORE INSERT", held + lock("NEW")},
		{child, "AFTER INSERT", take + update("NEW")},
		{child, "BEFORE UPDATE", held + lock("OLD") + ifMoved(lock("NEW"))},
		{child, "AFTER UPDATE", take + update("NEW") + ifMoved(update("OLD"))},
		{child, "BEFORE DELETE", held + lock("OLD")},
		{child, "AFTER DELETE", take + update("OLD")},
		{parent, "BEFORE INSERT", take + set(s.readNew(t))},
		{parent, "BEFORE UPDATE", take + s.ifParentMoved(t, set)},
	}
	out := make([]Trigger, len(list))
	for n, x := range list {
		name := s.triggerName(n)
		body := "BEGIN\n" + x.body + "END"
		out[n] = Trigger{Name: name, Table: x.on, Body: body, Create: "CREATE TRIGGER " + mysql.Ident(name) + " " + x.when + " ON " + mysql.Ident(x.on) + " FOR EACH ROW\n" + body}
	}
	return out
}

// readNew takes the latest child of a parent that is inserted. A key that the server draws is still 0: children of parent 0 are not its own.
func (s Shape) readNew(t spec.Tables) string {
	read := s.readFor(s.joined("x", "NEW"))
	for _, k := range s.Parent.Key {
		if c, _ := t[s.Parent.Table].Column(k); c.Drawn {
			return "IF NEW." + mysql.Ident(k) + " <> 0 THEN\n" + read + "END IF;\n"
		}
	}
	return read
}

// ifParentMoved looks for the latest child of a parent that gets another key, or comes to another tenant: the one that it leaves may not be filled in.
func (s Shape) ifParentMoved(t spec.Tables, set func(string) string) string {
	columns, row := slices.Clone(s.Parent.Key), "NEW"
	if s.Follows(t) { // one that gets another key takes its children along, which still have the old one
		columns, row = nil, "OLD"
	}
	if !slices.Contains(columns, s.Parent.Tenant) {
		columns = append(columns, s.Parent.Tenant)
	}
	return "IF NOT (" + s.equal(columns, "OLD", "NEW") + ") THEN\n" + set(s.readFor(s.joined("x", row))) + "END IF;\n"
}

// ThereTriggers are the triggers of reshapes that a shard has, by name, each with its body.
func ThereTriggers(ctx context.Context, server *mysql.Server, shard farm.ShardName) (map[string]string, error) {
	found, err := mysql.Through(server).Records(ctx, "SELECT TRIGGER_NAME AS name, ACTION_STATEMENT AS body FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = "+mysql.Quote(string(shard)))
	out := map[string]string{}
	for _, t := range found {
		if strings.HasPrefix(t["name"], triggerPrefix) {
			out[t["name"]] = t["body"]
		}
	}
	return out, err
}

// triggerName is at most 64 characters. Of a longer name a part of its hash takes the place of its end: specs whose names begin alike have triggers of their own.
func (s Shape) triggerName(n int) string {
	name := s.Name
	if room := 64 - len(triggerPrefix) - 2; len(name) > room {
		sum := sha256.Sum256([]byte(name))
		name = strings.ToValidUTF8(name[:room-9], "") + "_" + hex.EncodeToString(sum[:4])
	}
	return triggerPrefix + name + "_" + strconv.Itoa(n)
}

// take declares a variable for each carried column. One that finds no child leaves them NULL, and the client no warning.
func (s Shape) take(t spec.Tables) string {
	var b strings.Builder
	for n, c := range s.Carry {
		from, _ := t[s.Child.Table].Column(c.From)
		fmt.Fprintf(&b, "DECLARE stowage_%d %s;\n", n, from.Type)
	}
	b.WriteString("DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;\n")
	return b.String()
}

func (s Shape) clear() string {
	terms := make([]string, len(s.Carry))
	for n := range s.Carry {
		terms[n] = fmt.Sprintf("stowage_%d = NULL", n)
	}
	return "SET " + strings.Join(terms, ", ") + ";\n"
}

// read takes the latest child of a child's parent into the variables.
func (s Shape) read(row string) string { return s.readFor(s.equal(s.Child.Parent, "x", row)) }

func (s Shape) readFor(where string) string {
	from, into := make([]string, len(s.Carry)), make([]string, len(s.Carry))
	for n, c := range s.Carry {
		from[n], into[n] = "x."+mysql.Ident(c.From), "stowage_"+strconv.Itoa(n)
	}
	return "SELECT " + strings.Join(from, ", ") + " INTO " + strings.Join(into, ", ") + " FROM " + mysql.Ident(s.Child.Table) + " x WHERE " + where + s.counts() + s.order("x") + " LIMIT 1 LOCK IN SHARE MODE;\n"
}

// assign sets the carried columns to the variables.
func (s Shape) assign(prefix, sep string) string {
	terms := make([]string, len(s.Carry))
	for n, c := range s.Carry {
		terms[n] = prefix + mysql.Ident(c.Column) + " = stowage_" + strconv.Itoa(n)
	}
	return strings.Join(terms, sep)
}

// parentOf is the condition for the parent of a child that is NEW or OLD.
func (s Shape) parentOf(row string) string {
	terms := make([]string, len(s.Parent.Key))
	for n, k := range s.Parent.Key {
		terms[n] = mysql.Ident(k) + " = " + row + "." + mysql.Ident(s.Child.Parent[n])
	}
	return strings.Join(terms, " AND ")
}

func (s Shape) equal(columns []string, a, b string) string {
	terms := make([]string, len(columns))
	for n, c := range columns {
		terms[n] = a + "." + mysql.Ident(c) + " <=> " + b + "." + mysql.Ident(c)
	}
	return strings.Join(terms, " AND ")
}
