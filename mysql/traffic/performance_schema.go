package traffic

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stowage/digest"
	"stowage/farm"
)

const schemaGrant = "SELECT ON performance_schema.*"

// Schema checks that performance_schema is there to be read, and says which of its consumers are on.
func (r *Statements) Schema(ctx context.Context) (consumers map[string]bool, err error) {
	if r.facts["performance_schema"] != "ON" {
		return nil, &farm.Error{Op: "read performance_schema", Subject: string(r.server.Name()), Err: fmt.Errorf("%w: it is off", farm.ErrInput),
			Hint: "set performance_schema=ON in the server's option file and restart it, or do without: --from slow_log, or record its traffic (stowage digest record)"}
	}
	consumers = map[string]bool{}
	err = r.each(ctx, "SELECT NAME AS "+ownMark+", ENABLED FROM performance_schema.setup_consumers", func(c cells) error {
		consumers[c.text(ownMark)] = c.text("ENABLED") == "YES"
		return nil
	})
	if err == nil && (!consumers["global_instrumentation"] || !consumers["statements_digest"]) {
		return nil, &farm.Error{Op: "read performance_schema", Subject: string(r.server.Name()), Err: fmt.Errorf("%w: its consumer statements_digest is off", farm.ErrInput),
			Hint: "enable the consumers global_instrumentation and statements_digest in setup_consumers"}
	}
	return consumers, r.fail("read performance_schema", schemaGrant, err)
}

// SummaryReading is events_statements_summary_by_digest at one moment.
type SummaryReading struct {
	Classes []digest.Summary
	Lost    uint64 // statements of classes that the table had no room for, in its row without a class
	Own     uint64 // statements of Stowage's own, in no class here
	// Prepared is how many executions of prepared statements are in no class: MariaDB does not add them up by class. Measured
	// on 10.11.19: 50 of them make 50 statement/com/Execute and no row of events_statements_summary_by_digest.
	Prepared uint64
}

// Total is how many statements the reading knows of.
func (s *SummaryReading) Total() uint64 {
	n := s.Lost
	for i := range s.Classes {
		n += s.Classes[i].Count
	}
	return n
}

// Summary reads events_statements_summary_by_digest. Lock times of MariaDB are left out: 10.11.19 writes nearly the whole
// time of a statement there, half a second for SELECT SLEEP(0.5), where its slow log says 0.
func (r *Statements) Summary(ctx context.Context) (SummaryReading, error) {
	var out SummaryReading
	query := "SELECT UNIX_TIMESTAMP(FIRST_SEEN) AS " + ownMark + ", UNIX_TIMESTAMP(LAST_SEEN) AS last_at, s.* FROM performance_schema.events_statements_summary_by_digest s"
	err := r.each(ctx, query, func(c cells) error {
		if c.raw("DIGEST") == nil {
			out.Lost += c.number("COUNT_STAR")
			return nil
		}
		s := summaryOf(c)
		if strings.Contains(s.Text, ownMark) || isOwnSet([]byte(strings.ReplaceAll(s.Text, "`", ""))) {
			out.Own += s.Count
			return nil
		}
		if r.flavor.Vendor == "MariaDB" {
			s.Lock = 0
		}
		r.sample(c, &s)
		out.Classes = append(out.Classes, s)
		return nil
	})
	if err == nil {
		out.Prepared, err = r.preparedUnseen(ctx, out.Total()+out.Own)
	}
	return out, r.fail("read events_statements_summary_by_digest", schemaGrant, err)
}

// preparedUnseen is how many executions of prepared statements are not among so many statements with a class. Servers that add
// them up by class, as MySQL does, have them in that number.
func (r *Statements) preparedUnseen(ctx context.Context, classed uint64) (uint64, error) {
	var executed, said uint64
	err := r.each(ctx, "SELECT COALESCE(SUM(IF(EVENT_NAME = 'statement/com/Execute', COUNT_STAR, 0)), 0) AS "+ownMark+", COALESCE(SUM(IF(EVENT_NAME LIKE 'statement/sql/%', COUNT_STAR, 0)), 0) AS said"+
		" FROM performance_schema.events_statements_summary_global_by_event_name", func(c cells) error {
		executed, said = c.number(ownMark), c.number("said")
		return nil
	})
	if executed+said <= classed {
		return 0, err
	}
	return min(executed, executed+said-classed), err
}

