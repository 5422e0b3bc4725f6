package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"stowage/internal/lazy"
)

// noSuchTable: it was dropped since it was listed.
const noSuchTable = 1146

// CreatedTables are the definitions of all tables and sequences of some databases, as SHOW CREATE TABLE says them: by database and table. A database that the server does
// not have is absent. Views are left out, and what a copy of Stowage's keeps for itself.
func (s *Server) CreatedTables(ctx context.Context, databases []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	if len(databases) == 0 {
		return out, nil
	}
	if s.db == nil {
		return nil, s.fail("connect", errors.New("unusable address"))
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, s.fail("connect", err)
	}
	defer Discard(conn) // its settings are not those of the pool
	// Modes like NO_TABLE_OPTIONS and ANSI_QUOTES would change the text; a default of TIMESTAMP reads as clients wrote it, in the zone in which Alter writes it.
	if _, err := conn.ExecContext(ctx, "SET SESSION sql_mode = '', sql_quote_show_create = 1, time_zone = @@GLOBAL.time_zone"); err != nil {
		return nil, s.fail("SET SESSION", err)
	}
	names := make([]string, len(databases))
	for n, d := range databases {
		names[n] = quote(d)
	}
	in := " IN (" + strings.Join(names, ", ") + ")"
	there, err := RecordsOn(ctx, conn, "SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA WHERE SCHEMA_NAME"+in)
	if err != nil {
		return nil, s.fail("list databases", err)
	}
	for _, r := range there {
		out[r["name"]] = map[string]string{}
	}
	tables, err := RecordsOn(ctx, conn, "SELECT TABLE_SCHEMA AS db, TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'SEQUENCE') AND TABLE_SCHEMA"+in)
	if err != nil {
		return nil, s.fail("list tables", err)
	}
	for _, r := range tables {
		db, name := r["db"], r["name"]
		if IsMark(name) || out[db] == nil {
			continue
		}
		text, err := createdTable(ctx, conn, db, name)
		if err != nil {
			return nil, s.fail("SHOW CREATE TABLE "+ident(db)+"."+ident(name), err)
		}
		if text != "" {
			out[db][name] = text
		}
	}
	return out, nil
}

// createdTable is "" for a table that was dropped since it was listed.
func createdTable(ctx context.Context, conn *sql.Conn, db, name string) (string, error) {
	var was, text string
	err := conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+ident(db)+"."+ident(name)).Scan(&was, &text)
	if CodeOf(err) == noSuchTable {
		return "", nil
	}
	return bareSequences(text, db), err
}

var sequences = lazy.Regexp("(?s)'(?:[^'\\\\]|\\\\.)*'|`[^`]*`|\\b((?:next|last)val\\()(`(?:[^`]|``)+`)\\.")

// bareSequences leaves the database of a table out of defaults that take from a sequence: MariaDB says nextval(`shard`.`seq`), and no two shards would have the same table. In an ALTER the bare name is
// one of the database in use.
func bareSequences(text, db string) string {
	return sequences().ReplaceAllStringFunc(text, func(s string) string {
		if m := sequences().FindStringSubmatch(s); m[2] == ident(db) {
			return m[1]
		}
		return s
	})
}

// MakeTables makes a database and runs statements in it that make tables, without checks of foreign keys or of row formats: servers have tables that they would not make any more. For a server that is thrown away. refused is the statement that
// the server refused, -1 where it was none of them.
func (s *Server) MakeTables(ctx context.Context, database, charset, collation string, statements []string) (refused int, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return -1, s.fail("connect", err)
	}
	defer Discard(conn)
	create := "CREATE DATABASE " + ident(database)
	if charset != "" {
		create += " CHARACTER SET " + quote(charset)
	}
	if collation != "" {
		create += " COLLATE " + quote(collation)
	}
	for _, statement := range []string{create, "USE " + ident(database), "SET SESSION foreign_key_checks = 0, innodb_strict_mode = OFF, time_zone = @@GLOBAL.time_zone"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return -1, s.fail(firstWords(statement), err)
		}
	}
	for n, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return n, s.fail(firstWords(statement), err)
		}
	}
	return -1, nil
}
