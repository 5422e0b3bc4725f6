package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"stowage/digest"
)

// Explain asks how the server would run a statement that reads, and how its tables are made. The session reads only: the
// server itself refuses to write in it, whatever the statement calls. The statement must have been judged to be a read.
func (s *Server) Explain(ctx context.Context, db, statement string, tables []string) (*digest.Plan, error) {
	if s.db == nil {
		return nil, s.fail("connect", errors.New("unusable address"))
	}
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, s.fail("connect", err)
	}
	defer func() {
		_ = conn.Raw(func(any) error { return errBadConnection }) // its settings are not those of the pool
		_ = conn.Close()
	}()
	if _, err := conn.ExecContext(ctx, "SET SESSION TRANSACTION READ ONLY"); err != nil {
		return nil, s.fail("SET TRANSACTION", err)
	}
	if db != "" {
		if _, err := conn.ExecContext(ctx, "USE "+ident(db)); err != nil {
			return nil, s.fail("USE", err)
		}
	}
	out := &digest.Plan{Steps: []digest.PlanStep{}, Tables: []string{}}
	rows, err := recordsOn(ctx, conn, "EXPLAIN "+statement)
	if err != nil {
		return nil, s.fail("EXPLAIN", err)
	}
	for _, r := range rows {
		out.Steps = append(out.Steps, digest.PlanStep{Select: r["select_type"], Table: r["table"], Type: r["type"], Key: r["key"], Rows: r["rows"], Extra: r["Extra"]})
	}
	for _, t := range tables {
		made, err := recordsOn(ctx, conn, "SHOW CREATE TABLE "+quoteTable(t))
		if err != nil {
			continue // a view that may not be seen, a table that is gone: the plan is what was asked for
		}
		for _, r := range made {
			out.Tables = append(out.Tables, r["Create Table"]+r["Create View"])
		}
	}
	return out, nil
}

func recordsOn(ctx context.Context, conn *sql.Conn, query string) ([]map[string]string, error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return scanRecords(rows)
}

// quoteTable quotes a name that may have its database in front.
func quoteTable(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = ident(p)
	}
	return strings.Join(parts, ".")
}
