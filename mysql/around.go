package mysql

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stowage/schema"
)

// aroundQueries are what can name a table: each gives kind, database, name, the table it belongs to ("" for none) and its text, of all databases of the server. One query for all tables: information_schema
// opens every object for each.
const aroundQueries = `SELECT 'trigger' AS kind, TRIGGER_SCHEMA AS db, TRIGGER_NAME AS name, EVENT_OBJECT_TABLE AS of_table, ACTION_STATEMENT AS text FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN ` + SystemSchemas + `
	UNION ALL SELECT 'view', TABLE_SCHEMA, TABLE_NAME, '', VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA NOT IN ` + SystemSchemas + `
	UNION ALL SELECT 'routine', ROUTINE_SCHEMA, ROUTINE_NAME, '', ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA NOT IN ` + SystemSchemas + `
	UNION ALL SELECT 'event', EVENT_SCHEMA, EVENT_NAME, '', EVENT_DEFINITION FROM information_schema.EVENTS WHERE EVENT_SCHEMA NOT IN ` + SystemSchemas + ` ORDER BY 1, 2, 3`

// Around is what is around some tables, by database and name: triggers of them and triggers, views, routines and events that name them, in any database of the server; foreign keys that lead to them; and
// what the server does in its own way. "Names" is by words: an object of another database must name the database, too. A text that the server does not show is an error, because it may name anything.
func (s *Server) Around(ctx context.Context, tables map[string][]string) (map[string]map[string]schema.Around, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	habits, err := s.habits(ctx, d)
	if err != nil {
		return nil, err
	}
	objects, err := s.recordsSlow(ctx, aroundQueries)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o["text"] == "" {
			return nil, s.fail("read objects", fmt.Errorf("the text of %s %s.%s is not shown to the [stowage] account", o["kind"], o["db"], o["name"]))
		}
	}
	references, err := s.references(ctx, d)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]schema.Around{}
	for db, names := range tables {
		out[db] = map[string]schema.Around{}
		for _, name := range names {
			a := habits
			a.Table = db + "." + name
			a.ReferencedBy = references[a.Table]
			takeObjects(&a, db, name, objects)
			out[db][name] = a
		}
	}
	return out, nil
}

func takeObjects(a *schema.Around, db, table string, objects []map[string]string) {
	namesTable, namesDatabase := wordOf(table), wordOf(db)
	for _, o := range objects {
		belongs := o["db"] == db && o["of_table"] == table
		if !belongs && (!namesTable.MatchString(o["text"]) || o["db"] != db && !namesDatabase.MatchString(o["text"])) {
			continue
		}
		object := schema.Object{Name: o["db"] + "." + o["name"], Text: o["text"]}
		switch o["kind"] {
		case "trigger":
			a.Triggers = append(a.Triggers, object)
		case "view":
			a.Views = append(a.Views, object)
		case "routine":
			a.Routines = append(a.Routines, object)
		case "event":
			a.Events = append(a.Events, object)
		}
	}
}

// wordOf matches a name as a word, in a view's `quotes` and without.
func wordOf(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[^\p{L}\p{N}_$])(` + regexp.QuoteMeta(name) + `|` + regexp.QuoteMeta(strings.ReplaceAll(name, "`", "``")) + `)($|[^\p{L}\p{N}_$])`)
}

// references are the tables with a foreign key onto each table. MariaDB's information_schema would open every table for it; InnoDB has them at hand, with names as those of files.
func (s *Server) references(ctx context.Context, d dialect) (map[string][]string, error) {
	query := `SELECT DISTINCT TABLE_SCHEMA AS child_db, TABLE_NAME AS child, REFERENCED_TABLE_SCHEMA AS parent_db, REFERENCED_TABLE_NAME AS parent
		FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL`
	if d.flavor.Vendor == "MariaDB" {
		query = "SELECT " + fileNamePart("FOR_NAME", "1") + " AS child_db, " + fileNamePart("FOR_NAME", "-1") + " AS child, " + fileNamePart("REF_NAME", "1") + " AS parent_db, " + fileNamePart("REF_NAME", "-1") + " AS parent FROM information_schema.INNODB_SYS_FOREIGN"
	}
	records, err := s.recordsSlow(ctx, query)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, r := range records {
		parent, child := r["parent_db"]+"."+r["parent"], r["child_db"]+"."+r["child"]
		if !slices.Contains(out[parent], child) {
			out[parent] = append(out[parent], child)
		}
	}
	for _, children := range out {
		slices.Sort(children)
	}
	return out, nil
}

// habits are what the server does in its own way with row events.
func (s *Server) habits(ctx context.Context, d dialect) (schema.Around, error) {
	v, err := s.Variables(ctx, "binlog_row_image", "binlog_row_metadata", "slave_run_triggers_for_rbr")
	if err != nil {
		return schema.Around{}, err
	}
	return schema.Around{
		MySQL:         d.flavor.Vendor != "MariaDB",
		MinimalImages: v["binlog_row_image"] != "FULL",
		MapsByName:    d.flavor.mapsByName() && v["binlog_row_metadata"] == "FULL",
		RunsTriggers:  v["slave_run_triggers_for_rbr"] != "" && v["slave_run_triggers_for_rbr"] != "NO",
	}, nil
}

// mapsByName: MariaDB from 12.3 on looks for the columns of a row event by the names in its metadata.
func (f Flavor) mapsByName() bool {
	return f.Vendor == "MariaDB" && (f.Major > 12 || f.Major == 12 && f.Minor >= 3)
}
