package traffic

import (
	"context"
	"errors"
	"strings"

	"stowage/digest"
	"stowage/mysql"
)

// Explain asks how the server would run a statement that reads, and how its tables are made. The session reads only: the
// server itself refuses to write in it, whatever the statement calls. The statement must have been judged to be a read.
func Explain(ctx context.Context, server *mysql.Server, db, statement string, tables []string) (*digest.Plan, error) {
	s := mysql.Through(server)
	if s.DB() == nil {
		return nil, s.Fail("connect", errors.New("unusable address"))
	}
	ctx, cancel := context.WithTimeout(ctx, mysql.StatementTimeout)
	defer cancel()
	conn, err := s.DB().Conn(ctx)
	if err != nil {
		return nil, s.Fail("connect", err)
	}
	defer mysql.Discard(conn) // its settings are not those of the pool
	if _, err := conn.ExecContext(ctx, "SET SESSION TRANSACTION READ ONLY"); err != nil {
		return nil, s.Fail("SET TRANSACTION", err)
	}
	if db != "" {
		if _, err := conn.ExecContext(ctx, "USE "+mysql.Ident(db)); err != nil {
			return nil, s.Fail("USE", err)
		}
	}
	out := &digest.Plan{Steps: []digest.PlanStep{}, Tables: []string{}}
	rows, err := mysql.RecordsOn(ctx, conn, "EXPLAIN "+statement)
	if err != nil {
		return nil, s.Fail("EXPLAIN", err)
	}
	for _, r := range rows {
		out.Steps = append(out.Steps, digest.PlanStep{Select: r["select_type"], Table: r["table"], Type: r["type"], Key: r["key"], Rows: r["rows"], Extra: r["Extra"]})
	}
	for _, t := range tables {
		made, err := mysql.RecordsOn(ctx, conn, "SHOW CREATE TABLE "+quoteTable(t))
		if err != nil {
			continue // a view that may not be seen, a table that is gone: the plan is what was asked for
		}
		for _, r := range made {
			out.Tables = append(out.Tables, r["Create Table"]+r["Create View"])
		}
	}
	return out, nil
}

// quoteTable quotes a name that may have its database in front.
func quoteTable(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = mysql.Ident(p)
	}
	return strings.Join(parts, ".")
}
