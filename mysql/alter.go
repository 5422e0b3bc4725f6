package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Altering is one change of one table's definition.
type Altering struct {
	Database  string
	Statement string
	// Logged: replicas get the statement through the binary log. Otherwise nobody but this server learns of it.
	Logged bool
	// Lenient: zero dates are values, and nothing is refused for being one that the server makes up. It changes no definition.
	Lenient bool
	// LockWait is for how long the statement may wait for the table, in whole seconds: everybody who comes after it waits as long.
	LockWait time.Duration
	// Mark finds the statement again after its sender has died: letters, digits, spaces and - only.
	Mark string
	// Tell says how far the server is, about once a second. Nil: nobody wants to know.
	Tell func(string)
}

// Alter runs the change, for as long as it takes, in the server's own sql_mode and time zone: values are converted as they are for its clients. When ctx ends the statement is
// killed, and the table is as it was. A program that is killed leaves it running: see AwaitAlter.
func (s *Server) Alter(ctx context.Context, a Altering) error {
	if s.db == nil {
		return s.fail("connect", errors.New("unusable address"))
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.fail("connect", err)
	}
	defer Discard(conn) // its settings are not those of the pool
	set := "SET SESSION sql_mode = @@GLOBAL.sql_mode, time_zone = @@GLOBAL.time_zone, lock_wait_timeout = " + strconv.Itoa(max(1, int(a.LockWait.Seconds())))
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	if d.flavor.HasGTIDDomains() {
		set += ", max_statement_time = 0" // MariaDB ends an ALTER after it, too
	}
	if a.Lenient {
		mode, err := s.Setting(ctx, "sql_mode")
		if err != nil {
			return err
		}
		set += ", sql_mode = " + quote(lenient(mode))
	}
	if !a.Logged {
		set += ", sql_log_bin = 0"
	}
	var id uint64
	for _, statement := range []string{readWrite, set, "USE " + ident(a.Database)} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return s.fail(firstWords(statement), err)
		}
	}
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return s.fail("SELECT CONNECTION_ID()", err)
	}
	watching, done := context.WithCancel(ctx)
	defer done()
	if a.Tell != nil {
		go s.tellProgress(watching, id, a.Tell)
	}
	s.log.Debug("statement", "server", s.name, "sql", a.Statement)
	_, err = conn.ExecContext(ctx, marked(a.Mark)+a.Statement)
	if ctx.Err() != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = s.exec(clean, "KILL QUERY "+strconv.FormatUint(id, 10)) // it may have ended
		return s.fail(firstWords(a.Statement), errors.Join(ctx.Err(), s.AwaitAlter(clean, a.Mark, nil)))
	}
	return s.fail(firstWords(a.Statement), err)
}

// lenient is a sql_mode without what refuses values.
func lenient(mode string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(mode, ","), func(m string) bool {
		return slices.Contains([]string{"STRICT_TRANS_TABLES", "STRICT_ALL_TABLES", "NO_ZERO_DATE", "NO_ZERO_IN_DATE", "TRADITIONAL"}, m)
	}), ",")
}

// readWrite lets a session of ours write on a server whose other sessions begin with READ ONLY: see LowerFence.
const readWrite = "SET SESSION TRANSACTION READ WRITE"

// marked is a comment of which the server's list of sessions keeps the text.
func marked(mark string) string { return "/* stowage " + mark + " */ " }

// IsLockTimeout reports whether a statement gave up waiting for a table that others use (error 1205).
func IsLockTimeout(err error) bool { return CodeOf(err) == 1205 }

// AwaitAlter waits until no statement runs on the server any more whose mark is this one, or begins with its words: one whose sender died goes on to its end.
func (s *Server) AwaitAlter(ctx context.Context, mark string, tell func(string)) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	for told := (time.Time{}); ; {
		running, err := s.records(ctx, "SELECT ID AS id, TIME AS seconds FROM "+d.processes+" WHERE ID <> CONNECTION_ID() AND COMMAND <> 'Sleep' AND INFO LIKE "+quote(strings.TrimSuffix(marked(mark), "*/ ")+"%"))
		if err != nil || len(running) == 0 {
			return err
		}
		if tell != nil && time.Since(told) > 2*time.Second {
			told = time.Now()
			tell(fmt.Sprintf("%s still runs a change that was begun %s s ago; waiting for it to end", s.name, running[0]["seconds"]))
		}
		if err := Sleep(ctx, 100*time.Millisecond); err != nil {
			return s.fail("wait for a change", err)
		}
	}
}

// tellProgress says how far a statement is, where the server knows.
func (s *Server) tellProgress(ctx context.Context, id uint64, tell func(string)) {
	d, err := s.dialect(ctx)
	if err != nil || !d.flavor.HasGTIDDomains() {
		return
	}
	began := time.Now()
	for Sleep(ctx, time.Second) == nil {
		var state sql.NullString
		var stage, stages int
		var progress float64
		if s.row(ctx, "SELECT STATE, STAGE, MAX_STAGE, PROGRESS FROM information_schema.PROCESSLIST WHERE ID = ?", []any{id}, &state, &stage, &stages, &progress) != nil {
			return
		}
		text := fmt.Sprintf("%s, %.0f s", strings.TrimSpace(state.String), time.Since(began).Seconds())
		if stages > 0 {
			text += fmt.Sprintf(", stage %d of %d, %.0f %%", stage, stages, progress)
		}
		tell(text)
	}
}

// TableSize is how large a table is, as the server estimates it.
type TableSize struct {
	Rows  int64
	Bytes int64 // data and indexes
}

// TableSizes are those of the tables of some databases.
func (s *Server) TableSizes(ctx context.Context, databases []string) (map[string]map[string]TableSize, error) {
	out := map[string]map[string]TableSize{}
	if len(databases) == 0 {
		return out, nil
	}
	names := make([]string, len(databases))
	for n, d := range databases {
		names[n] = quote(d)
	}
	rows, err := s.recordsSlow(ctx, "SELECT TABLE_SCHEMA AS db, TABLE_NAME AS name, TABLE_ROWS AS n, COALESCE(DATA_LENGTH, 0) + COALESCE(INDEX_LENGTH, 0) AS bytes FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ("+strings.Join(names, ", ")+")")
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		var size TableSize
		size.Rows, _ = strconv.ParseInt(r["n"], 10, 64)
		size.Bytes, _ = strconv.ParseInt(r["bytes"], 10, 64)
		if out[r["db"]] == nil {
			out[r["db"]] = map[string]TableSize{}
		}
		out[r["db"]][r["name"]] = size
	}
	return out, nil
}
