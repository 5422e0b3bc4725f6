package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

// clientOf gives one connection of the app account.
func clientOf(t testing.TB, i *mariadbtest.Instance) *sql.Conn {
	t.Helper()
	return clientAs(t, i, mariadbtest.App)
}

func say(t testing.TB, c *sql.Conn, statements ...string) {
	t.Helper()
	for _, st := range statements {
		if _, err := c.ExecContext(t.Context(), st); err != nil {
			t.Fatalf("%s: %v", st, err)
		}
	}
}

// ask runs a query to its end.
func ask(t testing.TB, c *sql.Conn, query string) {
	t.Helper()
	rows, err := c.QueryContext(t.Context(), query)
	must(t, err)
	for rows.Next() {
	}
	must(t, rows.Err())
	must(t, rows.Close())
}

// quiesced calls Quiesce with a long budget in the background.
func quiesced(t testing.TB, s *Server) <-chan error {
	done := make(chan error, 1)
	go func() {
		left, err := s.Quiesce(context.Background(), 0, patience)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("still open: %v", left)
		}
		done <- err
	}()
	return done
}

// notYet fails when a Quiesce has come back; it looks every 2 ms.
func notYet(t testing.TB, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		t.Fatalf("did not wait: returned %v", err)
	case <-time.After(200 * time.Millisecond):
	}
}

// stillWaits fails when Quiesce comes back before end is called, or does not after.
func stillWaits(t testing.TB, s *Server, end func()) {
	t.Helper()
	done := quiesced(t, s)
	notYet(t, done)
	end()
	must(t, <-done)
}

func TestQuiesce(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT d.t VALUES (1,0),(2,0)")
	c := clientOf(t, i)

	t.Run("an idle server is quiet at once", func(t *testing.T) {
		must(t, within(t, 5*time.Second, func() error { return <-quiesced(t, s) }))
	})
	t.Run("waits for an idle transaction with a write, to its commit", func(t *testing.T) {
		say(t, c, "BEGIN", "UPDATE t SET v = v + 1 WHERE id = 1")
		stillWaits(t, s, func() { say(t, c, "COMMIT") })
	})
	t.Run("or to its rollback", func(t *testing.T) {
		say(t, c, "BEGIN", "UPDATE t SET v = v + 1 WHERE id = 1")
		stillWaits(t, s, func() { say(t, c, "ROLLBACK") })
	})
	t.Run("waits for a transaction that has only read", func(t *testing.T) {
		say(t, c, "BEGIN")
		ask(t, c, "SELECT * FROM t")
		stillWaits(t, s, func() { say(t, c, "COMMIT") })
	})
	t.Run("waits for a transaction that has only read and writes meanwhile", func(t *testing.T) {
		say(t, c, "BEGIN")
		ask(t, c, "SELECT * FROM t")
		done := quiesced(t, s)
		notYet(t, done)
		say(t, c, "UPDATE t SET v = v + 1 WHERE id = 1")
		notYet(t, done) // it has an id now, and is the same
		say(t, c, "COMMIT")
		must(t, <-done)
	})
	t.Run("waits for a running statement", func(t *testing.T) {
		wait := make(chan struct{})
		go func() { defer close(wait); ask(t, c, "SELECT SLEEP(1)") }()
		eventually(t, "the statement runs", func() bool { return len(openNow(t, s)) == 1 })
		stillWaits(t, s, func() { <-wait })
	})
	t.Run("the statement that opens a transaction is followed into it", func(t *testing.T) {
		// LOCK TABLES of another session keeps the INSERT from reaching
		// InnoDB: it is a statement outside any transaction, for now.
		other := clientAs(t, i, mariadbtest.Stowage)
		say(t, other, "LOCK TABLES d.t WRITE")
		say(t, c, "BEGIN")
		wrote := make(chan struct{})
		go func() { defer close(wrote); say(t, c, "INSERT t VALUES (3,0)") }()
		eventually(t, "the INSERT waits", func() bool { return len(openNow(t, s)) == 1 })
		done := quiesced(t, s)
		notYet(t, done)
		say(t, other, "UNLOCK TABLES")
		<-wrote
		notYet(t, done)
		say(t, c, "COMMIT")
		must(t, <-done)
	})
	t.Run("returns the busy sessions at the end of the budget", func(t *testing.T) {
		say(t, c, "BEGIN", "UPDATE t SET v = v + 1 WHERE id = 1")
		defer say(t, c, "ROLLBACK")
		left, err := s.Quiesce(t.Context(), 0, 100*time.Millisecond)
		must(t, err)
		if len(left) != 1 || left[0].User != "app" || !strings.Contains(left[0].String(), fmt.Sprintf("session %d of app", left[0].Thread)) {
			t.Errorf("left over: %v, want one session of app", left)
		}
		if id := threadOf(t, c); left[0].Thread != id {
			t.Errorf("left over is session %d, want %d", left[0].Thread, id)
		}
	})
	t.Run("settle is waited first", func(t *testing.T) {
		begin := time.Now()
		must(t, second(s.Quiesce(t.Context(), 50*time.Millisecond, patience)))
		if time.Since(begin) < 50*time.Millisecond {
			t.Error("did not settle")
		}
	})
	t.Run("ends with its context", func(t *testing.T) {
		say(t, c, "BEGIN", "UPDATE t SET v = v + 1 WHERE id = 1")
		defer say(t, c, "ROLLBACK")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := within(t, 10*time.Second, func() error { return second(s.Quiesce(ctx, 0, patience)) })
		if err == nil {
			t.Error("an interrupted drain passes for a finished one")
		}
	})
}

