package traffic

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/digest"
	"stowage/farm"
	"stowage/mysql"
)

// Statements is one session that reads what a server remembers of statements: its log tables and performance_schema. It
// only reads. It is not safe for several goroutines.
//
// What it sends itself must not count. Comments and literals do not survive in the server's normalised text, names do: so
// every statement here has a column named ownMark, in the log tables and in performance_schema alike, and whatever has
// that name in it is left out, whichever session sent it. The one statement that cannot carry it is the SET with which
// each of our connections begins.
type Statements struct {
	server  mysql.Door
	conn    *sql.Conn
	thread  uint64
	opened  time.Time // by the server's clock
	flavor  mysql.Flavor
	facts   map[string]string // global variables
	account string            // as grants name it

	// Own is how many statements of Stowage's own were left out of log tables and rings so far.
	Own uint64
}

const ownMark = "stowage_reading"

// readingVariables are the global variables that decide what there is to read.
var readingVariables = []string{"version", "performance_schema", "slow_query_log", "general_log", "log_output", "time_zone", "system_time_zone",
	"performance_schema_events_statements_history_long_size", "performance_schema_events_statements_history_size",
	"performance_schema_max_sql_text_length"}

// OpenStatements opens the session. Close it.
func OpenStatements(ctx context.Context, server *mysql.Server) (*Statements, error) {
	s := mysql.Through(server)
	if s.DB() == nil {
		return nil, s.Fail("connect", errors.New("unusable address"))
	}
	conn, err := s.DB().Conn(ctx)
	if err != nil {
		return nil, s.Fail("connect", err)
	}
	r := &Statements{server: s, conn: conn, facts: map[string]string{}}
	if err := r.begin(ctx); err != nil {
		return nil, errors.Join(s.Fail("read settings", err), r.Close())
	}
	return r, nil
}

func (r *Statements) begin(ctx context.Context) error {
	names := make([]string, len(readingVariables))
	for i, n := range readingVariables {
		names[i] = mysql.Quote(n)
	}
	err := r.each(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ("+strings.Join(names, ",")+") AND (SELECT 1 AS "+ownMark+") = 1", func(c cells) error {
		r.facts[c.text("Variable_name")] = c.text("Value")
		return nil
	})
	if err != nil {
		return err
	}
	r.flavor = mysql.ParseFlavor(r.facts["version"])
	return r.each(ctx, "SELECT CONNECTION_ID() AS "+ownMark+", UNIX_TIMESTAMP(NOW(6)) AS now, CURRENT_USER() AS account", func(c cells) error {
		r.thread, r.opened, r.account = c.number(ownMark), c.instant("now"), c.text("account")
		return nil
	})
}

// Close ends the session for good: it may have a time zone that the pool's other sessions do not have.
func (r *Statements) Close() error {
	mysql.Discard(r.conn)
	return nil
}

// Dialect is vendor and version.
func (r *Statements) Dialect() string { return r.flavor.String() }

// LogTable is how a log table stands.
type LogTable struct {
	Engine    string
	IsWritten bool   // the server writes to it now
	Why       string // it does not
	Zone      string // time_zone that sessions have from the server
	Now       time.Time
}

// IsWallClock says that rows hold a time of day rather than an instant. Measured on MariaDB 10.11.19: in a CSV table,
// which both log tables are unless somebody has changed it, start_time is the time of day in the time_zone of the session
// that logged the row, whatever time_zone the server has; a MyISAM or Aria table holds the instant.
func (t LogTable) IsWallClock() bool { return t.Engine == "CSV" }

// LogTable asks how mysql.slow_log or mysql.general_log stands, and gets ready to read it.
func (r *Statements) LogTable(ctx context.Context, name string) (LogTable, error) {
	t := LogTable{Zone: r.facts["time_zone"]}
	if t.Zone == "SYSTEM" {
		t.Zone += " (" + r.facts["system_time_zone"] + ")"
	}
	onOff := map[string]string{"slow_log": "slow_query_log", "general_log": "general_log"}[name]
	switch {
	case !slices.Contains(strings.Split(r.facts["log_output"], ","), "TABLE"):
		t.Why = "log_output is " + r.facts["log_output"]
	case r.facts[onOff] != "ON":
		t.Why = onOff + " is " + r.facts[onOff]
	default:
		t.IsWritten = true
	}
	// Sessions have the server's zone unless they set their own, and UNIX_TIMESTAMP reads a time of day by ours.
	if _, err := r.conn.ExecContext(ctx, "SET time_zone = (SELECT @@GLOBAL.time_zone AS "+ownMark+")"); err != nil {
		return t, r.server.Fail("SET time_zone", err)
	}
	grant := "SELECT ON mysql." + name
	err := r.each(ctx, "SELECT ENGINE AS "+ownMark+", UNIX_TIMESTAMP(NOW(6)) AS now FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME = "+mysql.Quote(name),
		func(c cells) error { t.Engine, t.Now = c.text(ownMark), c.instant("now"); return nil })
	if err == nil && t.Engine == "" {
		// A table without a privilege on it is not listed. Asking for a row brings the server's own words.
		err = r.each(ctx, "SELECT 1 AS "+ownMark+" FROM mysql."+name+" LIMIT 1", func(cells) error { return nil })
	}
	return t, r.fail("read mysql."+name, grant, err)
}

