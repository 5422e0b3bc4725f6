package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

var countsResponseTimes = []string{"--plugin-load-add=query_response_time", "--query_response_time_stats=ON"}

// table gives an instance d.t, and one connection of a client to d.
func table(t *testing.T, i *mariadbtest.Instance) *sql.Conn {
	t.Helper()
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	conn, err := i.DB(t, mariadbtest.App, "d").Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// serve sends statements of a client: texts that succeed and fail, and prepared ones.
func serve(t *testing.T, c *sql.Conn, texts, failures, prepared int) {
	t.Helper()
	for range texts {
		_, err := c.ExecContext(t.Context(), "SELECT * FROM t")
		must(t, err)
	}
	for range failures {
		if _, err := c.ExecContext(t.Context(), "INSERT t SELECT 1 FROM t RIGHT JOIN (SELECT 1 UNION ALL SELECT 2) x ON TRUE"); err == nil {
			t.Fatal("a key was written twice")
		}
	}
	st, err := c.PrepareContext(t.Context(), "SELECT * FROM t WHERE id = ?")
	must(t, err)
	defer st.Close()
	for n := range prepared {
		var id int
		if err := st.QueryRowContext(t.Context(), n).Scan(&id); err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
	}
}

// served are the counters once they stand still: a server counts a statement when its client has the answer already.
func served(t *testing.T, s *Server, source ServedSource) (n Served) {
	t.Helper()
	eventually(t, "counters that stand still", func() bool {
		was := n
		var err error
		n, err = s.Served(t.Context(), source)
		must(t, err)
		time.Sleep(20 * time.Millisecond)
		since, ok := n.Since(was)
		return was.Source != "" && ok && since.Statements() == 0
	})
	return n
}

// Statements of clients are counted by kind, prepared ones and errors too. Ours are not, nor what replication applies; and counters that
// somebody resets are noticed.
func TestServedByStatementEvents(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		t.Parallel() // it mostly waits
		on := "--performance_schema=ON"
		i, twin := l.Start(t, "a", on), l.Start(t, "b", on)
		mariadbtest.Ring(t, i, twin)
		s := open(t, i)
		sources, err := s.ServedSources(t.Context())
		must(t, err)
		if !slices.Equal(sources, []ServedSource{StatementEvents}) {
			t.Fatalf("sources %v", sources)
		}
		c := table(t, i)
		before := served(t, s, StatementEvents)
		serve(t, c, 5, 3, 7)
		twin.Exec(t, "INSERT d.t VALUES (100)", "INSERT d.t VALUES (101)")
		must(t, s.WaitFor(t.Context(), position(t, open(t, twin)), patience))
		for range 20 {
			must(t, s.Ping(t.Context()))
			position(t, s)
		}
		_, err = c.ExecContext(t.Context(), "SELECT SLEEP(0.2)")
		must(t, err)
		n, ok := served(t, s, StatementEvents).Since(before)
		if !ok {
			t.Fatal("counters are lower than they were")
		}
		texts, failed, prepared := n.Kinds["statement/sql/select"], n.Kinds["statement/sql/insert_select"], n.Kinds["statement/com/Execute"]
		if texts.Statements != 6 || texts.Errors != 0 || texts.Time < 200*time.Millisecond || texts.Time > time.Minute {
			t.Errorf("5 texts and one that sleeps for 0.2 s: %+v", texts)
		}
		if failed.Statements != 3 || failed.Errors != 3 || prepared.Statements != 7 || prepared.Errors != 0 {
			t.Errorf("3 that fail: %+v; 7 prepared: %+v", failed, prepared)
		}
		if len(n.Kinds) != 3 {
			t.Errorf("kinds that no client has asked: %v", n.Kinds)
		}
		asleep, wake := context.WithCancel(t.Context())
		slept := make(chan error, 1)
		go func() { _, err := c.ExecContext(asleep, "SELECT SLEEP(600)"); slept <- err }()
		eventually(t, "a statement that runs for longer than a second", func() bool {
			n, err := s.Stuck(t.Context())
			must(t, err)
			return n == 1
		})
		wake()
		if err := <-slept; err == nil {
			t.Error("it slept for ten minutes")
		}
		c, err = i.DB(t, mariadbtest.App, "d").Conn(t.Context())
		must(t, err)
		defer c.Close()
		before = served(t, s, StatementEvents)
		i.Exec(t, "TRUNCATE performance_schema.events_statements_summary_by_user_by_event_name", "TRUNCATE performance_schema.users")
		serve(t, c, 2, 0, 0)
		if n, ok := served(t, s, StatementEvents).Since(before); ok {
			t.Errorf("counters were reset, and %v were counted since", n)
		}
		i.Exec(t, "UPDATE performance_schema.setup_instruments SET TIMED = 'NO' WHERE NAME LIKE 'statement/%'")
		if sources, err := s.ServedSources(t.Context()); err != nil || len(sources) > 0 {
			t.Errorf("nothing is timed, sources %v, %v", sources, err)
		}
	})
}

