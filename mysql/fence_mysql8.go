package mysql

import (
	"context"
	"errors"
)

// errNotWatched: without these, transactions that have only read are seen by
// nobody (SHOW ENGINE INNODB STATUS shows those that have locked or written).
var errNotWatched = errors.New("performance_schema does not watch statements and transactions; it needs the consumers global_instrumentation, " +
	"thread_instrumentation, events_statements_current and events_transactions_current and the instrument transaction, which are on by default")

// errNoSessions: who is connected to a MySQL server is read from
// performance_schema.threads, which knows statements and transactions to the
// microsecond; the process list knows seconds and is going away (deprecated
// since 8.0.35).
var errNoSessions = errors.New("performance_schema shows no sessions, not even ours; start the server with performance_schema=ON")

// sessionsMySQL is sessions for MySQL: by the columns' names as for MariaDB.
// A statement that is not instrumented has an id nevertheless, or it would
// count as none.
//
// A transaction has an id from its BEGIN on, so here, other than in MariaDB, a
// session that has said BEGIN and nothing more counts as open work.
func (s *Server) sessionsMySQL(ctx context.Context) ([]map[string]string, error) {
	if !s.watched.Load() {
		var consumers, instruments int
		if err := s.row(ctx, `SELECT (SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE ENABLED = 'YES' AND NAME IN
				('global_instrumentation', 'thread_instrumentation', 'events_statements_current', 'events_transactions_current')),
			(SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE ENABLED = 'YES' AND TIMED = 'YES' AND NAME = 'transaction')`,
			nil, &consumers, &instruments); err != nil {
			return nil, err
		}
		if consumers != 4 || instruments != 1 {
			return nil, s.fail("read sessions", errNotWatched)
		}
		s.watched.Store(true)
	}
	// Threads of replication have the name of who started it, and "Query" as their command: an idle one would be a statement that runs long.
	// A row for each statement that runs within another; the outermost comes
	// last and is the one that counts.
	records, err := s.records(ctx, `SELECT t.PROCESSLIST_ID AS ID, t.PROCESSLIST_USER AS USER, t.PROCESSLIST_COMMAND AS COMMAND,
			t.PROCESSLIST_ID = CONNECTION_ID() AS ours,
			COALESCE(CONCAT(s.THREAD_ID, '.', s.EVENT_ID), '?') AS QUERY_ID,
			IF(x.STATE = 'ACTIVE', CONCAT(x.THREAD_ID, '.', x.EVENT_ID), NULL) AS TRX_ID,
			GREATEST(COALESCE(IF(x.STATE = 'ACTIVE', x.TIMER_WAIT, 0), 0) / 1000000000,
				IF(t.PROCESSLIST_COMMAND = 'Sleep', 0, COALESCE(s.TIMER_WAIT / 1000000000, 1000 * t.PROCESSLIST_TIME))) AS TIME_MS
		FROM performance_schema.threads t
		LEFT JOIN performance_schema.events_statements_current s ON s.THREAD_ID = t.THREAD_ID AND s.END_EVENT_ID IS NULL
		LEFT JOIN performance_schema.events_transactions_current x ON x.THREAD_ID = t.THREAD_ID
		WHERE t.PROCESSLIST_ID IS NOT NULL AND t.PROCESSLIST_USER NOT IN ('system user', 'event_scheduler')
			AND t.PROCESSLIST_COMMAND NOT IN ('Binlog Dump', 'Binlog Dump GTID', 'Daemon', 'Connect')
			AND t.NAME NOT LIKE 'thread/sql/replica%' AND t.NAME NOT LIKE 'thread/sql/slave%'
		ORDER BY t.THREAD_ID, s.EVENT_ID DESC`)
	if err != nil {
		return nil, err
	}
	var out []map[string]string
	ours := false
	for _, r := range records {
		if r["ours"] == "1" {
			ours = true
			continue
		}
		out = append(out, r)
	}
	if !ours {
		return nil, s.fail("read sessions", errNoSessions)
	}
	return out, nil
}

// clientsMySQL is Clients for MySQL.
func (s *Server) clientsMySQL(ctx context.Context) (int, error) {
	sessions, err := s.sessionsMySQL(ctx)
	if err != nil {
		return 0, err
	}
	clients := map[string]bool{}
	for _, r := range sessions {
		if r["USER"] != s.account.User {
			clients[r["ID"]] = true
		}
	}
	return len(clients), nil
}
