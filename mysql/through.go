package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
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

// Row scans the one row of a query.
func (d Door) Row(ctx context.Context, query string, args []any, into ...any) error {
	return d.row(ctx, query, args, into...)
}

// Records runs a query and returns each row as column name -> text; NULL is absent.
func (d Door) Records(ctx context.Context, query string, args ...any) ([]map[string]string, error) {
	return d.records(ctx, query, args...)
}

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
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
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