// The histogram has ours among the others: they are taken out again, so that an idle server has served nobody.
func TestServedByResponseTimes(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a", countsResponseTimes...)
	sources, err := s.ServedSources(t.Context())
	must(t, err)
	if !slices.Equal(sources, []ServedSource{ResponseTimes}) {
		t.Fatalf("sources %v", sources)
	}
	c := table(t, i)
	before := served(t, s, ResponseTimes)
	for range 30 {
		position(t, s)
		_, err := s.Replication(t.Context())
		must(t, err)
	}
	n, ok := served(t, s, ResponseTimes).Since(before)
	if all := n.Statements(); !ok || all != 0 {
		t.Errorf("nobody but us has asked, and %d were counted (%v)", all, ok)
	}
	before = served(t, s, ResponseTimes)
	serve(t, c, 20, 0, 0)
	_, err = c.ExecContext(t.Context(), "SELECT SLEEP(0.2)")
	must(t, err)
	position(t, s)
	n, ok = served(t, s, ResponseTimes).Since(before)
	// serve prepares a statement and closes it.
	if all := n.Statements(); !ok || all < 21 || all > 23 {
		t.Errorf("21 statements and one prepared: %d were counted (%v)", all, ok)
	}
	var slow uint64
	for _, x := range n.Times {
		if x.Upper > 100*time.Millisecond {
			slow += x.Statements
		}
	}
	if slow != 1 {
		t.Errorf("%d statements took more than 0.1 s, one slept for 0.2: %+v", slow, n.Times)
	}
	before = served(t, s, ResponseTimes)
	i.Exec(t, "SET GLOBAL query_response_time_flush = 1")
	if n, ok := served(t, s, ResponseTimes).Since(before); ok {
		t.Errorf("counters were reset, and %v were counted since", n)
	}
}

func TestServedByUserStatistics(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a", "--userstat=ON")
	if sources, err := s.ServedSources(t.Context()); err != nil || !slices.Equal(sources, []ServedSource{UserStatistics}) {
		t.Fatalf("sources %v, %v", sources, err)
	}
	c := table(t, i)
	before := served(t, s, UserStatistics)
	serve(t, c, 20, 0, 0)
	_, err := c.ExecContext(t.Context(), "SELECT SLEEP(0.2)")
	must(t, err)
	position(t, s)
	n, ok := served(t, s, UserStatistics).Since(before)
	if k := n.Kinds[anyCommand]; !ok || k.Statements != 21 || k.Time < 200*time.Millisecond || k.Time > time.Minute {
		t.Errorf("21 statements, one slept for 0.2 s: %+v (%v)", k, ok)
	}
	before = served(t, s, UserStatistics)
	i.Exec(t, "FLUSH USER_STATISTICS")
	if n, ok := served(t, s, UserStatistics).Since(before); ok {
		t.Errorf("counters were reset, and %v were counted since", n)
	}
}

// TestServedWithoutSenders: the time of threads that send a binary log is none of statements, whenever they began.
func TestServedWithoutSenders(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a", "--userstat=ON")
	c := table(t, i)
	before := served(t, s, UserStatistics)
	for round := range 2 {
		i.Exec(t, "FLUSH BINARY LOGS")
		serve(t, c, 20, 0, 0)
		now := served(t, s, UserStatistics)
		n, ok := now.Since(before)
		if _, counts := now.Accounts[string(mariadbtest.Repl)]; !ok || counts || n.Statements() != 20 || len(n.Accounts) != 1 {
			t.Errorf("round %d, 20 statements of one client: %+v since, %v; %+v in all", round, n, ok, now)
		}
		if round == 0 {
			i.Senders(t, 1)
		} else if !slices.Equal(now.Sending, []string{string(mariadbtest.Repl)}) {
			t.Errorf("senders %v", now.Sending)
		}
		before = now
	}
}

// A server that counts nothing, and one whose counters we may not read, offer nothing; nothing is switched on.
func TestServedByNobody(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	if sources, err := s.ServedSources(t.Context()); err != nil || len(sources) > 0 {
		t.Errorf("sources %v, %v", sources, err)
	}
	if on := i.Value(t, "SELECT CONCAT(IF(@@performance_schema, 'ON', 'OFF'), IF(@@userstat, 'ON', 'OFF'))"); on != "OFFOFF" {
		t.Errorf("performance_schema and userstat: %s", on)
	}
	j, _ := start(t, "b", "--performance_schema=ON")
	j.Exec(t, "CREATE USER poor@'%' IDENTIFIED BY 'poor-password'", "GRANT PROCESS ON *.* TO poor@'%'")
	poor := Open("b", j.Address, Account{User: "poor", Password: "poor-password"}, s.log)
	defer poor.Close()
	if sources, err := poor.ServedSources(t.Context()); err != nil || len(sources) > 0 {
		t.Errorf("without SELECT on performance_schema: sources %v, %v", sources, err)
	}
	j.Exec(t, fmt.Sprintf("GRANT SELECT ON performance_schema.* TO %s", "poor@'%'"))
	if sources, err := poor.ServedSources(context.WithoutCancel(t.Context())); err != nil || !slices.Equal(sources, []ServedSource{StatementEvents}) {
		t.Errorf("with it: sources %v, %v", sources, err)
	}
}
