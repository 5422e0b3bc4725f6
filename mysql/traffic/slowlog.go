package traffic

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/mysql"
)

// slowLogSettings are the global variables that decide what the slow log
// holds, in the order in which a recording sets them: the file first, so that
// nothing of ours gets into the file of before; the switch last, so that a
// session which meets it on has met all the others. A server that does not
// have one is not asked to.
//
// What has only been written for MySQL and Percona Server stands here by
// their manuals (8.0, 8.4, 9.x); MariaDB's is tested with 10.11.
var slowLogSettings = []struct {
	name    string
	ours    string // value while a window is recorded
	numeric bool   // SET takes it without quotes
}{
	{"slow_query_log_file", "", false}, // a file of the recording's own
	{"max_slowlog_size", "0", true},    // Percona: the server must not rotate files of ours
	{"log_output", "FILE", false},
	{"long_query_time", "0", true},
	{"min_examined_row_limit", "0", true},
	{"log_slow_filter", "", false}, // an empty set filters nothing
	// MySQL: with it on, log_throttle_queries_not_using_indexes would drop
	// statements however slow they are (log_slow_applicable in sql/log.cc).
	{"log_queries_not_using_indexes", "OFF", false},
	// MariaDB: what a client sent counts once, as the CALL it sent; what
	// replication applies is another server's traffic.
	{"log_slow_disabled_statements", "slave,sp", false},
	{"log_slow_admin_statements", "ON", false},
	{"log_slow_rate_limit", "1", true},
	// Full scans, temporary tables and sorts; never plans (explain), which
	// cost more than the statement's line.
	{"log_slow_verbosity", "query_plan", false},
	{"log_slow_extra", "ON", false}, // MySQL 8.0.14: rows and bytes sent
	// Percona: sessions that are connected already obey the global values.
	{"slow_query_log_use_global_control", "all", false},
	{"slow_query_log", "ON", false},
}

// SlowLogSetting is one global variable that a recording changes.
type SlowLogSetting struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	Ours string `json:"ours"`
}

// SlowLog is one session on a server that reads and sets what its slow log
// holds. Its own statements stay out of that log: the session's own
// long_query_time is a year. It is safe for several goroutines, which take
// turns, and connects again when its connection was lost.
type SlowLog struct {
	server mysql.Door
	turn   chan struct{}
	conn   *sql.Conn
	thread uint64
	flavor mysql.Flavor
}

// slowLogTimeout bounds each statement: a server that does not answer in this
// time is one to leave alone.
const slowLogTimeout = 10 * time.Second

// OpenSlowLog opens the session. Close it.
func OpenSlowLog(ctx context.Context, s *mysql.Server) (*SlowLog, error) {
	l := &SlowLog{server: mysql.Through(s), turn: make(chan struct{}, 1)}
	err := l.do(ctx, "connect", func(context.Context, *sql.Conn) error { return nil })
	return l, err
}

// Close ends the session.
func (l *SlowLog) Close() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.drop()
	return nil
}

// drop closes the connection for good, rather than giving a session with an
// odd long_query_time back to the pool.
func (l *SlowLog) drop() {
	if l.conn == nil {
		return
	}
	mysql.Discard(l.conn)
	l.conn = nil
}

// Thread is the id of the session on the server.
func (l *SlowLog) Thread() uint64 { return l.thread }

// do runs work on the session; a connection that had gone is made again, once.
// Everything that is run so may be run twice.
func (l *SlowLog) do(ctx context.Context, op string, work func(context.Context, *sql.Conn) error) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.server.DB() == nil {
		return l.server.Fail(op, errors.New("unusable address"))
	}
	err := l.once(ctx, work)
	if errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, driver.ErrInvalidConn) {
		l.drop()
		err = l.once(ctx, work)
	}
	return l.server.Fail(op, err)
}

func (l *SlowLog) once(ctx context.Context, work func(context.Context, *sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, slowLogTimeout)
	defer cancel()
	if l.conn == nil {
		conn, err := l.server.DB().Conn(ctx)
		if err != nil {
			return err
		}
		l.conn = conn
		_, err = conn.ExecContext(ctx, "SET SESSION long_query_time = 31536000")
		var version string
		if err == nil {
			err = conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), @@version").Scan(&l.thread, &version)
		}
		if err != nil {
			l.drop()
			return err
		}
		l.flavor = mysql.ParseFlavor(version)
	}
	return work(ctx, l.conn)
}

func (l *SlowLog) records(ctx context.Context, query string) (out []map[string]string, err error) {
	err = l.do(ctx, mysql.FirstWords(query), func(ctx context.Context, conn *sql.Conn) error {
		out, err = mysql.RecordsOn(ctx, conn, query)
		return err
	})
	return out, err
}

