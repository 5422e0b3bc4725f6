package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// pairOf is an active-active ring of two servers of one line.
func pairOf(t *testing.T, l mariadbtest.Line) (ai, bi *mariadbtest.Instance, a, b *Server) {
	t.Helper()
	ai = l.Start(t, "a")
	bi = l.Start(t, "b", "--auto-increment-offset=2")
	a, b = open(t, ai), open(t, bi)
	follow(t, b, ai)
	follow(t, a, bi)
	return ai, bi, a, b
}

// TestOnEveryFlavor: what a move asks of a server, and tells it, means the same
// on every line that Stowage says it can move.
func TestOnEveryFlavor(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		ai, bi, a, b := pairOf(t, l)
		ai.Exec(t, "CREATE DATABASE shard1", "USE shard1",
			"CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(40) NOT NULL, f FLOAT, d DATETIME(6), b BIT(9), e ENUM('x','y'), x TEXT)",
			"INSERT t (v,f,d,b,e,x) VALUES ('a',1.1,'2020-01-02 03:04:05.678901',b'101','y','long'), ('é',NULL,NULL,NULL,NULL,NULL)")
		must(t, b.WaitFor(t.Context(), position(t, a), patience))
		bi.Exec(t, "INSERT shard1.t (v) VALUES ('from b')")
		must(t, b.WaitFor(t.Context(), position(t, a), patience))
		must(t, a.WaitFor(t.Context(), position(t, b), patience))
		for _, part := range []struct {
			name string
			test func(t *testing.T, ai, bi *mariadbtest.Instance, a, b *Server)
		}{
			{"facts", flavorFacts},
			{"fence", flavorFence},
			{"open work", flavorOpenWork},
			{"events", flavorEvents},
			{"pool", flavorPool},
			{"what cannot be copied", flavorUncopyable},
			{"handing over", flavorHandOver},
			{"behind and broken", flavorBroken},
		} {
			t.Run(part.name, func(t *testing.T) { part.test(t, ai, bi, a, b) })
		}
	})
}

func flavorFacts(t *testing.T, ai, bi *mariadbtest.Instance, a, b *Server) {
	f, err := a.Facts(t.Context())
	must(t, err)
	if !strings.HasPrefix(ai.Value(t, "SELECT VERSION()"), f.Flavor.Version) || f.Flavor.Version == "" || f.Flavor.TooOld() != "" {
		t.Errorf("flavor %+v of %s", f.Flavor, ai.Value(t, "SELECT VERSION()"))
	}
	r := f.Replication
	if !r.Running() || !r.Follows(bi.Address) || r.Sources != 1 || r.UsingGTID != "Slave_Pos" || !r.BehindOK || r.Filters != "" {
		t.Errorf("replication %+v", r)
	}
	if f.ServerID != ai.ServerID || f.Variables["log_slave_updates"] != "ON" || f.Variables["binlog_row_image"] != "FULL" || f.Variables["binlog_format"] != "ROW" {
		t.Errorf("server %d, variables %v", f.ServerID, f.Variables)
	}
	if f.Shards["shard1"] < 16384 {
		t.Errorf("bytes of shards %v", f.Shards)
	}
	if len(f.Binlog) != 2 || !f.Applied.Reached(f.Binlog) && f.Flavor.HasGTIDDomains() == false {
		t.Errorf("written %s, applied %s", f.Binlog, f.Applied)
	}
	if f.Variables["auto_increment_offset"] != "1" || ai.Value(t, "SELECT MAX(id) % 2 FROM shard1.t WHERE v = 'a'") != "1" || ai.Value(t, "SELECT id % 2 FROM shard1.t WHERE v = 'from b'") != "0" {
		t.Error("the sides give out the same keys")
	}
}

// flavorFence: nobody but replication writes; afterwards everybody does.
func flavorFence(t *testing.T, ai, bi *mariadbtest.Instance, a, b *Server) {
	app := ai.DB(t, mariadbtest.App, "shard1")
	must(t, a.SetReadOnly(t.Context(), true))
	if _, err := app.Exec("INSERT t (v) VALUES ('fenced')"); CodeOf(err) != 1290 {
		t.Errorf("a write on a fenced server: %v", err)
	}
	flavor, err := a.Flavor(t.Context())
	must(t, err)
	if _, err := ai.DB(t, mariadbtest.Root, "shard1").Exec("INSERT t (v) VALUES ('fenced')"); !flavor.HasGTIDDomains() && CodeOf(err) != 1290 {
		t.Errorf("a write of root's on a fenced server: %v", err) // super_read_only; MariaDB's fence does not stop root
	}
	bi.Exec(t, "INSERT shard1.t (v) VALUES ('through replication')")
	must(t, a.WaitFor(t.Context(), position(t, b), patience))
	if on, err := a.IsReadOnly(t.Context()); err != nil || !on {
		t.Errorf("read-only %v, %v", on, err)
	}
	must(t, a.SetReadOnly(t.Context(), false))
	if _, err := app.Exec("INSERT t (v) VALUES ('open')"); err != nil {
		t.Errorf("a write after the fence: %v", err)
	}
	must(t, a.SetScheduler(t.Context(), true))
	must(t, a.SetScheduler(t.Context(), false))
	if v := ai.Value(t, "SELECT @@GLOBAL.event_scheduler"); v != "OFF" {
		t.Errorf("event_scheduler is %s", v)
	}
}

