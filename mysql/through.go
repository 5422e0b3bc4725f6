package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"
	"log/slog"
	"strings"
)

// Door is a Server for the packages below this one, which write statements of
// their own. A test at the root sees to it that nobody else opens it.
type Door struct{ *Server }

// Through opens the door.
func Through(s *Server) Door { return Door{s} }

// DB are the server's connections; nil: its address cannot be used.
func (d Door) DB() *sql.DB { return d.db }

// Log is where statements are noted.
func (d Door) Log() *slog.Logger { return d.log }

// Account is what Stowage logs in with.
func (d Door) Account() Account { return d.account }

// Fail dresses an error with operation and subject; nil stays nil.
func (d Door) Fail(op string, err error) error { return d.fail(op, err) }

// Exec runs a statement whose text holds no secret.
func (d Door) Exec(ctx context.Context, statement string, args ...any) error {
	return d.exec(ctx, statement, args...)
}

// Row scans the one row of a query.
func (d Door) Row(ctx context.Context, query string, args []any, into ...any) error {
	return d.row(ctx, query, args, into...)
}

// Records runs a query and returns each row as column name -> text; NULL is absent.
func (d Door) Records(ctx context.Context, query string, args ...any) ([]map[string]string, error) {
	return d.records(ctx, query, args...)
}

// RecordsSlow is Records for what takes as long as there are tables.
func (d Door) RecordsSlow(ctx context.Context, query string, args ...any) ([]map[string]string, error) {
	return d.recordsSlow(ctx, query, args...)
}

// RecordsFresh is Records for sizes of tables, which MySQL answers from a cache.
func (d Door) RecordsFresh(ctx context.Context, query string, args ...any) ([]map[string]string, error) {
	return d.recordsFresh(ctx, query, args...)
}

// Words are the server's own for the variable that says what is in its binary log, and for the table of all sessions.
func (d Door) Words(ctx context.Context) (written, processes string, err error) {
	words, err := d.dialect(ctx)
	return words.written, words.processes, err
}

// Kill ends a session. That it has ended by itself is no failure.
func (d Door) Kill(ctx context.Context, thread uint64) error { return d.kill(ctx, thread) }

// Followed has the connections of a connector report what they send, as the server's own do.
func (d Door) Followed(c sqldriver.Connector) sqldriver.Connector { return door{c, d.Server} }

// RecordsOn is Records on one session.
func RecordsOn(ctx context.Context, conn *sql.Conn, query string) ([]map[string]string, error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return scanRecords(rows)
}

// Discard ends a session that is not to be used again: what was set in it goes with it.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	_ = conn.Close() // it is closed already
}

// FirstWords names an operation by its statement: "STOP SLAVE".
func FirstWords(statement string) string { return firstWords(statement) }

// Quote is a string literal.
func Quote(text string) string { return quote(text) }

// Ident is a quoted identifier.
func Ident(name string) string { return ident(name) }

// ParseFlavor reads what VERSION() says.
func ParseFlavor(version string) Flavor { return parseFlavor(version) }

// Number is a number in a record, 0 where there is none.
func Number(text string) uint32 { return number(text) }

// Tell reports a statement, of which there can be millions, to whoever follows
// ctx, by its first words and no values: it is not ours and may hold anything.
func (d Door) Tell(ctx context.Context, what, statement string) {
	if told, ok := ctx.Value(trailKey{}).(func(Sent)); ok && changes(statement) {
		told(Sent{Server: d.name, Address: d.address, Statement: what + " " + opening(statement) + " ...", Rows: true})
	}
}

// TellRows reports rows before they are sent, by what they are and without their values, and returns what is to be told their
// error. often: the trail may count them. A server puts values into its messages, so of those the number stays.
func (d Door) TellRows(ctx context.Context, what string, often bool) func(error) {
	told, ok := ctx.Value(trailKey{}).(func(Sent))
	if !ok {
		return func(error) {}
	}
	s := Sent{Server: d.name, Address: d.address, Statement: what, Rows: often}
	if len(s.Statement) > maxStatement {
		s.Statement = strings.ToValidUTF8(s.Statement[:maxStatement], "") + " ..."
	}
	told(s)
	return func(err error) {
		if err == nil {
			return
		}
		if s.Err = err; CodeOf(err) != 0 {
			s.Err = fmt.Errorf("error %d", CodeOf(err))
		}
		told(s)
	}
}
