package mysql

import (
	"context"
	"database/sql"
)

const memoryTables = `SELECT TABLE_SCHEMA AS db, TABLE_NAME AS name FROM information_schema.TABLES WHERE ENGINE = 'MEMORY' AND TABLE_TYPE = 'BASE TABLE'
	AND TABLE_SCHEMA NOT IN ` + SystemSchemas + ` ORDER BY 1, 2`

// OpenMemoryTables opens the tables of the engine MEMORY of a server that was just started, in a session that logs nothing. Whoever opens one first
// has a TRUNCATE TABLE written into the binary log by the server, with the next GTID: of a replay that is the number of a transaction that is still to come.
func (s *Server) OpenMemoryTables(ctx context.Context) error {
	return s.unlogged(ctx, func(ctx context.Context, conn *sql.Conn) error {
		names, err := memoryTablesOf(ctx, conn)
		if err != nil {
			return err
		}
		for _, name := range names {
			if _, err := conn.ExecContext(ctx, "DO (SELECT COUNT(*) FROM "+name+")"); err != nil {
				return err
			}
		}
		return nil
	})
}

// MemoryTables are the tables of the engine MEMORY, as db.table. They are empty after each start of the server, and in each backup.
func (s *Server) MemoryTables(ctx context.Context) ([]string, error) {
	records, err := s.records(ctx, memoryTables)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range records {
		out = append(out, r["db"]+"."+r["name"])
	}
	return out, nil
}

func memoryTablesOf(ctx context.Context, conn *sql.Conn) (names []string, err error) {
	rows, err := conn.QueryContext(ctx, memoryTables)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var db, name string
		if err := rows.Scan(&db, &name); err != nil {
			return nil, err
		}
		names = append(names, ident(db)+"."+ident(name))
	}
	return names, rows.Err()
}
