package copier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
	"stowage/mysql"
)

// startNative is start for a target that follows by its own replication, and
// which has a database of its own with a name that the source knows too.
func startNative(t *testing.T, statements ...string) *farmOfTwo {
	t.Helper()
	f := start(t, statements...)
	f.native = true
	f.c = f.copy(t)
	for i, place := range []*mariadbtest.Instance{f.from, f.to} {
		place.Exec(t, "CREATE DATABASE ops", "CREATE TABLE ops.beat (id INT PRIMARY KEY, n INT NOT NULL)", fmt.Sprintf("INSERT INTO ops.beat VALUES (1, %d)", i))
	}
	return f
}

// links is how many connections of Stowage's the target has.
func (f *farmOfTwo) links(t *testing.T) int {
	t.Helper()
	names, err := f.c.To.Links(t.Context())
	must(t, err)
	return len(names)
}

// parted checks that the target is as a server that never followed the source:
// no connection, and no position that its binary log does not have.
func (f *farmOfTwo) parted(t *testing.T) {
	t.Helper()
	if n := f.links(t); n != 0 {
		t.Errorf("%d connections are left on the target", n)
	}
	applied, err := f.c.To.AppliedPosition(t.Context())
	must(t, err)
	written, err := f.c.To.BinlogPosition(t.Context())
	must(t, err)
	if d := f.from.ServerID; applied.Last(d).Seq == 0 || applied.Last(d) != written.Last(d) {
		t.Errorf("of the source's domain %s is noted as applied, %s is in the binary log", applied.Last(d), written.Last(d))
	}
	if n := f.to.Value(t, "SELECT n FROM ops.beat"); n != "1" {
		t.Errorf("the source's rows of another database came along: ops.beat is %s", n)
	}
}

// A target that follows by itself gets every row, while clients write to the
// database and to its neighbours; and everything written there comes back.
func TestNativeThereAndBack(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startNative(t, busy...)
	f.from.Exec(t, "CREATE TRIGGER shop.up BEFORE INSERT ON shop.k FOR EACH ROW SET NEW.v = NEW.v + 1")
	beat := func() {
		f.from.Exec(t, "UPDATE ops.beat SET n = n + 100", "USE shop", "UPDATE ops.beat SET n = n + 100")
	}
	stop := f.writers(t, f.from, 3)
	beat()
	f.carried(t)
	if n := f.links(t); n != 1 {
		t.Fatalf("%d connections on the target", n)
	}
	f.clean(t)
	beat()
	must(t, f.c.Recheck(t.Context()))
	f.clean(t)
	f.cutOver(t)
	if n := stop(); n < 20 {
		t.Fatalf("the writers did only %d changes, which shows nothing", n)
	}
	f.equal(t, mysql.AsidePrefix)
	beat()
	f.parted(t)
	stop = f.writers(t, f.to, 2)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.c.Back(ctx) }()
	time.Sleep(100 * time.Millisecond)
	cancel()
	must(t, <-ended)
	fence, err := f.c.FenceBack(t.Context())
	must(t, err)
	must(t, fence.Reach(t.Context()))
	must(t, fence.Rename(t.Context()))
	must(t, fence.Unlock(t.Context()))
	stop()
	was, is := dump(t, f.to, mysql.AsidePrefix), dump(t, f.from, "")
	for table := range was {
		if strings.Join(was[table], ";") != strings.Join(is[table], ";") {
			t.Errorf("%s: %d rows on the target, %d came back", table, len(was[table]), len(is[table]))
		}
	}
	must(t, f.c.Discard(t.Context()))
	f.parted(t)
}

// What the filters pass over in silence ends the job: a definition that is
// changed from elsewhere, and a transaction of a GTID domain that nobody knows.
func TestNativeGuard(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	for name, statements := range map[string][]string{
		"definition": {"USE ops", "ALTER TABLE shop.r ADD COLUMN w INT", "INSERT INTO shop.r VALUES (7, 7, 7)"},
		"truncated":  {"USE ops", "TRUNCATE shop.r"},
		"new table":  {"CREATE TABLE shop.fresh (id INT PRIMARY KEY)"},
		"domain":     {"SET SESSION gtid_domain_id = 4711", "INSERT INTO shop.r VALUES (7, 7)"},
		"statement":  {"SET SESSION binlog_format = STATEMENT", "USE shop", "INSERT INTO r VALUES (7, 7)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := startNative(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1)")
			f.carried(t)
			f.from.Exec(t, statements...)
			_, err := f.c.Fence(t.Context())
			if !errors.Is(err, ErrDefinition) {
				t.Fatalf("%v, want a refusal", err)
			}
			must(t, f.c.Unfence(t.Context()))
			must(t, f.c.Discard(t.Context()))
			if n := f.links(t); n != 0 {
				t.Errorf("%d connections are left", n)
			}
		})
	}
}