func summaryOf(c cells) digest.Summary {
	return digest.Summary{
		DB: c.text("SCHEMA_NAME"), ID: c.text("DIGEST"), Text: strings.TrimRight(c.text("DIGEST_TEXT"), " "),
		Counters: digest.Counters{
			Count: c.number("COUNT_STAR"), Time: c.number("SUM_TIMER_WAIT"), Lock: c.number("SUM_LOCK_TIME"),
			RowsSent: c.number("SUM_ROWS_SENT"), RowsExamined: c.number("SUM_ROWS_EXAMINED"), RowsAffected: c.number("SUM_ROWS_AFFECTED"),
			Errors: c.number("SUM_ERRORS"), FullScans: c.number("SUM_NO_INDEX_USED"), Warnings: c.number("SUM_WARNINGS"),
			FullJoins: c.number("SUM_SELECT_FULL_JOIN"), TmpTables: c.number("SUM_CREATED_TMP_TABLES"), TmpDiskTables: c.number("SUM_CREATED_TMP_DISK_TABLES"),
		},
		HasExtremes: true, Shortest: c.number("MIN_TIMER_WAIT"), Longest: c.number("MAX_TIMER_WAIT"),
		First: c.instant(ownMark), Last: c.instant("last_at"),
	}
}

// sample takes the statement that MySQL 8 keeps of each class. A longer one than it keeps is not used: its end is missing.
func (r *Statements) sample(c cells, s *digest.Summary) {
	text := c.text("QUERY_SAMPLE_TEXT")
	if text == "" || len(text) >= r.longestText() {
		return
	}
	s.Text = text
	s.Sample = &digest.Statement{Query: []byte(text), DB: s.DB, Timed: true, Time: picoseconds(c.number("QUERY_SAMPLE_TIMER_WAIT"))}
	if at, err := time.Parse("2006-01-02 15:04:05.999999", c.text("QUERY_SAMPLE_SEEN")); err == nil {
		s.Sample.At = at // the session's time zone is UTC
	}
}

// longestText is the length at which performance_schema cuts statements off.
func (r *Statements) longestText() int {
	if n, err := strconv.Atoi(r.facts["performance_schema_max_sql_text_length"]); err == nil && n > 0 {
		return n
	}
	return 1024
}

func picoseconds(ps uint64) time.Duration { return time.Duration(ps / 1000) }

// Bins reads how the times of each class are distributed, where the server keeps that (MySQL 8,
// events_statements_histogram_by_digest), and puts it into the reading. It has been written by the manual and never been
// run against a MySQL server.
func (r *Statements) Bins(ctx context.Context, reading *SummaryReading) error {
	if r.flavor.Vendor != "MySQL" || r.flavor.Major < 8 {
		return nil
	}
	bins := map[[2]string][]digest.Bin{}
	err := r.each(ctx, `SELECT SCHEMA_NAME AS `+ownMark+`, DIGEST, BUCKET_TIMER_LOW, BUCKET_TIMER_HIGH, COUNT_BUCKET
		FROM performance_schema.events_statements_histogram_by_digest WHERE COUNT_BUCKET > 0 ORDER BY SCHEMA_NAME, DIGEST, BUCKET_NUMBER`, func(c cells) error {
		key := [2]string{c.text(ownMark), c.text("DIGEST")}
		bins[key] = append(bins[key], digest.Bin{Low: c.number("BUCKET_TIMER_LOW"), High: c.number("BUCKET_TIMER_HIGH"), Count: c.number("COUNT_BUCKET")})
		return nil
	})
	for i := range reading.Classes {
		s := &reading.Classes[i]
		s.Bins = bins[[2]string{s.DB, s.ID}]
	}
	return r.fail("read events_statements_histogram_by_digest", schemaGrant, err)
}

// History is a ring of statements that have ended, read often enough to miss few. MySQL and MariaDB have two: one for all
// threads (events_statements_history_long), and ten rows or so for each thread that is connected.
type History struct {
	r     *Statements
	table string
	size  int // rows: of the ring, or of each thread's
	own   uint64
	low   uint64 // timer below which everything has been seen
	seen  map[[2]uint64]uint64
	users map[uint64]sessionOf

	// Cut is how many statements the server had cut off.
	Cut uint64
	// Nameless is how many came from sessions that had ended before their user was asked for.
	Nameless uint64
}

// sessionOf is who a thread works for; empty when the session had ended before that was asked.
type sessionOf struct {
	user, host string
	id         uint64 // of the connection
}

// ErrNoHistory says why there is no ring to read.
var ErrNoHistory = errors.New("no history of statements")