// zoneMargin is how far apart two time zones can be. A condition on start_time of a CSV table is widened by it; whoever
// takes the rows cuts exactly.
const zoneMargin = 26 * time.Hour

// where is the condition of a window of time. Zero times are no bounds.
func (t LogTable) where(column string, since, until time.Time) string {
	margin := time.Duration(0)
	if t.IsWallClock() {
		margin = zoneMargin
	}
	var parts []string
	if !since.IsZero() {
		parts = append(parts, column+" >= "+fromUnix(since.Add(-margin)))
	}
	if !until.IsZero() {
		parts = append(parts, column+" < "+fromUnix(until.Add(margin)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(parts, " AND ")
}

func fromUnix(t time.Time) string {
	return fmt.Sprintf("FROM_UNIXTIME(%d.%06d)", t.Unix(), t.Nanosecond()/1000)
}

// SlowLogRows visits the rows of mysql.slow_log, as LogTable has found it, in the order in which they were written. Rows
// stream: neither side holds more than a few of them, and sessions go on logging meanwhile; TRUNCATE, RENAME and ALTER of
// the log table wait until the reading ends. The statement given to visit is valid until it returns.
func (r *Statements) SlowLogRows(ctx context.Context, t LogTable, since, until time.Time, visit func(*digest.Statement) error) error {
	query := "SELECT UNIX_TIMESTAMP(start_time) AS " + ownMark + ", l.* FROM mysql.slow_log l" + t.where("start_time", since, until)
	var s digest.Statement
	names := userMemo{}
	err := r.each(ctx, query, func(c cells) error {
		s = digest.Statement{
			Query: c.raw("sql_text"), At: c.instant(ownMark), Time: timeOfDay(c.raw("query_time")), Timed: true, Thread: c.number("thread_id"),
			DB: c.text("db"), LockTime: timeOfDay(c.raw("lock_time")), RowsSent: c.number("rows_sent"), RowsExamined: c.number("rows_examined"),
			RowsAffected: c.number("rows_affected"),
		}
		if r.isOwn(s.Query, s.Thread, s.At) {
			return nil
		}
		s.User, s.Host = names.split(c.raw("user_host"))
		if isCommand(s.Query) {
			s.Admin, s.Query = true, append([]byte("administrator command: "), s.Query...)
		}
		return visit(&s)
	})
	return r.fail("read mysql.slow_log", "SELECT ON mysql.slow_log", err)
}

// GeneralLogRows visits the rows of mysql.general_log, in the manner of SlowLogRows.
func (r *Statements) GeneralLogRows(ctx context.Context, t LogTable, since, until time.Time, visit func(*digest.Command) error) error {
	query := "SELECT UNIX_TIMESTAMP(event_time) AS " + ownMark + ", l.* FROM mysql.general_log l" + t.where("event_time", since, until)
	var cmd digest.Command
	err := r.each(ctx, query, func(c cells) error {
		cmd = digest.Command{At: c.instant(ownMark), Thread: c.number("thread_id"), UserHost: c.text("user_host"), Name: c.text("command_type"), Argument: c.raw("argument")}
		if r.isOwn(cmd.Argument, cmd.Thread, cmd.At) {
			return nil
		}
		return visit(&cmd)
	})
	return r.fail("read mysql.general_log", "SELECT ON mysql.general_log", err)
}

// isOwn says whether a statement is one of ours. Thread ids begin again with the server: only rows that are younger than
// this session can be the session's.
func (r *Statements) isOwn(text []byte, thread uint64, at time.Time) bool {
	own := thread == r.thread && !at.Before(r.opened.Add(-time.Second)) || bytes.Contains(text, []byte(ownMark)) || isOwnSet(text)
	if own {
		r.Own++
	}
	return own
}

// isOwnSet knows the statement that a connection of Open begins with; its variables come in any order.
func isOwnSet(text []byte) bool {
	return bytes.HasPrefix(text, []byte("SET ")) && len(text) < 250 && bytes.Contains(text, []byte("lock_wait_timeout")) &&
		bytes.Contains(text, []byte("sql_mode")) && bytes.Contains(text, []byte("time_zone"))
}

// commands are what log tables hold instead of a statement where the client sent none: names of the protocol's commands.
var commands = []string{"Sleep", "Quit", "Init DB", "Field List", "Create DB", "Drop DB", "Refresh", "Shutdown", "Statistics", "Processlist",
	"Connect", "Kill", "Debug", "Ping", "Time", "Delayed insert", "Change user", "Binlog Dump", "Table Dump", "Connect Out", "Register Slave",
	"Register Replica", "Prepare", "Execute", "Long Data", "Close stmt", "Reset stmt", "Set option", "Fetch", "Daemon", "Reset connection",
	"Reset Connection", "Binlog Dump GTID"}

func isCommand(text []byte) bool { return len(text) < 20 && slices.Contains(commands, string(text)) }

// userMemo remembers users: most rows have the same few.
type userMemo map[string][2]string

func (m userMemo) split(userHost []byte) (user, host string) {
	if known, ok := m[string(userHost)]; ok {
		return known[0], known[1]
	}
	user, host = digest.SplitUser(string(userHost))
	if len(m) < 10_000 {
		m[string(userHost)] = [2]string{user, host}
	}
	return user, host
}

// timeOfDay reads a TIME(6): 00:00:01.234567, up to 838:59:59.
func timeOfDay(b []byte) time.Duration {
	parts := bytes.SplitN(b, []byte(":"), 3)
	if len(parts) != 3 {
		return 0
	}
	hours, err1 := strconv.ParseUint(string(parts[0]), 10, 16)
	minutes, err2 := strconv.ParseUint(string(parts[1]), 10, 8)
	seconds, ok := decimal(parts[2], 9)
	if err1 != nil || err2 != nil || !ok {
		return 0
	}
	return time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute + time.Duration(seconds)
}

// decimal reads a number with so many digits behind the point as a whole one: "1.5" with 9 is 1,500,000,000.
func decimal(b []byte, digits int) (int64, bool) {
	whole, fraction, _ := bytes.Cut(b, []byte("."))
	if len(fraction) > digits {
		fraction = fraction[:digits]
	}
	text := string(whole) + string(fraction) + strings.Repeat("0", digits-len(fraction))
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// fail names the grant where it is what was missing.
func (r *Statements) fail(op, grant string, err error) error {
	var my *driver.MySQLError
	if errors.As(err, &my) && (my.Number == 1142 || my.Number == 1143 || my.Number == 1044 || my.Number == 1227) {
		user, host, _ := strings.Cut(r.account, "@")
		return &farm.Error{Op: op, Subject: string(r.server.Name()), Err: fmt.Errorf("%w: %w", farm.ErrInput, err),
			Hint: fmt.Sprintf("GRANT %s TO %s@%s", grant, mysql.Quote(user), mysql.Quote(host))}
	}
	return r.server.Fail(op, err)
}

// cells is one row, by column name in lower case. It is valid until the next.
type cells struct {
	columns map[string]int
	values  []sql.RawBytes
}

func (c cells) raw(name string) []byte {
	if i, ok := c.columns[strings.ToLower(name)]; ok {
		return c.values[i]
	}
	return nil
}

func (c cells) text(name string) string { return string(c.raw(name)) }

func (c cells) number(name string) uint64 {
	n, _ := strconv.ParseUint(c.text(name), 10, 64)
	return n
}

// instant reads what UNIX_TIMESTAMP gives; nothing, or the zero date, is the zero time.
func (c cells) instant(name string) time.Time {
	n, ok := decimal(c.raw(name), 6)
	if !ok || n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// each runs a query and visits its rows as they come in. An error of visit ends it.
func (r *Statements) each(ctx context.Context, query string, visit func(cells) error) error {
	r.server.Log().Debug("statement", "server", r.server.Name(), "sql", query)
	rows, err := r.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	c := cells{columns: map[string]int{}, values: make([]sql.RawBytes, len(names))}
	into := make([]any, len(names))
	for i, n := range names {
		c.columns[strings.ToLower(n)] = i
		into[i] = &c.values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := visit(c); err != nil {
			return err
		}
	}
	return rows.Err()
}
