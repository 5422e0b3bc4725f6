package copier

import (
	"context"
	"fmt"
	"strings"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// Refusals is everything about this database and these servers that cannot be
// carried, all of it at once, each with its remedy. It reads only.
func (c *Copy) Refusals(ctx context.Context) ([]farm.Finding, error) {
	var out []farm.Finding
	checks := []func(context.Context) ([]farm.Finding, error){
		c.checkServers, c.checkDatabase, c.checkTables, c.checkColumns, c.checkCollations, c.checkViews, c.checkDefiners,
	}
	if c.Apart != nil { // what acts on rows is no part of it, or is left out and named
		checks = []func(context.Context) ([]farm.Finding, error){c.checkServers, c.checkDatabase, c.checkChosen, c.checkTables, c.checkColumns, c.checkCollations, c.checkTexts}
	}
	for _, check := range checks {
		found, err := check(ctx)
		if err != nil {
			return out, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func (c *Copy) finding(check string, severity farm.Severity, remedy, format string, args ...any) farm.Finding {
	return farm.Finding{Check: check, Severity: severity, Subject: c.Schema, Text: fmt.Sprintf(format, args...), Remedy: remedy}
}

func (c *Copy) checkServers(ctx context.Context) ([]farm.Finding, error) {
	var out []farm.Finding
	lower, vendors := map[string]bool{}, map[string]bool{}
	for _, s := range []*mysql.Server{c.From, c.To} {
		v, err := s.Variables(ctx, "version", "log_bin", "binlog_format", "binlog_row_image", "server_id", "lower_case_table_names", "max_allowed_packet", "log_slave_updates", "binlog_row_value_options")
		if err != nil {
			return nil, err
		}
		flavor, err := s.Flavor(ctx)
		if err != nil {
			return nil, err
		}
		vendors[flavor.Vendor] = true
		if v["binlog_row_value_options"] != "" {
			out = append(out, c.finding("copier-row-image", farm.Blocker, "SET GLOBAL binlog_row_value_options = '', then let clients reconnect",
				"%s logs with binlog_row_value_options=%s: what a change leaves of a JSON value is not all in the binary log", s.Name(), v["binlog_row_value_options"]))
		}
		if v["log_bin"] != "ON" {
			out = append(out, c.finding("copier-binlog", farm.Blocker, "start it with log_bin", "%s has no binary log", s.Name()))
		}
		if v["binlog_format"] != "ROW" || v["binlog_row_image"] != "FULL" {
			out = append(out, c.finding("copier-row-image", farm.Blocker, "SET GLOBAL binlog_format = ROW, binlog_row_image = FULL, then let clients reconnect",
				"%s logs with binlog_format=%s, binlog_row_image=%s", s.Name(), v["binlog_format"], v["binlog_row_image"]))
		}
		if v["server_id"] == fmt.Sprint(c.ServerID) || c.ServerID == 0 {
			out = append(out, c.finding("copier-server-id", farm.Blocker, "give the job a server id that no server has", "another server has the reader's server id %d", c.ServerID))
		}
		lower[v["lower_case_table_names"]] = true
	}
	if len(vendors) > 1 {
		out = append(out, c.finding("copier-flavor", farm.Blocker, "choose a target of the same vendor", "%s and %s are of different vendors: their types, collations and positions differ", c.From.Name(), c.To.Name()))
	}
	if len(lower) > 1 {
		out = append(out, c.finding("copier-names", farm.Blocker, "servers must agree in lower_case_table_names", "%s and %s treat the case of names differently", c.From.Name(), c.To.Name()))
	}
	return out, nil
}

func (c *Copy) checkDatabase(ctx context.Context) ([]farm.Finding, error) {
	here, err := rows.SchemaOptionsOf(ctx, c.From, c.Schema)
	if err != nil {
		return nil, err
	}
	there, err := rows.SchemaOptionsOf(ctx, c.To, c.at(c.To))
	if err != nil {
		return nil, err
	}
	var out []farm.Finding
	if !here.Exists {
		out = append(out, c.finding("copier-database", farm.Blocker, "is the name right?", "%s has no such database", c.From.Name()))
	}
	if there.Exists && !there.IsOf(c.marks()) {
		out = append(out, c.finding("copier-database", farm.Blocker, "drop or rename it there", "%s has a database %s already", c.To.Name(), c.at(c.To)))
	}
	return out, nil
}

func (c *Copy) checkTables(ctx context.Context) ([]farm.Finding, error) {
	find := rows.UnfitTables
	if c.Apart != nil {
		find = rows.UnfitAtRest
	}
	unfit, err := find(ctx, c.From, c.Schema)
	if err != nil {
		return nil, err
	}
	var out []farm.Finding
	for _, u := range unfit {
		if !c.extract().Has(u.Table) {
			continue
		}
		if c.Apart != nil {
			u.Remedy = byHand
		}
		out = append(out, c.finding("copier-table", farm.Blocker, u.Remedy, "table %s: %s", u.Table, u.Why))
	}
	return out, nil
}

func (c *Copy) checkColumns(ctx context.Context) ([]farm.Finding, error) {
	st, err := c.standing(ctx, c.From)
	if err != nil {
		return nil, err
	}
	var out []farm.Finding
	for _, t := range st.tables {
		key, column := "add a primary key (an invisible AUTO_INCREMENT column will do)", "change the column's type, or move the whole instance"
		if c.Apart != nil {
			key, column = byHand, byHand
		}
		if t.KeyName == "" {
			out = append(out, c.finding("copier-key", farm.Blocker, key,
				"table %s has no primary key and no unique key of whole columns that are never NULL", t.Name))
		}
		for _, col := range t.Columns {
			if ok, why := col.CanCarry(); !ok {
				out = append(out, c.finding("copier-column", farm.Blocker, column, "table %s, column %s: %s", t.Name, col.Name, why))
			}
		}
	}
	return out, nil
}

func (c *Copy) checkCollations(ctx context.Context) ([]farm.Finding, error) {
	unknown, err := rows.UnknownCollations(ctx, c.From, c.Schema, c.To)
	var out []farm.Finding
	for _, u := range unknown {
		out = append(out, c.finding("copier-collation", farm.Blocker, "convert the columns to a collation that both have", "%s does not know collation %s", c.To.Name(), u))
	}
	return out, err
}

// checkViews: the last step before the comparison makes the views, after all
// rows have been copied.
func (c *Copy) checkViews(ctx context.Context) ([]farm.Finding, error) {
	broken, err := rows.BrokenViews(ctx, c.From, c.Schema, c.To)
	var out []farm.Finding
	for _, b := range broken {
		out = append(out, c.finding("copier-view", farm.Blocker, b.Remedy, "view %s: %s", b.Name, b.Why))
	}
	return out, err
}

func (c *Copy) checkDefiners(ctx context.Context) ([]farm.Finding, error) {
	objects, err := rows.CopyObjects(ctx, c.From, c.Schema)
	if err != nil {
		return nil, err
	}
	triggers, err := rows.CopyTriggers(ctx, c.From, c.Schema)
	if err != nil {
		return nil, err
	}
	var out []farm.Finding
	asked := map[string]bool{}
	for _, o := range append(objects, triggers...) {
		if asked[o.Definer] {
			continue
		}
		asked[o.Definer] = true
		there, err := c.To.HasUser(ctx, o.Definer)
		if err != nil {
			return nil, err
		}
		if there {
			continue
		}
		here, err := c.From.HasUser(ctx, o.Definer)
		if err != nil {
			return nil, err
		}
		severity := farm.Blocker
		if !here { // it cannot be used on the source either
			severity = farm.Warning
		}
		out = append(out, c.finding("copier-definer", severity, "create the account on "+string(c.To.Name())+" with what it needs",
			"%s %s is defined by %s, who does not exist on %s", strings.ToLower(o.Kind), o.Name, o.Definer, c.To.Name()))
	}
	return out, nil
}
