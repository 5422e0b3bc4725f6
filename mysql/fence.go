package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stowage/internal/lazy"
)

// session is one client connection that is in the middle of something.
type session struct {
	thread  uint64
	user    string
	trx     string        // id of its open transaction; "?" for one without an id yet, "" for none
	query   string        // query id of the statement it runs, "" when it sleeps
	active  time.Duration // age of its transaction, in whole seconds
	running time.Duration
	seen    time.Time // when the answer that says so had come
}

// Busy is a client session that holds work open; for messages.
type Busy struct {
	Thread  uint64
	User    string
	Running time.Duration
}

func (b Busy) String() string {
	return fmt.Sprintf("session %d of %s, %v", b.Thread, b.User, b.Running.Round(time.Millisecond))
}

// Quiesce waits until every piece of client work that was open when it was
// called has ended: each transaction committed or rolled back, each statement
// outside one finished. Work that begins later is not waited for, so it ends
// even on a server that other clients keep busy (a grace period, as in
// read-copy-update). The caller has closed the gate first; settle is how long
// to wait for work of clients that looked at the gate just before.
//
// A session that said BEGIN and nothing since holds nothing open that a server
// could tell us; it meets the fence when it writes.
//
// It returns what is still open when the budget is spent.
func (s *Server) Quiesce(ctx context.Context, settle, budget time.Duration) ([]Busy, error) {
	return s.QuiesceSince(ctx, time.Time{}, settle, budget)
}

// QuiesceSince is Quiesce for work that may have begun after since. The caller
// knows that older work is not of the clients it waits for.
func (s *Server) QuiesceSince(ctx context.Context, since time.Time, settle, budget time.Duration) ([]Busy, error) {
	deadline := time.Now().Add(budget)
	if err := Sleep(ctx, settle); err != nil {
		return nil, s.fail("drain", err)
	}
	waiting, err := s.openWork(ctx)
	if err != nil {
		return nil, err
	}
	dropOlder(waiting, since)
	for len(waiting) > 0 {
		if time.Now().After(deadline) {
			return busy(waiting), nil
		}
		if err := Sleep(ctx, 2*time.Millisecond); err != nil {
			return nil, s.fail("drain", err)
		}
		asked := time.Now()
		now, err := s.openWork(ctx)
		if err != nil {
			return nil, err
		}
		for thread, was := range waiting {
			is, still := now[thread]
			switch {
			case !still || hasEnded(was, is, asked.Sub(was.seen)):
				delete(waiting, thread)
			case is.trx != was.trx:
				waiting[thread] = is // perhaps the same work, and easier to tell from the next
			}
		}
	}
	return nil, nil
}

// hasEnded reports whether a session that was busy has, some time later,
// certainly finished that piece of work and is busy with another.
func hasEnded(was, is session, later time.Duration) bool {
	switch was.trx {
	case "": // a statement outside a transaction: it may be the one that opens it
		return is.trx == "" && is.query != was.query
	case "?":
		// A transaction gets its id at its first write, so "?" may have become
		// a number without ending. It has ended when the session's transaction
		// is too young to be it; one second for whole seconds, one for a clock
		// that is being set.
		return is.trx == "" || is.active+2*time.Second <= later
	}
	return is.trx != was.trx
}

func busy(sessions map[uint64]session) []Busy {
	var out []Busy
	for _, x := range sessions {
		out = append(out, Busy{x.thread, x.user, x.running})
	}
	return out
}

// LongWork are the client sessions whose statement or transaction has been
// open for longer than limit.
func (s *Server) LongWork(ctx context.Context, limit time.Duration) ([]Busy, error) {
	return s.LongWorkSince(ctx, time.Time{}, limit)
}

// RunsLong reports whether a statement has been running for longer than limit, so that a lock might have to wait for it.
func (d Door) RunsLong(ctx context.Context, limit time.Duration) (bool, error) {
	open, err := d.openWork(ctx)
	for _, x := range open {
		if x.query != "" && x.running > limit {
			return true, nil
		}
	}
	return false, err
}

// dropOlder takes out the sessions whose work certainly began before since.
// Ages are rounded down, so the latest moment it can have begun is judged.
func dropOlder(open map[uint64]session, since time.Time) {
	for thread, x := range open {
		if !since.IsZero() && x.seen.Add(-x.running).Before(since) {
			delete(open, thread)
		}
	}
}

// LongWorkSince is LongWork for work that may have begun after since.
func (s *Server) LongWorkSince(ctx context.Context, since time.Time, limit time.Duration) ([]Busy, error) {
	open, err := s.openWork(ctx)
	if err != nil {
		return nil, err
	}
	dropOlder(open, since)
	for thread, x := range open {
		if x.running < limit {
			delete(open, thread)
		}
	}
	return busy(open), nil
}