// History chooses a ring by the consumers that are on.
func (r *Statements) History(ctx context.Context, consumers map[string]bool) (*History, error) {
	h := &History{r: r, seen: map[[2]uint64]uint64{}, users: map[uint64]sessionOf{}}
	long, short := "events_statements_history_long", "events_statements_history"
	switch {
	case !consumers["events_statements_current"] || !consumers["thread_instrumentation"]:
		return nil, fmt.Errorf("%w: the consumer events_statements_current is off", ErrNoHistory)
	case consumers[long]:
		h.table = long
	case consumers[short]:
		h.table = short
	default:
		return nil, fmt.Errorf("%w: the consumer %s is off", ErrNoHistory, long)
	}
	h.size, _ = strconv.Atoi(r.facts["performance_schema_"+h.table+"_size"])
	if h.size <= 0 {
		return nil, fmt.Errorf("%w: performance_schema_%s_size is %s", ErrNoHistory, h.table, r.facts["performance_schema_"+h.table+"_size"])
	}
	err := r.each(ctx, "SELECT THREAD_ID AS "+ownMark+" FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()", func(c cells) error {
		h.own = c.number(ownMark)
		return nil
	})
	return h, r.fail("read performance_schema.threads", schemaGrant, err)
}

// Table is the name of the ring.
func (h *History) Table() string { return h.table }

// Size is how many statements the ring holds: for all threads, or for each.
func (h *History) Size() int { return h.size }

// Tick is one moment on both clocks of a server: picoseconds of its timer, and the time of day.
type Tick struct {
	Timer uint64
	At    time.Time
}

// instant turns a timer value into the time of day.
func (t Tick) instant(timer uint64) time.Time {
	return t.At.Add(time.Duration(int64(timer-t.Timer) / 1000))
}

// Tick reads both clocks at once. There is no function for the timer; but the statement that asks is in
// events_statements_current itself, with the timer of its start, and NOW(6) is that start by the clock (the two differ by
// less than 1 microsecond from one asking to the next, MariaDB 10.11.19).
func (h *History) Tick(ctx context.Context) (Tick, error) {
	var t Tick
	query := fmt.Sprintf("SELECT UNIX_TIMESTAMP(NOW(6)) AS %s, TIMER_START FROM performance_schema.events_statements_current WHERE THREAD_ID = %d ORDER BY EVENT_ID LIMIT 1", ownMark, h.own)
	err := h.r.each(ctx, query, func(c cells) error {
		t.At, t.Timer = c.instant(ownMark), c.number("TIMER_START")
		return nil
	})
	if err == nil && t.Timer == 0 {
		return t, fmt.Errorf("%w: this session is not instrumented (performance_schema.setup_actors)", ErrNoHistory)
	}
	return t, h.r.fail("read events_statements_current", schemaGrant, err)
}

// settled is how long after its end a statement may still come into the ring: it is put there right after its end is
// stamped, unless the thread has to wait for a processor just then.
const settled = uint64(time.Second) * 1000

// Poll visits the statements that have ended since the last poll, with the time each began at. From and to are of Tick:
// what ended at or before from is left out; to, where it is not zero, is the last end that counts. Fill says how full the
// ring was of what is new: near 1, something was missed. Statements without a class (digested is false: they could not be
// parsed) are in no sum of the server's; commands that are not statements are left out.
func (h *History) Poll(ctx context.Context, now Tick, from, to uint64, visit func(s *digest.Statement, digested bool) error) (fill float64, err error) {
	h.low = max(h.low, from)
	query := `SELECT THREAD_ID AS ` + ownMark + `, h.* FROM performance_schema.` + h.table + ` h WHERE TIMER_END > ` + strconv.FormatUint(h.low, 10)
	if to > 0 {
		query += " AND TIMER_END <= " + strconv.FormatUint(to, 10)
	}
	var batch []polled
	perThread, most, fresh := map[uint64]int{}, 0, 0
	err = h.r.each(ctx, query, func(c cells) error {
		key := [2]uint64{c.number(ownMark), c.number("EVENT_ID")}
		if _, known := h.seen[key]; known {
			return nil
		}
		text, end := c.text("SQL_TEXT"), c.number("TIMER_END")
		if text == "" && end+settled > now.Timer {
			return nil // a command that has none, or the server is just writing it there: it locks no row of the ring
		}
		h.seen[key] = end
		fresh++
		if key[0] == h.own {
			h.r.Own++
			return nil
		}
		perThread[key[0]]++
		most = max(most, perThread[key[0]])
		if text == "" || strings.Contains(text, ownMark) || isOwnSet([]byte(text)) {
			return nil
		}
		batch = append(batch, h.polled(c, now, text))
		return nil
	})
	if err != nil {
		return 0, h.r.fail("read "+h.table, schemaGrant, err)
	}
	h.forget(now)
	if err := h.nameUsers(ctx, batch); err != nil {
		return 0, err
	}
	for i := range batch {
		if err := visit(&batch[i].statement, batch[i].digested); err != nil {
			return 0, err
		}
	}
	if h.table == "events_statements_history" {
		return float64(most) / float64(h.size), nil
	}
	return float64(fresh) / float64(h.size), nil
}