// The target is killed while it follows, and comes back with its connection and
// without its filters: nothing of the source's other databases is applied, and
// the copier hands over anew. A connection that was started without filters
// is stopped, and refused.
func TestNativeTargetKilled(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	f := startNative(t, busy...)
	stop := f.writers(t, f.from, 2)
	f.carried(t)
	for range 2 {
		time.Sleep(50 * time.Millisecond)
		f.to.Kill()
		f.from.Exec(t, "UPDATE ops.beat SET n = n + 100")
		f.to.Restart(t)
		f.clean(t)
		must(t, f.c.Recheck(t.Context()))
	}
	stop()
	f.from.Kill()
	f.from.Restart(t)
	stop = f.writers(t, f.from, 2)
	f.clean(t)
	f.cutOver(t)
	stop()
	f.equal(t, mysql.AsidePrefix)
	f.parted(t)
}

// The same where a server replicates as soon as it is started: the filters stand
// in its option file by then, and nothing runs without them.
func TestNativeFiltersLast(t *testing.T) {
	t.Parallel() // it mostly waits
	f := &farmOfTwo{native: true, from: mariadbtest.Start(t, "source"), to: mariadbtest.Start(t, "target", "skip-slave-start=0")}
	for i, place := range []*mariadbtest.Instance{f.from, f.to} {
		place.Exec(t, "CREATE DATABASE ops", "CREATE TABLE ops.beat (id INT PRIMARY KEY, n INT NOT NULL)", fmt.Sprintf("INSERT INTO ops.beat VALUES (1, %d)", i))
	}
	f.from.Exec(t, append([]string{"CREATE DATABASE shop", "USE shop"}, busy...)...)
	f.c = f.copy(t)
	var kept []string
	f.c.Native.Last = func(_ context.Context, lines []string) error {
		kept = lines
		f.to.SetOptions(lines...)
		return nil
	}
	f.carried(t)
	f.to.Kill()
	f.from.Exec(t, "UPDATE ops.beat SET n = n + 100", "INSERT INTO shop.k (id, v) VALUES (100001, 1)")
	f.to.Restart(t)
	for range 2000 { // by itself
		if f.to.Value(t, "SELECT COUNT(*) FROM shop.k WHERE id = 100001") == "1" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := f.to.Value(t, "SELECT n FROM ops.beat"); n != "1" {
		t.Errorf("the source's rows of another database came along: ops.beat is %s", n)
	}
	f.clean(t)
	f.cutOver(t)
	f.equal(t, mysql.AsidePrefix)
	f.parted(t)
	if must(t, f.c.Settle(t.Context())); kept != nil {
		t.Errorf("left in the option file: %v", kept)
	}
}

func TestNativeWithoutFilters(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startNative(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1)")
	f.carried(t)
	f.to.Kill()
	f.to.Restart(t)
	f.to.Exec(t, "START ALL SLAVES")
	if _, err := f.c.Compare(t.Context()); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "without its filters") {
		t.Fatalf("%v, want a refusal", err)
	}
	is, err := f.c.To.LinkState(t.Context(), f.c.link(nil))
	must(t, err)
	if !is.IsStopped() {
		t.Error("it runs still")
	}
	must(t, f.c.Discard(t.Context()))
}

// Rows that differ stop the target's replication. Before the cutover the copier
// goes on, and all is compared again; at the cutover it is refused.
func TestNativeStopsAtADifference(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startNative(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1), (2, 2)")
	f.carried(t)
	f.clean(t)
	f.to.Exec(t, "DELETE FROM shop.r WHERE id = 1")
	f.from.Exec(t, "UPDATE shop.r SET v = 3 WHERE id = 1")
	for is := (mysql.LinkState{}); is.Error == ""; time.Sleep(10 * time.Millisecond) {
		var err error
		is, err = f.c.To.LinkState(t.Context(), f.c.link(nil))
		must(t, err)
	}
	if _, err := f.c.Fence(t.Context()); !errors.Is(err, farm.ErrRefused) {
		t.Fatalf("%v, want a refusal", err)
	}
	f.clean(t)
	f.cutOver(t)
	f.equal(t, mysql.AsidePrefix)
}

// TestNativeKilledAndResumed is TestKilledAndResumed with a target that follows
// by itself.
func TestNativeKilledAndResumed(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	f := startNative(t, busy...)
	killAndResume(t, f)
	f.parted(t)
}