// flavorOpenWork: a transaction that has read, one that has written and a
// statement without one are all waited for, and a new one is not taken for the
// old.
func flavorOpenWork(t *testing.T, ai, _ *mariadbtest.Instance, a, _ *Server) {
	ctx := t.Context()
	for _, c := range []struct {
		name, first string
		known       bool // it has an id by which it is told from the next one on any flavor
	}{
		{"a transaction that has locked", "SELECT * FROM t WHERE id = 1 FOR UPDATE", false},
		{"a transaction that has read", "SELECT COUNT(*) FROM t", false},
		{"a transaction that has written", "UPDATE t SET v = CONCAT(v, '.') WHERE id = 1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := ai.DB(t, mariadbtest.App, "shard1").Conn(ctx)
			must(t, err)
			defer conn.Close()
			speak(t, conn, "BEGIN", c.first)
			left, err := a.Quiesce(ctx, 0, 300*time.Millisecond)
			if err != nil || len(left) != 1 || left[0].User != "app" {
				t.Fatalf("with it open: %v, %v; want one session of app", left, err)
			}
			done := make(chan error, 1)
			go func() {
				left, err := a.Quiesce(ctx, 0, patience)
				if err == nil && len(left) > 0 {
					err = fmt.Errorf("left %v", left)
				}
				done <- err
			}()
			time.Sleep(50 * time.Millisecond)
			speak(t, conn, "COMMIT")
			if c.known {
				speak(t, conn, "BEGIN", "UPDATE t SET v = CONCAT(v, '!') WHERE id = 1") // the next one is not waited for
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			speak(t, conn, "ROLLBACK")
		})
	}
	t.Run("a statement", func(t *testing.T) {
		db := ai.DB(t, mariadbtest.App, "shard1")
		finished := make(chan error, 1)
		go func() { _, err := db.Exec("DO SLEEP(1.2)"); finished <- err }()
		eventually(t, "the statement is seen", func() bool {
			long, err := a.LongWork(ctx, 300*time.Millisecond)
			return err == nil && len(long) == 1
		})
		left, err := a.Quiesce(ctx, 0, patience)
		if err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
		must(t, <-finished)
	})
	must(t, ai.DB(t, mariadbtest.App, "shard1").Ping())
	if n, err := a.Clients(ctx); err != nil || n < 1 {
		t.Errorf("%d clients, %v; those of this test are still connected", n, err)
	}
}

func speak(t testing.TB, conn *sql.Conn, statements ...string) {
	t.Helper()
	for _, st := range statements {
		if _, err := conn.ExecContext(context.Background(), st); err != nil {
			t.Fatalf("%s: %v", st, err)
		}
	}
}

func flavorEvents(t *testing.T, ai, bi *mariadbtest.Instance, a, b *Server) {
	ai.Exec(t, "CREATE USER definer", "CREATE DEFINER = definer@'%' EVENT shard1.e ON SCHEDULE EVERY 1 HOUR DO DELETE FROM shard1.t WHERE id < 0",
		"CREATE EVENT shard1.off ON SCHEDULE EVERY 1 HOUR DISABLE DO DELETE FROM shard1.t WHERE id < 0")
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
	mine, err := a.ScheduledEvents(t.Context())
	must(t, err)
	its, err := b.ScheduledEvents(t.Context())
	must(t, err)
	if len(mine) != 2 || mine[0].Status != "ENABLED" || len(its) != 2 || its[0].Status != "SLAVESIDE_DISABLED" {
		t.Fatalf("on the side it was made: %+v\non the other: %+v", mine, its)
	}
	before := position(t, b)
	must(t, b.SetReadOnly(t.Context(), false))
	must(t, b.SetEvents(t.Context(), mine))
	must(t, b.SetEvents(t.Context(), its))
	if after := position(t, b); !after.Equal(before) {
		t.Errorf("it is in the binary log: %s, was %s", after, before)
	}
	now, err := b.ScheduledEvents(t.Context())
	if err != nil || !slices.Equal(now, its) {
		t.Errorf("%+v, %v; want %+v", now, err, its)
	}
}

func flavorPool(t *testing.T, _, _ *mariadbtest.Instance, a, _ *Server) {
	must(t, a.DumpPool(t.Context(), true, patience))
	must(t, second(a.LoadPool(t.Context(), patience)))
	if n, err := a.PoolPages(t.Context()); err != nil || n == 0 {
		t.Errorf("%d pages, %v", n, err)
	}
}

