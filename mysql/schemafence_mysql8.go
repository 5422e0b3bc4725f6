package mysql

import (
	"context"
	"fmt"
	"time"
)

// SetSchemaReadOnly fences one database of a MySQL server, or opens it again
// (8.0.22 and later). It waits for the transactions that have written to the
// database, no longer than budget (whole seconds), and then stops everybody,
// sessions that have used the database for long and accounts with every
// privilege included; other databases take no notice. Reads go on, and so does
// replication into it: the applier is not stopped by the fence. It is kept out of
// the binary log, where it would reach the other side before that side's own
// clients are gone: each server is fenced by itself. It lasts through a restart.
//
// A database that is so already is left alone.
func (s *Server) SetSchemaReadOnly(ctx context.Context, schema string, on bool, budget time.Duration) error {
	is, err := s.SchemaReadOnly(ctx, schema)
	if err != nil || is == on {
		return err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.fail("connect", err)
	}
	defer Discard(conn) // it has another lock_wait_timeout
	value := 0
	if on {
		value = 1
	}
	for _, text := range []string{
		fmt.Sprintf("SET SESSION lock_wait_timeout = %d, sql_log_bin = 0", wholeSecondsOf(budget)),
		fmt.Sprintf("ALTER SCHEMA %s READ ONLY = %d", ident(schema), value),
	} {
		s.log.Debug("statement", "server", s.name, "sql", text)
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return s.fail(firstWords(text), err)
		}
	}
	return nil
}

func wholeSecondsOf(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

// SchemaReadOnly reports whether a database of a MySQL server is fenced by
// SetSchemaReadOnly.
func (s *Server) SchemaReadOnly(ctx context.Context, schema string) (bool, error) {
	records, err := s.records(ctx, "SELECT OPTIONS AS options FROM information_schema.SCHEMATA_EXTENSIONS WHERE SCHEMA_NAME = ?", schema)
	if err != nil {
		return false, err
	}
	if len(records) == 0 {
		return false, s.fail("read schema", fmt.Errorf("no database %s", schema))
	}
	return records[0]["options"] == "READ ONLY=1", nil
}
