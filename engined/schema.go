package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	schema "go.temporal.io/server/schema/sqlite"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// busyWait is how long SQLITE_BUSY is retried: a predecessor killed a moment ago may not be gone yet.
const busyWait = 15 * time.Second

// prepare makes sure that the file at path holds the server's schema, whole. The version stands in PRAGMA user_version.
func prepare(ctx context.Context, path string) error {
	want, err := schemaNumber(schema.Version)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(busyWait)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := createSchema(ctx, path, want)
		if err == nil {
			return nil
		}
		if !isBusy(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("prepare %s: %w", path, err)
		}
		time.Sleep(wait)
	}
}

func createSchema(ctx context.Context, path string, want int) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	var have, tables int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if have == want {
		return nil
	}
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return fmt.Errorf("read tables: %w", err)
	}
	if have != 0 || tables != 0 {
		return fmt.Errorf("its schema is number %d and this engine needs %d: finish what runs with the engine that made the file, then move the file away", have, want)
	}
	if err := schema.SetupSchemaOnDB(&inTx{ctx: ctx, tx: tx}); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", want)); err != nil {
		return fmt.Errorf("write schema version: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// inTx lets the server's own schema set-up, which would commit statement by statement, run inside one transaction. It calls
// nothing but Exec.
type inTx struct {
	sqlplugin.AdminDB
	ctx context.Context
	tx  *sql.Tx
}

func (t *inTx) Exec(stmt string, args ...any) error {
	_, err := t.tx.ExecContext(t.ctx, stmt, args...)
	return err
}

// schemaNumber turns the server's "0.11" into 11 and "1.2" into 1002, for PRAGMA user_version.
func schemaNumber(version string) (int, error) {
	major, minor, _ := strings.Cut(version, ".")
	hi, err1 := strconv.Atoi(major)
	lo, err2 := strconv.Atoi(minor)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("read schema version %q: %w", version, err)
	}
	return hi*1000 + lo, nil
}

func isBusy(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	primary := e.Code() & 0xff // extended codes keep the primary one in the low byte
	return primary == sqlite3.SQLITE_BUSY || primary == sqlite3.SQLITE_LOCKED
}