// TestQuiesceAndOurOwnAccount: while it only reads it is not waited for. Once it has written it is: it may have looked at routing before the gate closed.
func TestQuiesceAndOurOwnAccount(t *testing.T) {
	t.Parallel() // it mostly waits
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		t.Parallel()
		i := l.Start(t, "a")
		s := open(t, i)
		i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT d.t VALUES (1,0),(2,0)")
		own := clientAs(t, i, mariadbtest.Stowage)
		say(t, own, "BEGIN")
		ask(t, own, "SELECT * FROM t")
		must(t, within(t, 5*time.Second, func() error { return <-quiesced(t, s) }))
		say(t, own, "UPDATE d.t SET v = v + 1 WHERE id = 2")
		stillWaits(t, s, func() { say(t, own, "COMMIT") })
	})
}

func second[T any](_ T, err error) error { return err }

func clientAs(t testing.TB, i *mariadbtest.Instance, as mariadbtest.Account) *sql.Conn {
	t.Helper()
	c, err := i.DB(t, as, "d").Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func openNow(t testing.TB, s *Server) map[uint64]session {
	t.Helper()
	open, err := s.openWork(t.Context())
	must(t, err)
	return open
}

func threadOf(t testing.TB, c *sql.Conn) (id uint64) {
	t.Helper()
	must(t, c.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))
	return id
}

// TestQuiesceEndsOnABusyServer: clients of the twin's own share of the traffic
// go on for ever. Each kind of work is so dense that most looks find it open.
func TestQuiesceEndsOnABusyServer(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT d.t VALUES (1,0),(2,0),(3,0),(4,0)")
	for _, kind := range []struct {
		name       string
		statements []string
	}{
		{"writes", []string{"BEGIN", "UPDATE t SET v = v + 1 WHERE id = %d", "SELECT SLEEP(0.02)", "COMMIT"}},
		{"single writes", []string{"UPDATE t SET v = v + 1 WHERE id = %d"}},
		{"reads that take their time", []string{"BEGIN", "SELECT * FROM t", "SELECT SLEEP(0.05)", "COMMIT"}},
		{"reads, then writes", []string{"BEGIN", "SELECT * FROM t", "SELECT SLEEP(0.02)", "UPDATE t SET v = v + 1 WHERE id = %d", "COMMIT"}},
		{"statements without tables", []string{"SELECT SLEEP(0.05)"}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan struct{}, 4)
			for n := range 4 {
				c := clientOf(t, i)
				go func() {
					defer func() { ended <- struct{}{} }()
					for ctx.Err() == nil {
						for _, st := range kind.statements {
							if strings.Contains(st, "%d") {
								st = fmt.Sprintf(st, n+1)
							}
							rows, err := c.QueryContext(t.Context(), st)
							if err != nil {
								t.Error(err)
								return
							}
							for rows.Next() {
							}
							if err := errors.Join(rows.Err(), rows.Close()); err != nil {
								t.Error(err)
								return
							}
						}
					}
				}()
			}
			eventually(t, "work is open", func() bool { return len(openNow(t, s)) > 0 })
			left, err := s.Quiesce(t.Context(), 0, patience)
			if err != nil || len(left) > 0 {
				t.Errorf("waited for work that began later: %v, %v", left, err)
			}
			cancel()
			for range 4 {
				<-ended
			}
		})
	}
}

