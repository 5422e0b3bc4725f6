package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"stowage/mysql"
)

// BrokenView is a view that cannot be made anew on another server.
type BrokenView struct {
	Name, Why, Remedy string
}

// BrokenViews are the views of a database that are invalid, or need tables of other databases that server does not have.
func BrokenViews(ctx context.Context, server *mysql.Server, schema string, on *mysql.Server) ([]BrokenView, error) {
	s := mysql.Through(server)
	records, err := s.Records(ctx, "SELECT TABLE_NAME AS name, VIEW_DEFINITION AS text, DEFINER AS definer FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ? ORDER BY 1", schema)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	all, err := s.Records(ctx, "SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA WHERE SCHEMA_NAME <> ?", schema)
	if err != nil {
		return nil, err
	}
	var out []BrokenView
	for _, r := range records {
		invalid, err := invalid(ctx, s, schema, r["name"])
		if err != nil {
			return nil, err
		}
		if invalid != "" {
			if there, err := s.HasUser(ctx, r["definer"]); err != nil {
				return nil, err
			} else if !there {
				continue // that is what is wrong with it, and does not keep it from being made
			}
			out = append(out, BrokenView{r["name"], "it is invalid: " + invalid, "repair it or drop it: SHOW CREATE VIEW " + mysql.Ident(schema) + "." + mysql.Ident(r["name"])})
			continue
		}
		lacks, err := lacksForView(ctx, s, r["text"], mysql.Column(all, "name"), on)
		if err != nil {
			return nil, err
		}
		if len(lacks) > 0 {
			out = append(out, BrokenView{r["name"], fmt.Sprintf("it reads tables of other databases that %s does not have: %s", on.Name(), strings.Join(lacks, ", ")),
				"take them along into the database, or drop the view for the move"})
		}
	}
	return out, nil
}

// invalid is what the server says when it opens a view; "" when nothing is
// wrong with it. Without opening them information_schema does not tell.
func invalid(ctx context.Context, s mysql.Door, schema, view string) (string, error) {
	_, err := s.Records(ctx, "SHOW COLUMNS FROM "+mysql.Ident(view)+" FROM "+mysql.Ident(schema))
	var my *driver.MySQLError
	if errors.As(err, &my) && (my.Number == 1356 || my.Number == 1449 || my.Number == 1146 || my.Number == 1054) {
		return my.Message, nil
	}
	return "", err
}

// lacksForView are the tables of other databases that a view's definition names and on does not have. A definition is kept
// with all names in full, `database`.`table`.
func lacksForView(ctx context.Context, s mysql.Door, definition string, schemas []string, on *mysql.Server) ([]string, error) {
	var out []string
	for _, schema := range schemas {
		if !strings.Contains(definition, mysql.Ident(schema)+".") {
			continue
		}
		tables, err := s.Records(ctx, "SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", schema)
		if err != nil {
			return nil, err
		}
		there, err := mysql.Through(on).Records(ctx, "SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", schema)
		if err != nil {
			return nil, err
		}
		for _, t := range tables {
			if strings.Contains(definition, mysql.Ident(schema)+"."+mysql.Ident(t["name"])) && !slices.Contains(mysql.Column(there, "name"), t["name"]) {
				out = append(out, schema+"."+t["name"])
			}
		}
	}
	return out, nil
}

// ReachesOutside are the views, routines, triggers and events of a database
// whose text names another database of the server.
func ReachesOutside(ctx context.Context, s *mysql.Server, schema string) ([]string, error) {
	others, err := mysql.Through(s).Records(ctx, `SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA
		WHERE SCHEMA_NAME NOT IN (?, 'information_schema', 'performance_schema', 'mysql', 'sys')`, schema)
	if err != nil {
		return nil, err
	}
	objects, err := CopyObjects(ctx, s, schema)
	if err != nil {
		return nil, err
	}
	triggers, err := CopyTriggers(ctx, s, schema)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, o := range append(objects, triggers...) {
		for _, other := range mysql.Named(string(o.Text), mysql.Column(others, "name")) {
			out = append(out, fmt.Sprintf("%s %s names %s", strings.ToLower(o.Kind), o.Name, other))
		}
	}
	return out, nil
}
