package copier

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// Apart is a copy of a database of a server that nobody writes to, as one of another name beside what the target serves: a shard out of a restored backup. No client
// goes there, so it has no cutover: Prepare, Carry, FinishApart, Compare, Keep; or Discard.
type Apart struct {
	As     string   // what it is called on the target
	Tables []string // only these; empty: all
}

// extract is what is copied, and what it is called at both ends.
func (c *Copy) extract() rows.Extract {
	e := rows.Extract{Schema: c.Schema, As: c.at(c.To)}
	if c.Apart != nil {
		e.Tables = c.Apart.Tables
	}
	return e
}

// untied takes foreign keys out of the text of a table that lead to one which is not copied, and names them.
func (c *Copy) untied(text string, copied []*rows.CopyTable) (string, []string) {
	if c.Apart == nil {
		return text, nil
	}
	there := byName(copied)
	return rows.WithoutForeignKeys(text, func(table string) bool { return there[table] != nil })
}

// FinishApart is Finish, with triggers and counters. What was left out comes back, for people: foreign keys to tables that are not copied, and views, routines, triggers
// and events that name the database by its own name, or that the target would not make. Where only some tables are copied, they have no triggers, and views, routines and
// events are no part of it.
func (c *Copy) FinishApart(ctx context.Context) (left []string, err error) {
	if _, err := rows.TakeOver(ctx, c.To, c.marks()); err != nil {
		return nil, err
	}
	if err := c.addIndexes(ctx); err != nil {
		return nil, err
	}
	here, err := c.standing(ctx, c.From)
	if err != nil {
		return nil, err
	}
	for _, t := range here.tables {
		text, err := rows.CreateText(ctx, c.From, t)
		if err != nil {
			return nil, err
		}
		_, keys := c.untied(text, here.tables)
		for _, key := range keys {
			left = append(left, fmt.Sprintf("foreign key %s of table %s: the table it leads to is not copied", key, t.Name))
		}
	}
	more, err := c.createApart(ctx)
	if err != nil {
		return nil, err
	}
	return append(left, more...), c.raiseCounters(ctx, c.From, c.To)
}

// createApart makes views, routines, triggers and events, the latter DISABLED.
func (c *Copy) createApart(ctx context.Context) (left []string, err error) {
	objects, err := rows.CopyObjects(ctx, c.From, c.Schema)
	if err != nil {
		return nil, err
	}
	triggers, err := rows.CopyTriggers(ctx, c.From, c.Schema)
	if err != nil {
		return nil, err
	}
	var make []rows.CopyObject
	for _, o := range append(objects, triggers...) {
		switch {
		case len(c.Apart.Tables) > 0:
			left = append(left, leftOut(o, "only tables were asked for"))
		case c.named().Match(o.Text): // made anew it would act on the database that serves
			left = append(left, leftOut(o, "its text names "+c.Schema))
		default:
			make = append(make, o)
		}
	}
	unmade, err := rows.CreateSome(ctx, c.To, c.at(c.To), make)
	for _, u := range unmade {
		if mysql.CodeOf(u.Err) == 0 || rows.IsLockWait(u.Err) {
			return nil, c.fail("create "+u.Name, u.Err)
		}
		left = append(left, leftOut(u.CopyObject, u.Err.Error()))
	}
	return left, err
}

func leftOut(o rows.CopyObject, why string) string {
	return fmt.Sprintf("%s %s: %s", strings.ToLower(o.Kind), o.Name, why)
}

// named finds the database's own name in a text, as a word.
func (c *Copy) named() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[^0-9a-z_$])` + regexp.QuoteMeta(c.Schema) + `([^0-9a-z_$]|$)`)
}

// Keep ends the copy: its marks go, and the database is the owner's, with a comment that says what it is.
func (c *Copy) Keep(ctx context.Context, comment string) error {
	there, err := rows.SchemaOptionsOf(ctx, c.To, c.at(c.To))
	if err != nil {
		return err
	}
	if there.Exists && there.IsOf(c.marks()) {
		if err := rows.SettleSchema(ctx, c.To, c.marks(), comment); err != nil {
			return err
		}
	}
	return rows.DropMarks(ctx, c.To, c.marks())
}

// byHand is what to do about a table that this way does not carry.
const byHand = "name the other tables (--table), or restore the whole instance and take it from there: stowage restore"

// Foresight is what Refusals would say of the tables, had they been then as they are on a server now; of a database that is not there, nothing.
func (a Apart) Foresight(ctx context.Context, on *mysql.Server, schema string) ([]farm.Finding, error) {
	c := &Copy{From: on, Schema: schema, Apart: &a}
	there, err := on.HasSchema(ctx, schema)
	if err != nil || !there {
		return nil, err
	}
	var out []farm.Finding
	for _, check := range []func(context.Context) ([]farm.Finding, error){c.checkChosen, c.checkTables, c.checkColumns, c.checkTexts} {
		found, err := check(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// checkChosen asks whether the tables that were named are there.
func (c *Copy) checkChosen(ctx context.Context) ([]farm.Finding, error) {
	st, err := c.standing(ctx, c.From)
	if err != nil {
		return nil, err
	}
	var out []farm.Finding
	has := byName(st.tables)
	for _, name := range c.Apart.Tables {
		if has[name] == nil {
			out = append(out, c.finding("copier-chosen", farm.Blocker, "is the name right, and was it there at that moment?", "%s had no table %s", c.Schema, name))
		}
	}
	return out, nil
}

// checkTexts finds tables whose definition names the database itself: the copy would use what serves, a sequence say.
func (c *Copy) checkTexts(ctx context.Context) ([]farm.Finding, error) {
	st, err := c.standing(ctx, c.From)
	if err != nil {
		return nil, err
	}
	var out []farm.Finding
	for _, t := range st.tables {
		text, err := rows.CreateText(ctx, c.From, t)
		if err != nil {
			return nil, err
		}
		if text, _ = c.untied(text, st.tables); strings.Contains(text, "`"+c.Schema+"`.") {
			out = append(out, c.finding("copier-text", farm.Blocker, byHand, "table %s: its definition names the database %s", t.Name, c.Schema))
		}
	}
	return out, nil
}

// ComparedRows is how many rows Compare has compared, by this and earlier attempts.
func (c *Copy) ComparedRows(ctx context.Context) (int64, error) {
	p, err := rows.CheckMark(ctx, c.To, c.marks())
	return p.Rows, err
}