// openWork is every client session with an open transaction or a running
// statement. Transactions are read from SHOW ENGINE INNODB STATUS because
// information_schema.INNODB_TRX answers from a cache that is renewed at most
// every 100 ms, and not at all while somebody else reads it more often.
//
// Sessions of Stowage's own are left out, but for those whose transaction has
// written: what fills in rows reads routing between its write and its COMMIT,
// and may have read it just before the gate closed.
func (s *Server) openWork(ctx context.Context) (map[uint64]session, error) {
	// The statements first: work that moves from "statement" to "transaction"
	// between the two reads is then seen twice rather than not at all.
	sessions, err := s.sessions(ctx)
	if err != nil {
		return nil, err
	}
	status, err := s.records(ctx, "SHOW ENGINE INNODB STATUS")
	if err != nil {
		return nil, err
	}
	trx := map[uint64]openTrx{}
	if len(status) > 0 {
		trx = parseOpenTrx(status[0]["Status"])
	}
	out, seen := map[uint64]session{}, time.Now()
	for _, rec := range sessions {
		thread, _ := strconv.ParseUint(rec["ID"], 10, 64)
		t, isOpen := trx[thread]
		if rec["USER"] == s.account.User && (!isOpen || t.id == "?") {
			continue // Stowage's own, and it has not written
		}
		ms, _ := strconv.ParseFloat(rec["TIME_MS"], 64)
		x := session{thread: thread, user: rec["USER"], running: time.Duration(ms * float64(time.Millisecond)), seen: seen}
		if rec["COMMAND"] != "Sleep" {
			x.query = rec["QUERY_ID"]
		}
		if isOpen {
			x.trx, x.active, x.running = t.id, t.active, max(x.running, t.active)
		}
		if id := rec["TRX_ID"]; id != "" { // MySQL: one that tells every transaction from the next
			x.trx = id
		}
		if x.trx != "" || x.query != "" {
			out[thread] = x
		}
	}
	return out, nil
}

type openTrx struct {
	id     string // "?" before the first write
	active time.Duration
}

var (
	trxLine    = lazy.Regexp(`^---TRANSACTION (\S+), ACTIVE(?: \(PREPARED\))? (\d+) sec`)
	threadLine = lazy.Regexp(`^(?:MariaDB|MySQL) thread id (\d+),`)
)

// noTrxID: instead of an id, which a transaction gets at its first write,
// MariaDB prints an address in parentheses, and MySQL a number of more than 48
// bits made of an address (trx_get_id_for_print).
func noTrxID(text string) bool {
	n, err := strconv.ParseUint(text, 10, 64) // 5.5 has ids in hexadecimal
	return strings.HasPrefix(text, "(") || err == nil && n >= 1<<48
}

// sessions are all client sessions but ours, with what each runs.
func (s *Server) sessions(ctx context.Context) ([]map[string]string, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	if !d.flavor.HasGTIDDomains() {
		return s.sessionsMySQL(ctx)
	}
	return s.records(ctx, `SELECT ID, USER, COMMAND, QUERY_ID, TIME_MS FROM information_schema.PROCESSLIST
		WHERE USER NOT IN ('system user', 'event_scheduler') AND COMMAND NOT IN ('Binlog Dump', 'Daemon', 'Connect')
		AND ID <> CONNECTION_ID()`)
}

// parseOpenTrx reads the transactions out of SHOW ENGINE INNODB STATUS. A
// transaction's line is followed, some lines later, by that of its thread.
func parseOpenTrx(status string) map[uint64]openTrx {
	out := map[uint64]openTrx{}
	var current *openTrx
	for _, line := range strings.Split(status, "\n") {
		if strings.HasPrefix(line, "---TRANSACTION") {
			current = nil
			if m := trxLine().FindStringSubmatch(line); m != nil {
				seconds, _ := strconv.Atoi(m[2])
				current = &openTrx{id: m[1], active: time.Duration(seconds) * time.Second}
				if noTrxID(m[1]) {
					current.id = "?"
				}
			}
			continue
		}
		if m := threadLine().FindStringSubmatch(line); m != nil && current != nil {
			thread, _ := strconv.ParseUint(m[1], 10, 64)
			out[thread] = *current
			current = nil
		}
	}
	return out
}

// Clients is the number of sessions of accounts other than Stowage's own and
// replication's.
func (s *Server) Clients(ctx context.Context) (int, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return 0, err
	}
	if !d.flavor.HasGTIDDomains() {
		return s.clientsMySQL(ctx)
	}
	var n int
	err = s.row(ctx, `SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER NOT IN ('system user', 'event_scheduler', ?)
		AND COMMAND NOT IN ('Binlog Dump', 'Daemon', 'Connect')`, []any{s.account.User}, &n)
	return n, err
}