// TestQuiesceIgnoresReplication: neither the replica's threads, busy with a
// long transaction, nor the source's dump thread are clients.
func TestQuiesceIgnoresReplication(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	mariadbtest.Ring(t, ai, bi)
	ai.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT d.t VALUES (1,0)")
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
	// The replica's applier waits for this row, in a transaction of its own.
	own := clientAs(t, bi, mariadbtest.Stowage)
	say(t, own, "BEGIN")
	ask(t, own, "SELECT * FROM d.t LOCK IN SHARE MODE") // it writes nothing
	ai.Exec(t, "UPDATE d.t SET v = 7 WHERE id = 1")
	eventually(t, "the applier waits for the row", func() bool {
		status, err := b.records(t.Context(), "SHOW ENGINE INNODB STATUS") // INNODB_TRX is not renewed for whoever asks this often
		must(t, err)
		return strings.Contains(status[0]["Status"], "TRX HAS BEEN WAITING")
	})
	for _, s := range []*Server{a, b} {
		must(t, within(t, 10*time.Second, func() error { return <-quiesced(t, s) }))
		if n, err := s.Clients(t.Context()); n != 0 || err != nil {
			t.Errorf("%s has %d clients, %v; replication and we are none", s.Name(), n, err)
		}
		if long, err := s.LongWork(t.Context(), 0); len(long) != 0 || err != nil {
			t.Errorf("%s has long work %v, %v; replication and we are none", s.Name(), long, err)
		}
	}
	say(t, own, "ROLLBACK")
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
}

// TestOpenTransactionFailsAtTheFence: read_only does not wait for an idle
// transaction, its COMMIT fails with 1290. That is why Quiesce comes first.
func TestOpenTransactionFailsAtTheFence(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	c := clientOf(t, i)
	if on, err := s.IsReadOnly(t.Context()); on || err != nil {
		t.Fatalf("a new server is read-only: %v, %v", on, err)
	}
	say(t, c, "BEGIN", "INSERT t VALUES (1)")
	for range 2 { // twice is as good as once
		must(t, within(t, 5*time.Second, func() error { return s.SetReadOnly(t.Context(), true) }))
		if on, err := s.IsReadOnly(t.Context()); !on || err != nil {
			t.Fatalf("fenced and not read-only: %v, %v", on, err)
		}
	}
	if _, err := c.ExecContext(t.Context(), "COMMIT"); CodeOf(err) != 1290 {
		t.Errorf("COMMIT behind the fence: %v, want error 1290", err)
	}
	if _, err := c.ExecContext(t.Context(), "INSERT t VALUES (2)"); CodeOf(err) != 1290 {
		t.Errorf("INSERT behind the fence: %v, want error 1290", err)
	}
	must(t, s.SetReadOnly(t.Context(), false))
	say(t, c, "INSERT t VALUES (3)")
	if got := i.Value(t, "SELECT GROUP_CONCAT(id) FROM d.t"); got != "3" {
		t.Errorf("the table holds %s, want 3 only", got)
	}
}

func TestLongWorkAndClients(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	c, idle := clientOf(t, i), clientOf(t, i)
	must(t, idle.PingContext(t.Context()))
	if n, err := s.Clients(t.Context()); n != 2 || err != nil {
		t.Errorf("%d clients, %v; want 2", n, err)
	}
	id := threadOf(t, c)
	say(t, c, "BEGIN", "INSERT t VALUES (1)")
	eventually(t, "the transaction is a second old", func() bool {
		long, err := s.LongWork(t.Context(), time.Second)
		must(t, err)
		return len(long) == 1 && long[0].Thread == id
	})
	if long, err := s.LongWork(t.Context(), time.Hour); len(long) != 0 || err != nil {
		t.Errorf("an hour old: %v, %v", long, err)
	}
	say(t, c, "COMMIT")
	// The answer to COMMIT comes a moment before the session is idle again.
	eventually(t, "nothing is open after the commit", func() bool {
		long, err := s.LongWork(t.Context(), 0)
		must(t, err)
		return len(long) == 0
	})
}