// variables reads global variables by name; one the server does not have is
// absent.
func (l *SlowLog) variables(ctx context.Context, names ...string) (map[string]string, error) {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = mysql.Quote(n)
	}
	records, err := l.records(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ("+strings.Join(quoted, ",")+")")
	out := map[string]string{}
	for _, r := range records {
		out[r["Variable_name"]] = r["Value"]
	}
	return out, err
}

// Settings are the present values of what decides what the slow log holds,
// of those variables that this server has.
func (l *SlowLog) Settings(ctx context.Context) (map[string]string, error) {
	var names []string
	for _, v := range slowLogSettings {
		names = append(names, v.name)
	}
	return l.variables(ctx, names...)
}

// Plan is what has to be set, in this order, for every statement of a client
// to reach the log, which will be file; with sample > 1, every sample-th. What
// has its value already is not in it. It changes nothing.
func (l *SlowLog) Plan(ctx context.Context, file string, sample int) ([]SlowLogSetting, error) {
	now, err := l.Settings(ctx)
	if err != nil {
		return nil, err
	}
	if _, can := now["log_slow_rate_limit"]; !can && sample > 1 {
		return nil, l.server.Fail("plan recording", fmt.Errorf("%w: this server has no log_slow_rate_limit and cannot log a sample", farm.ErrInput))
	}
	var plan []SlowLogSetting
	for _, v := range slowLogSettings {
		old, has := now[v.name]
		ours := v.ours
		switch v.name {
		case "slow_query_log_file":
			ours = file
		case "log_slow_rate_limit":
			ours = strconv.Itoa(max(1, sample))
		case "log_slow_filter":
			has = has && !isNoFilter(old)
		case "log_slow_admin_statements", "log_queries_not_using_indexes":
			// MariaDB shows one bit of log_slow_disabled_statements and one of
			// log_slow_filter under these names.
			has = has && l.flavor.Vendor != "MariaDB"
		}
		if has && !SameSetting(old, ours) {
			plan = append(plan, SlowLogSetting{v.name, old, ours})
		}
	}
	return plan, nil
}

// isNoFilter knows MariaDB's default: every statement either hits the query
// cache or misses it, so a filter with both lets everything through.
func isNoFilter(filter string) bool {
	set := setOf(filter)
	return slices.Contains(set, "query_cache") && slices.Contains(set, "query_cache_miss")
}

// Misses reports whether sessions that are connected already stay out of the
// log when a plan is carried out: a session takes these values when it
// connects. Percona's global control spares them that. Where nothing of the
// kind changes, sessions are taken to have what they met.
func (l *SlowLog) Misses(plan []SlowLogSetting) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(plan, func(p SlowLogSetting) bool { return p.Name == name })
	}
	if has("slow_query_log_use_global_control") {
		return false
	}
	if has("slow_query_log") && l.flavor.Vendor == "MariaDB" { // a global switch only in MySQL
		return true
	}
	for _, p := range plan {
		// More than ours wants is logged for a session that does not disable these.
		if set := setOf(p.Old); p.Name == "log_slow_disabled_statements" && (slices.Contains(set, "admin") || slices.Contains(set, "call")) {
			return true
		}
	}
	return has("long_query_time") || has("min_examined_row_limit") || has("log_slow_filter") || has("log_slow_rate_limit")
}

// SameSetting reports whether two texts are the same value of a variable: 0
// and 0.000000, sets in any order, any case.
func SameSetting(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return x == y
	}
	return slices.Equal(setOf(a), setOf(b))
}

func setOf(text string) []string {
	words := strings.Split(strings.ToLower(text), ",")
	slices.Sort(words)
	return words
}

// Set sets one of the variables of Plan for this run of the server: not
// written to the binary log, not kept over a restart. Safe to run again.
func (l *SlowLog) Set(ctx context.Context, name, value string) error {
	for _, v := range slowLogSettings {
		if v.name != name {
			continue
		}
		if _, err := strconv.ParseFloat(value, 64); err != nil || !v.numeric {
			value = mysql.Quote(value)
		}
		statement := "SET GLOBAL " + name + " = " + value
		l.server.Log().Debug("statement", "server", l.server.Name(), "sql", statement)
		return l.do(ctx, statement, func(ctx context.Context, conn *sql.Conn) error {
			_, err := conn.ExecContext(ctx, statement)
			return err
		})
	}
	return l.server.Fail("set "+name, fmt.Errorf("%w: no variable of the slow log", farm.ErrInput))
}