func flavorUncopyable(t *testing.T, ai, _ *mariadbtest.Instance, a, _ *Server) {
	ai.Exec(t, "SET sql_log_bin = 0", "CREATE DATABASE odd", "CREATE TABLE odd.isam (id INT PRIMARY KEY) ENGINE=MyISAM", "CREATE TABLE odd.no_key (a INT)",
		"CREATE TABLE odd.good (a INT PRIMARY KEY)")
	defer ai.Exec(t, "SET sql_log_bin = 0", "DROP DATABASE odd")
	bad, err := a.Uncopyable(t.Context())
	if err != nil || len(bad) != 2 || bad["odd.isam"] == "" || bad["odd.no_key"] == "" {
		t.Errorf("%v, %v", bad, err)
	}
}

// flavorBroken: a replica that cannot apply is told from one that is late, and
// one whose source is gone from one that is slow.
func flavorBroken(t *testing.T, ai, bi *mariadbtest.Instance, a, b *Server) {
	ctx := t.Context()
	bi.Exec(t, "SET sql_log_bin = 0", "INSERT shard1.t (id, v) VALUES (1000001, 'in the way')")
	ai.Exec(t, "INSERT shard1.t (id, v) VALUES (1000001, 'duplicate')")
	err := within(t, patience, func() error { return b.WaitFor(ctx, position(t, a), patience*2) })
	if err == nil || errors.Is(err, ErrBehind) || !strings.Contains(err.Error(), "SQL thread stopped") {
		t.Errorf("waiting for a replica that cannot apply: %v", err)
	}
	bi.Exec(t, "SET sql_log_bin = 0", "DELETE FROM shard1.t WHERE id = 1000001")
	must(t, b.Follow(ctx, ai.Address, replication, patience))
	must(t, b.WaitFor(ctx, position(t, a), patience))
	wrong := Account{User: replication.User, Password: "wrong-password"}
	err = b.Follow(ctx, "127.0.77.250:23306", wrong, 2*time.Second)
	if err == nil || strings.Contains(err.Error(), "wrong-password") {
		t.Errorf("following nobody: %v", err)
	}
	must(t, b.Follow(ctx, ai.Address, replication, patience))
}

// flavorHandOver is what a cutover of a pair with one writer is made of.
func flavorHandOver(t *testing.T, ai, bi *mariadbtest.Instance, a, b *Server) {
	replicas, others, err := a.Readers(t.Context())
	must(t, err)
	if len(replicas) != 1 || others != 0 || fmt.Sprint(replicas[0].ServerID) != bi.Value(t, "SELECT @@server_id") {
		t.Errorf("readers %+v and %d more, want b", replicas, others)
	}
	if replicas[0].Address != bi.Address || replicas[0].Port != bi.Port {
		t.Errorf("reader %+v, want %s", replicas[0], bi.Address)
	}
	hosts, err := a.ReaderHosts(t.Context())
	must(t, err)
	if len(hosts) != 1 || net.ParseIP(hosts[0]) == nil {
		t.Errorf("the binary log is read from %v, want one address", hosts)
	}
	sources, err := b.Sources(t.Context())
	must(t, err)
	if len(sources) != 1 || sources[0].Address() != ai.Address || sources[0].ServerID != ai.ServerID {
		t.Errorf("b replicates from %+v, want %s", sources, ai.Address)
	}
	must(t, a.EndOrphanedLock(t.Context()))
	lock, err := a.LockWrites(t.Context(), 5*time.Second, 15*time.Second)
	must(t, err)
	at, err := lock.Position(t.Context())
	must(t, err)
	if now := position(t, a); !now.Equal(at) {
		t.Errorf("behind the lock %s, the server says %s", at, now)
	}
	if _, err := a.LockWrites(t.Context(), time.Second, 15*time.Second); err == nil {
		t.Error("two cutovers hold the lock at once")
	}
	must(t, open(t, ai).EndOrphanedLock(t.Context())) // as another program does
	if _, err := lock.Position(t.Context()); err == nil {
		t.Error("a lock whose session was ended still answers")
	}
	_ = lock.Release(t.Context())
	must(t, b.WaitFor(t.Context(), at, patience))

	must(t, a.ForgetSource(t.Context()))
	must(t, a.SetReadOnly(t.Context(), true))
	bi.Exec(t, "INSERT shard1.t (v) VALUES ('on the next')")
	for range 2 { // again is harmless
		must(t, a.Demote(t.Context(), bi.Address, replication, patience))
	}
	must(t, a.WaitFor(t.Context(), position(t, b), patience))
	if n := ai.Value(t, "SELECT COUNT(*) FROM shard1.t WHERE v = 'on the next'"); n != "1" {
		t.Errorf("the server that was demoted has %s of the new rows, want 1", n)
	}
	must(t, a.SetReadOnly(t.Context(), false))
	if _, err := a.Privileged(t.Context()); err != nil {
		t.Error(err)
	}
}
