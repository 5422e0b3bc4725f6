package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	driver "github.com/go-sql-driver/mysql"
)

// BrokenView is a view that cannot be made anew on another server.
type BrokenView struct {
	Name, Why, Remedy string
}

// BrokenViews are the views of a database that are invalid, or need tables of other databases that server does not have.
func (s *Server) BrokenViews(ctx context.Context, schema string, on *Server) ([]BrokenView, error) {
	records, err := s.records(ctx, "SELECT TABLE_NAME AS name, VIEW_DEFINITION AS text, DEFINER AS definer FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ? ORDER BY 1", schema)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	all, err := s.records(ctx, "SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA WHERE SCHEMA_NAME <> ?", schema)
	if err != nil {
		return nil, err
	}
	var out []BrokenView
	for _, r := range records {
		invalid, err := s.invalid(ctx, schema, r["name"])
		if err != nil {
			return nil, err
		}
		if invalid != "" {
			if there, err := s.HasUser(ctx, r["definer"]); err != nil {
				return nil, err
			} else if !there {
				continue // that is what is wrong with it, and does not keep it from being made
			}
			out = append(out, BrokenView{r["name"], "it is invalid: " + invalid, "repair it or drop it: SHOW CREATE VIEW " + ident(schema) + "." + ident(r["name"])})
			continue
		}
		lacks, err := s.lacksForView(ctx, r["text"], column0(all, "name"), on)
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
func (s *Server) invalid(ctx context.Context, schema, view string) (string, error) {
	_, err := s.records(ctx, "SHOW COLUMNS FROM "+ident(view)+" FROM "+ident(schema))
	var my *driver.MySQLError
	if errors.As(err, &my) && (my.Number == 1356 || my.Number == 1449 || my.Number == 1146 || my.Number == 1054) {
		return my.Message, nil
	}
	return "", err
}

// lacksForView are the tables of other databases that a view's definition names and on does not have. A definition is kept
// with all names in full, `database`.`table`.
func (s *Server) lacksForView(ctx context.Context, definition string, schemas []string, on *Server) ([]string, error) {
	var out []string
	for _, schema := range schemas {
		if !strings.Contains(definition, ident(schema)+".") {
			continue
		}
		tables, err := s.records(ctx, "SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", schema)
		if err != nil {
			return nil, err
		}
		there, err := on.records(ctx, "SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", schema)
		if err != nil {
			return nil, err
		}
		for _, t := range tables {
			if strings.Contains(definition, ident(schema)+"."+ident(t["name"])) && !slices.Contains(column0(there, "name"), t["name"]) {
				out = append(out, schema+"."+t["name"])
			}
		}
	}
	return out, nil
}
