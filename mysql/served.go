package mysql

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// ServedSource is where a server tells how the statements of its clients fared.
type ServedSource string

// The sources, the one that tells most first. None is switched on here: they cost a server 5 to 30 % of what it can do (measured on
// MariaDB 10.11, point selects from memory).
const (
	StatementEvents ServedSource = "performance_schema"  // by kind of statement: how many, errors, time
	ResponseTimes   ServedSource = "QUERY_RESPONSE_TIME" // MariaDB's plugin: a histogram of all statements
	UserStatistics  ServedSource = "userstat"            // MariaDB: how many statements and their time, all kinds in one
)

// Served is what a server has counted of its clients' statements since it was started, or since somebody reset the counters.
// Stowage's own are not among them.
type Served struct {
	Source ServedSource
	Kinds  map[string]ServedKind // by name of the event: statement/sql/select. Of UserStatistics: one
	Times  []ServedTimes         // of ResponseTimes, the quickest first

	// Accounts are those that UserStatistics has in Kinds, each by itself, and Sending those that are left out: a thread of theirs sends a binary log.
	// The time of such a thread counts as time of statements, and it makes none.
	Accounts map[string]ServedKind `json:",omitempty"`
	Sending  []string              `json:",omitempty"`

	asked uint64 // ResponseTimes counts ours, too: so many
}

// ServedKind is one kind of statement.
type ServedKind struct {
	Statements, Errors uint64
	Time               time.Duration // of all together
}

// ServedTimes are the statements that took at most Upper, and longer than the line before.
type ServedTimes struct {
	Upper      time.Duration
	Statements uint64
	Time       time.Duration // of all together
}

// anyCommand is the one kind that userstat knows.
const anyCommand = "all statements"

// ServedSources are the sources that a server offers as it is set now, the best first. What its account may not read is not offered.
func (s *Server) ServedSources(ctx context.Context) ([]ServedSource, error) {
	is, err := s.Variables(ctx, "performance_schema", "performance_schema_users_size", "query_response_time_stats", "userstat")
	if err != nil {
		return nil, err
	}
	var out []ServedSource
	for _, x := range []struct {
		source ServedSource
		on     bool
		counts string // a query that says 1 where the source counts
	}{
		{StatementEvents, is["performance_schema"] == "ON" && is["performance_schema_users_size"] != "0",
			`SELECT (SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE ENABLED = 'YES' AND NAME IN ('global_instrumentation', 'thread_instrumentation')) = 2
			AND (SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE ENABLED = 'YES' AND TIMED = 'YES' AND NAME IN ('statement/sql/select', 'statement/com/Execute')) = 2 AS counts`},
		{ResponseTimes, is["query_response_time_stats"] == "ON",
			`SELECT COUNT(*) = 2 AS counts FROM information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_NAME IN ('QUERY_RESPONSE_TIME', 'QUERY_RESPONSE_TIME_AUDIT')`},
		{UserStatistics, is["userstat"] == "ON", "SELECT 1 AS counts"},
	} {
		if !x.on {
			continue
		}
		records, err := s.records(ctx, x.counts)
		if err == nil && len(records) == 1 && records[0]["counts"] == "1" {
			_, err = s.Served(ctx, x.source)
			if err == nil {
				out = append(out, x.source)
			}
		}
		if err != nil && !WillStay(err) {
			return nil, err
		}
	}
	return out, nil
}

// Served reads the counters of a source.
func (s *Server) Served(ctx context.Context, source ServedSource) (Served, error) {
	n := Served{Source: source, asked: s.asked.Load()}
	var err error
	switch source {
	case StatementEvents:
		n.Kinds, err = s.statementEvents(ctx)
	case ResponseTimes:
		n.Times, err = s.responseTimes(ctx)
	case UserStatistics:
		err = s.userStatistics(ctx, &n)
	default:
		err = s.fail("read counters of statements", fmt.Errorf("%w: there is no source %q", farm.ErrInput, source))
	}
	return n, err
}

// statementEvents are those that clients send as text, and executions of what they have prepared: these are in no digest on MariaDB
// 10.11. Threads of replication have no user.
func (s *Server) statementEvents(ctx context.Context) (map[string]ServedKind, error) {
	records, err := s.records(ctx, `SELECT EVENT_NAME AS kind, SUM(COUNT_STAR) AS n, SUM(SUM_ERRORS) AS e, SUM(SUM_TIMER_WAIT) AS t
		FROM performance_schema.events_statements_summary_by_user_by_event_name
		WHERE COUNT_STAR > 0 AND (EVENT_NAME LIKE 'statement/sql/%' OR EVENT_NAME = 'statement/com/Execute') AND USER NOT IN (?, 'system user')
		GROUP BY EVENT_NAME`, s.account.User)
	if err != nil {
		return nil, err
	}
	out := map[string]ServedKind{}
	for _, r := range records {
		out[r["kind"]] = ServedKind{Statements: counter(r["n"]), Errors: counter(r["e"]), Time: time.Duration(counter(r["t"]) / 1000)} // of picoseconds
	}
	return out, nil
}

func (s *Server) responseTimes(ctx context.Context) ([]ServedTimes, error) {
	records, err := s.records(ctx, "SELECT TIME AS upper, COUNT AS n, TOTAL AS t FROM information_schema.QUERY_RESPONSE_TIME")
	if err != nil {
		return nil, err
	}
	var out []ServedTimes
	for _, r := range records {
		upper, ok := secondsOf(r["upper"])
		if !ok {
			continue // TOO LONG: beyond eleven days
		}
		total, _ := secondsOf(r["t"])
		out = append(out, ServedTimes{Upper: upper, Statements: counter(r["n"]), Time: total})
	}
	return out, nil
}