// polled is one statement of a ring.
type polled struct {
	statement digest.Statement
	thread    uint64 // of performance_schema
	digested  bool
}

func (h *History) polled(c cells, now Tick, text string) polled {
	if len(text) >= h.r.longestText() {
		h.Cut++
	}
	p := polled{thread: c.number(ownMark), digested: c.raw("DIGEST") != nil}
	p.statement = digest.Statement{
		Query: []byte(text), At: now.instant(c.number("TIMER_START")), Time: picoseconds(c.number("TIMER_WAIT")), Timed: true,
		DB: c.text("CURRENT_SCHEMA"), RowsSent: c.number("ROWS_SENT"), RowsExamined: c.number("ROWS_EXAMINED"), RowsAffected: c.number("ROWS_AFFECTED"),
		Error: c.number("ERRORS") > 0, FullScan: c.number("NO_INDEX_USED") > 0, FullJoin: c.number("SELECT_FULL_JOIN") > 0,
		TmpTable: c.number("CREATED_TMP_TABLES") > 0, TmpDisk: c.number("CREATED_TMP_DISK_TABLES") > 0,
	}
	if h.r.flavor.Vendor != "MariaDB" { // see Summary
		p.statement.LockTime = picoseconds(c.number("LOCK_TIME"))
	}
	return p
}

// forget drops what cannot come again: everything that ended well before now has been seen.
func (h *History) forget(now Tick) {
	if now.Timer < settled || now.Timer-settled <= h.low {
		return
	}
	h.low = now.Timer - settled
	for key, end := range h.seen {
		if end <= h.low {
			delete(h.seen, key)
		}
	}
}

// nameUsers asks who is connected when a thread is met for the first time. Thread ids are never used twice.
func (h *History) nameUsers(ctx context.Context, batch []polled) error {
	unknown := false
	for i := range batch {
		_, known := h.users[batch[i].thread]
		unknown = unknown || !known
	}
	if unknown {
		now := map[uint64]sessionOf{}
		err := h.r.each(ctx, `SELECT THREAD_ID AS `+ownMark+`, PROCESSLIST_ID, PROCESSLIST_USER, PROCESSLIST_HOST FROM performance_schema.threads
			WHERE PROCESSLIST_USER IS NOT NULL`, func(c cells) error {
			now[c.number(ownMark)] = sessionOf{c.text("PROCESSLIST_USER"), c.text("PROCESSLIST_HOST"), c.number("PROCESSLIST_ID")}
			return nil
		})
		if err != nil {
			return h.r.fail("read performance_schema.threads", schemaGrant, err)
		}
		for i := range batch { // those of the batch, should they be gone, are remembered as gone
			u, known := h.users[batch[i].thread]
			if !known {
				u = now[batch[i].thread] // nobody, when it is gone
			}
			now[batch[i].thread] = u
		}
		h.users = now
	}
	for i := range batch {
		u := h.users[batch[i].thread]
		batch[i].statement.User, batch[i].statement.Host, batch[i].statement.Thread = u.user, u.host, u.id
		if u.user == "" {
			h.Nameless++
		}
	}
	return nil
}

// Clock is the server's clock, and how far ahead of ours it is, give or take the time that the question took.
func (r *Statements) Clock(ctx context.Context) (ahead, give time.Duration, err error) {
	asked := time.Now()
	var there time.Time
	err = r.each(ctx, "SELECT UNIX_TIMESTAMP(NOW(6)) AS "+ownMark, func(c cells) error {
		there = c.instant(ownMark)
		return nil
	})
	took := time.Since(asked)
	return there.Sub(asked.Add(took / 2)), took / 2, r.fail("read clock", "", err)
}
