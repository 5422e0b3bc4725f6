package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
)

// Server is one running instance, reached over the network with Stowage's own
// account. It is safe for several goroutines.
type Server struct {
	name    farm.InstanceName
	address string
	account Account
	db      *sql.DB
	log     *slog.Logger
	speaks  atomic.Pointer[dialect] // nil until asked
	watched atomic.Bool             // MySQL: performance_schema is known to see what openWork needs
	asked   atomic.Uint64           // statements sent, as the server counts them
}

// StatementTimeout bounds a statement that should be quick. A frozen host
// answers nothing at all, and without a bound we would wait with it.
const StatementTimeout = 30 * time.Second

// Open prepares to talk to an instance at host:port. It does not dial; the
// first statement does.
func Open(name farm.InstanceName, address string, account Account, log *slog.Logger) *Server {
	account = account.At(address)
	connector, err := Connector(address, account, func(cfg *driver.Config) {
		cfg.InterpolateParams = true // one round trip a statement; values are ours
		cfg.Params = map[string]string{
			"lock_wait_timeout": "10",
			// Literals read as we quote them, and times that mean the same on
			// every server, whatever its own settings are.
			"sql_mode":  "'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
			"time_zone": "'+00:00'",
		}
	})
	if err != nil { // only an unusable Config; ours is fixed but for strings
		connector = nil
	}
	s := &Server{name: name, address: address, account: account, log: log}
	var db *sql.DB
	if connector != nil {
		db = sql.OpenDB(door{connector, s})
		db.SetMaxOpenConns(6)
		db.SetMaxIdleConns(2)
		db.SetConnMaxIdleTime(5 * time.Second)
	}
	s.db = db
	return s
}

// Again is the same server over connections of its own: for whoever goes on when s is closed.
func (s *Server) Again() *Server { return Open(s.name, s.address, s.account, s.log) }

func quiet() driver.Logger { return log.New(io.Discard, "", 0) }

// Name is the instance's name.
func (s *Server) Name() farm.InstanceName { return s.name }

// Address is host:port.
func (s *Server) Address() string { return s.address }

// Close drops the connections.
func (s *Server) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// Ping reports whether the server takes a login.
func (s *Server) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	if s.db == nil {
		return s.fail("connect", errors.New("unusable address"))
	}
	return s.fail("connect", s.db.PingContext(ctx))
}

// answerLimit is within what a server that is well takes a login, however busy it is.
const answerLimit = 5 * time.Second

// Answers is nil when the server takes a login within seconds. Asked first, a server that hangs costs those, and not the time of a statement.
func (s *Server) Answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, errHangs)
	defer cancel()
	err := s.Ping(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errHangs) {
		return s.fail("connect", errHangs)
	}
	return err
}

var errHangs = fmt.Errorf("no answer within %v: the server or its machine hangs", answerLimit)

// fail dresses an error with operation and subject; nil stays nil.
func (s *Server) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &farm.Error{Op: op, Subject: fmt.Sprintf("%s (%s)", s.name, s.address), Err: err, Hint: hintFor(err)}
}

func hintFor(err error) string {
	var my *driver.MySQLError
	var op *net.OpError
	switch {
	case errors.As(err, &my) && my.Number == 1045:
		return "check the [stowage] group of the accounts file and the grants on this server"
	case errors.As(err, &my) && my.Number == 3159:
		return "the server takes logins over TLS only: name the CA of its certificate in the accounts file, ssl-ca=FILE"
	case errors.As(err, &my) && (my.Number == 1227 || my.Number == 1142):
		return "the [stowage] account lacks a privilege; docs/reference/privileges.md lists them"
	case errors.As(err, &op) && op.Op == "dial":
		return "is the instance running and does farm.yaml have its address and port?"
	}
	return ""
}

// exec runs a statement whose text holds no secret.
func (s *Server) exec(ctx context.Context, statement string, args ...any) error {
	s.log.Debug("statement", "server", s.name, "sql", statement)
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	_, err := s.db.ExecContext(ctx, statement, args...)
	return s.fail(firstWords(statement), err)
}

// row scans the one row of a query.
func (s *Server) row(ctx context.Context, query string, args []any, into ...any) error {
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	return s.fail(firstWords(query), s.db.QueryRowContext(ctx, query, args...).Scan(into...))
}

// records runs a query and returns each row as column name -> text; NULL is
// absent. For small answers such as SHOW ... STATUS, whose columns differ by
// version.
func (s *Server) records(ctx context.Context, query string, args ...any) ([]map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	return s.recordsSlow(ctx, query, args...)
}

// recordsSlow is records for what takes as long as there are tables.
func (s *Server) recordsSlow(ctx context.Context, query string, args ...any) ([]map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.fail(firstWords(query), err)
	}
	defer rows.Close()
	out, err := scanRecords(rows)
	return out, s.fail(firstWords(query), err)
}

func scanRecords(rows *sql.Rows) ([]map[string]string, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []map[string]string
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		record := map[string]string{}
		for i, c := range cells {
			if c.Valid {
				record[columns[i]] = c.String
			}
		}
		out = append(out, record)
	}
	return out, rows.Err()
}

// firstWords names an operation by its statement: "STOP SLAVE".
func firstWords(statement string) string {
	words := strings.Fields(statement)
	return strings.Join(words[:min(3, len(words))], " ")
}

// quote is a string literal.
func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// ident is a quoted identifier.
func ident(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// WillStay reports whether a server refused a statement for a reason that does
// not go away by asking again: a privilege that is missing (1142, 1143, 1227), a
// statement or a variable that it does not know (1064, 1193). A refused login
// (1045) is not among them: a server that just starts says so, too.
func WillStay(err error) bool {
	return slices.Contains([]uint16{1064, 1142, 1143, 1193, 1227}, CodeOf(err))
}

// IsMadeAlready reports whether a server refused an ALTER TABLE because what it
// adds is there (a column, key, partition, foreign key or check of that name),
// or what it drops is not.
func IsMadeAlready(err error) bool {
	return slices.Contains([]uint16{1060, 1061, 1091, 1507, 1517, 1826, 3822}, CodeOf(err))
}

// IsDenied reports whether a server refused a statement for want of a
// privilege.
func IsDenied(err error) bool {
	return slices.Contains([]uint16{1227, 1142}, CodeOf(err))
}

// CodeOf is the server's error number in err, or 0.
func CodeOf(err error) uint16 {
	var said *driver.MySQLError
	if errors.As(err, &said) {
		return said.Number
	}
	return 0
}

// AccountRemedy says what to do where a server does not let the account of group
// [stowage] in, or lets it do too little. It is "" for all other errors.
func AccountRemedy(err error) string {
	switch CodeOf(err) {
	case 1045, 1698:
		return "make the account of group [stowage] there, or correct the accounts file: docs/reference/privileges.md"
	case 1044, 1142, 1227, 1370:
		return "grant it to the account of group [stowage]: docs/reference/privileges.md"
	case 1129, 1130:
		return "let this machine log in there: the account's host part, or FLUSH HOSTS"
	}
	return ""
}