func (s *Server) userStatistics(ctx context.Context, into *Served) error {
	records, err := s.records(ctx, `SELECT USER AS account, SUM(SELECT_COMMANDS + UPDATE_COMMANDS + OTHER_COMMANDS) AS n, SUM(BUSY_TIME) AS t,
			USER IN (SELECT USER FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump') AS sends
		FROM information_schema.USER_STATISTICS WHERE USER NOT IN (?, '#mysql_system#') GROUP BY USER ORDER BY USER`, s.account.User)
	if err != nil {
		return err
	}
	into.Accounts = map[string]ServedKind{}
	for _, r := range records {
		if r["sends"] == "1" {
			into.Sending = append(into.Sending, r["account"])
			continue
		}
		busy, _ := secondsOf(r["t"])
		into.Accounts[r["account"]] = ServedKind{Statements: counter(r["n"]), Time: busy}
	}
	into.Kinds = anyCommands(into.Accounts)
	return nil
}

func anyCommands(accounts map[string]ServedKind) map[string]ServedKind {
	var all ServedKind
	for _, k := range accounts {
		all.Statements += k.Statements
		all.Time += k.Time
	}
	return map[string]ServedKind{anyCommand: all}
}

// Stuck is how many statements of clients have run for a second or longer by now: counters have them when they end.
func (s *Server) Stuck(ctx context.Context) (int, error) { return s.atWork(ctx, " AND TIME >= 1") }

// AtWork is how many statements of clients run now. Threads_running counts threads of replication, too.
func (s *Server) AtWork(ctx context.Context) (int, error) { return s.atWork(ctx, "") }

func (s *Server) atWork(ctx context.Context, and string) (int, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return 0, err
	}
	var n int
	err = s.row(ctx, "SELECT COUNT(*) FROM "+d.processes+" WHERE COMMAND IN ('Query', 'Execute') AND USER NOT IN (?, 'system user', 'event_scheduler')"+and, []any{s.account.User}, &n)
	return n, err
}

// Statements are all of them, of any kind.
func (n Served) Statements() (all uint64) {
	for _, k := range n.Kinds {
		all += k.Statements
	}
	for _, t := range n.Times {
		all += t.Statements
	}
	return all
}

// Took is the time of all of them together.
func (n Served) Took() (all time.Duration) {
	for _, k := range n.Kinds {
		all += k.Time
	}
	for _, t := range n.Times {
		all += t.Time
	}
	return all
}

// Since is what was counted after before was. False: a counter is lower than it was. Somebody reset it, or the server was started again.
// With StatementEvents a session that ends while its server is read can be missing once, too: then the next reading is right.
func (n Served) Since(before Served) (Served, bool) {
	out := Served{Source: n.Source}
	var ok bool
	if n.Source != UserStatistics {
		out.Kinds, ok = kindsSince(n.Kinds, before.Kinds)
	} else if out.Accounts, ok = kindsSince(without(n.Accounts, before.Sending), without(before.Accounts, n.Sending)); ok {
		out.Kinds = anyCommands(out.Accounts)
	}
	if !ok {
		return Served{}, false
	}
	if len(n.Times) != len(before.Times) {
		return Served{}, false
	}
	for i, is := range n.Times {
		was := before.Times[i]
		if is.Upper != was.Upper || is.Statements < was.Statements || is.Time < was.Time {
			return Served{}, false
		}
		out.Times = append(out.Times, ServedTimes{is.Upper, is.Statements - was.Statements, is.Time - was.Time})
	}
	withoutOurs(out.Times, n.asked-before.asked)
	return out, true
}

func kindsSince(now, before map[string]ServedKind) (map[string]ServedKind, bool) {
	for kind, was := range before {
		is := now[kind]
		if is.Statements < was.Statements || is.Errors < was.Errors || is.Time < was.Time {
			return nil, false
		}
	}
	out := map[string]ServedKind{}
	for kind, is := range now {
		was := before[kind]
		if is.Statements > was.Statements {
			out[kind] = ServedKind{is.Statements - was.Statements, is.Errors - was.Errors, is.Time - was.Time}
		}
	}
	return out, true
}

func without(accounts map[string]ServedKind, some []string) map[string]ServedKind {
	out := maps.Clone(accounts)
	for _, name := range some {
		delete(out, name)
	}
	return out
}

// withoutOurs takes so many statements from the quick end: ours are small, and where they are not, it is the server that is slow.
func withoutOurs(times []ServedTimes, ours uint64) {
	for i := range times {
		t := &times[i]
		if ours == 0 || t.Statements == 0 {
			continue
		}
		less := min(ours, t.Statements)
		t.Time -= time.Duration(float64(t.Time) * float64(less) / float64(t.Statements))
		t.Statements -= less
		ours -= less
	}
}

// Plus is what was counted in both of two times.
func (n Served) Plus(m Served) Served {
	out := Served{Source: m.Source, Kinds: map[string]ServedKind{}}
	for _, x := range []Served{n, m} {
		for kind, k := range x.Kinds {
			was := out.Kinds[kind]
			out.Kinds[kind] = ServedKind{was.Statements + k.Statements, was.Errors + k.Errors, was.Time + k.Time}
		}
		for i, t := range x.Times {
			if i == len(out.Times) {
				out.Times = append(out.Times, ServedTimes{Upper: t.Upper})
			}
			out.Times[i].Statements += t.Statements
			out.Times[i].Time += t.Time
		}
	}
	return out
}

// secondsOf reads a number of seconds as the server writes it, with blanks before it.
func secondsOf(text string) (time.Duration, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return time.Duration(v * float64(time.Second)), err == nil
}