// File is the file the slow log goes to now and whether it is on.
func (l *SlowLog) File(ctx context.Context) (file string, on bool, err error) {
	err = l.do(ctx, "read slow_query_log_file", func(ctx context.Context, conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, "SELECT @@GLOBAL.slow_query_log_file, @@GLOBAL.slow_query_log").Scan(&file, &on)
	})
	return file, on, err
}

// LogPlace is where a server's logs lie, and what else writes there.
type LogPlace struct {
	Datadir    string
	Output     string // log_output
	GeneralLog bool   // it obeys log_output too
}

// LogPlace reads where logs go.
func (l *SlowLog) LogPlace(ctx context.Context) (LogPlace, error) {
	v, err := l.variables(ctx, "datadir", "log_output", "general_log")
	return LogPlace{v["datadir"], v["log_output"], strings.EqualFold(v["general_log"], "ON")}, err
}

// MayRecord is nil when the account may do what a recording does. It sets a
// variable to the value it has, which is the one certain way to know: roles
// and the many names of one privilege make grants hard to read.
func (l *SlowLog) MayRecord(ctx context.Context) error {
	for _, need := range []struct{ privilege, what, statement string }{
		{"SUPER (MySQL 8 and later: SYSTEM_VARIABLES_ADMIN)", "sets the slow log's variables", "SET GLOBAL long_query_time = @@GLOBAL.long_query_time"},
		{"PROCESS", "counts the sessions that are not recorded", "SELECT 1 FROM information_schema.INNODB_CMP LIMIT 1"},
	} {
		_, err := l.records(ctx, need.statement)
		if mysql.IsDenied(err) {
			return &farm.Error{Op: "record", Subject: fmt.Sprintf("%s (%s)", l.server.Name(), l.server.Address()),
				Err:  fmt.Errorf("%w: account %s lacks the privilege %s, which %s", farm.ErrInput, l.server.Account().User, need.privilege, need.what),
				Hint: "GRANT it ON *.*; docs/reference/privileges.md says what for"}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ClientSession is a connection of a client.
type ClientSession struct {
	Thread uint64
	Host   string // ip:port; "localhost" over the server's own socket
}

// ClientSessions are the connections of clients, without this one, replicas
// and the server's own threads.
func (l *SlowLog) ClientSessions(ctx context.Context) ([]ClientSession, error) {
	records, err := l.records(ctx, `SELECT ID, HOST FROM information_schema.PROCESSLIST
		WHERE USER NOT IN ('system user', 'event_scheduler', 'unauthenticated user')
		AND COMMAND NOT IN ('Binlog Dump', 'Binlog Dump GTID', 'Daemon') AND ID <> CONNECTION_ID()`)
	var out []ClientSession
	for _, r := range records {
		thread, _ := strconv.ParseUint(r["ID"], 10, 64)
		out = append(out, ClientSession{thread, r["HOST"]})
	}
	return out, err
}

// Self is where the server sees this session come from: ip:port.
func (l *SlowLog) Self(ctx context.Context) (from string, err error) {
	err = l.do(ctx, "read processlist", func(ctx context.Context, conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, "SELECT HOST FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()").Scan(&from)
	})
	return from, err
}

// Running is Threads_running, this session included.
func (l *SlowLog) Running(ctx context.Context) (int, error) {
	v, err := l.counter(ctx, "Threads_running")
	return int(v), err
}

// Uptime is how long the server has been running, in whole seconds.
func (l *SlowLog) Uptime(ctx context.Context) (time.Duration, error) {
	v, err := l.counter(ctx, "Uptime")
	return time.Duration(v) * time.Second, err
}

func (l *SlowLog) counter(ctx context.Context, name string) (int64, error) {
	records, err := l.records(ctx, "SHOW GLOBAL STATUS LIKE "+mysql.Quote(name))
	if err != nil || len(records) == 0 {
		return 0, err
	}
	n, err := strconv.ParseInt(records[0]["Value"], 10, 64)
	return n, l.server.Fail("read "+name, err)
}

// Lag is how far the server is behind the source that it is furthest behind;
// 0 when it follows nobody, or is not told.
func (l *SlowLog) Lag(ctx context.Context) (time.Duration, error) {
	records, err := l.records(ctx, "SHOW ALL SLAVES STATUS")
	var refused *driver.MySQLError
	if errors.As(err, &refused) && refused.Number == 1064 { // not MariaDB
		records, err = l.records(ctx, "SHOW REPLICA STATUS") // MySQL since 8.0.22
	}
	var worst time.Duration
	for _, r := range records {
		for _, name := range []string{"Seconds_Behind_Master", "Seconds_Behind_Source"} {
			if n, bad := strconv.Atoi(r[name]); bad == nil {
				worst = max(worst, time.Duration(n)*time.Second)
			}
		}
	}
	return worst, err
}
