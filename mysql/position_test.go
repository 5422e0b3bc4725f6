package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

func TestWaitFor(t *testing.T) {
	t.Parallel()
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	mariadbtest.Ring(t, ai, bi)
	ai.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)")
	bi.Exec(t, "CREATE DATABASE e")
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
	must(t, a.WaitFor(t.Context(), position(t, b), patience))

	t.Run("returns at once when there", func(t *testing.T) {
		must(t, within(t, 2*time.Second, func() error { return b.WaitFor(t.Context(), position(t, a), 0) }))
		must(t, within(t, 2*time.Second, func() error { return b.WaitFor(t.Context(), nil, 0) }))
	})

	t.Run("waits for what is under way", func(t *testing.T) {
		bi.Exec(t, "STOP SLAVE SQL_THREAD")
		ai.Exec(t, "INSERT d.t VALUES (2)")
		goal := position(t, a)
		bi.Exec(t, "START SLAVE SQL_THREAD")
		must(t, b.WaitFor(t.Context(), goal, patience))
		if got := bi.Value(t, "SELECT COUNT(*) FROM d.t"); got != "2" {
			t.Errorf("waited, and the row is not there: %s rows", got)
		}
	})

	t.Run("its own domain, though the ring is open", func(t *testing.T) {
		// MASTER_GTID_WAIT on one's own domain returns only when the ring
		// brings the events back.
		bi.Exec(t, "STOP SLAVE")
		defer bi.Exec(t, "START SLAVE")
		ai.Exec(t, "INSERT d.t VALUES (3)")
		goal := position(t, a).Only(ai.ServerID)
		if len(goal) != 1 {
			t.Fatalf("a has nothing in its own domain %d: %s", ai.ServerID, position(t, a))
		}
		must(t, within(t, 2*time.Second, func() error { return a.WaitFor(t.Context(), goal, patience) }))
	})
	must(t, b.WaitFor(t.Context(), position(t, a), patience))

	t.Run("a domain the server has never heard of", func(t *testing.T) {
		never := PositionOf(GTID{4242, 4242, 9})
		err := b.WaitFor(t.Context(), never, 100*time.Millisecond)
		if !errors.Is(err, ErrBehind) || !strings.Contains(err.Error(), "4242-4242-9") {
			t.Errorf("error %v, want ErrBehind with the GTID", err)
		}
	})

	t.Run("late: says what is missing", func(t *testing.T) {
		goal := position(t, a)
		g := goal.Last(ai.ServerID)
		g.Seq += 100
		goal[OriginOf(ai.ServerID)] = Stretch{Last: g}
		err := within(t, 10*time.Second, func() error { return b.WaitFor(t.Context(), goal, 200*time.Millisecond) })
		if !errors.Is(err, ErrBehind) || !strings.Contains(err.Error(), g.String()) || !strings.Contains(err.Error(), "applied ") {
			t.Errorf("error %v, want ErrBehind with %s and what is applied", err, g)
		}
	})

	t.Run("ends with its context", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := within(t, 10*time.Second, func() error { return b.WaitFor(ctx, PositionOf(GTID{4242, 4242, 9}), patience) })
		if err == nil || errors.Is(err, ErrBehind) {
			t.Errorf("interrupted: %v", err)
		}
	})

	t.Run("a dead SQL thread is reported, not sat out", func(t *testing.T) {
		bi.Exec(t, "SET SESSION sql_log_bin=0", "INSERT d.t VALUES (77)") // the twin's row will be a duplicate
		ai.Exec(t, "INSERT d.t VALUES (77)")
		goal := position(t, a)
		err := within(t, 15*time.Second, func() error { return b.WaitFor(t.Context(), goal, 10*time.Minute) })
		if err == nil || errors.Is(err, ErrBehind) || !strings.Contains(err.Error(), "SQL thread stopped") || !strings.Contains(err.Error(), "1062") && !strings.Contains(err.Error(), "Duplicate entry") {
			t.Errorf("error %v, want the applier's duplicate key", err)
		}
	})

	t.Run("a server that does not replicate", func(t *testing.T) {
		_, lone := start(t, "lone")
		err := within(t, 5*time.Second, func() error { return lone.WaitFor(t.Context(), position(t, a), 10*time.Minute) })
		if err == nil || !strings.Contains(err.Error(), "not configured") {
			t.Errorf("error %v, want that replication is not configured", err)
		}
	})
}

// TestPositionAt: what a backup writes down, file and offset, is a position
// only the source can name.
func TestPositionAt(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	for n := range 3 {
		i.Exec(t, fmt.Sprintf("INSERT d.t VALUES (%d)", n))
		status := masterStatus(t, i)
		at, err := s.PositionAt(t.Context(), status.file, status.offset)
		must(t, err)
		if !at.Equal(position(t, s)) {
			t.Errorf("%s:%d is %s, the server is at %s", status.file, status.offset, at, position(t, s))
		}
		i.Exec(t, "FLUSH BINARY LOGS")
	}
	first, err := s.PositionAt(t.Context(), masterStatus(t, i).file, 4)
	must(t, err)
	if !first.Equal(position(t, s)) {
		t.Errorf("the start of a new file is %s, want %s", first, position(t, s))
	}
	_, err = s.PositionAt(t.Context(), "bl.000777", 4)
	if err == nil || !strings.Contains(err.Error(), "bl.000777:4 is not in the binary log any more") {
		t.Errorf("a purged file: %v", err)
	}
}

// TestHasLogged: a place in the log is the same one as long as the log is, also when it was purged since.
func TestHasLogged(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "FLUSH BINARY LOGS", "INSERT d.t VALUES (1)")
	status, at := masterStatus(t, i), position(t, s)
	is := func(want bool, when string) {
		t.Helper()
		if got, err := s.HasLogged(t.Context(), status.file, status.offset, at); err != nil || got != want {
			t.Errorf("%s: %v, %v", when, got, err)
		}
	}
	is(true, "at once")
	i.Exec(t, "INSERT d.t VALUES (2)", "FLUSH BINARY LOGS")
	is(true, "and written to since")
	if got, err := s.HasLogged(t.Context(), status.file, status.offset, position(t, s)); err != nil || got {
		t.Errorf("another position there: %v, %v", got, err)
	}
	i.Exec(t, "PURGE BINARY LOGS TO '"+masterStatus(t, i).file+"'")
	is(true, "purged")
	i.Exec(t, "RESET MASTER")
	is(false, "begun again")
}

type binlogPlace struct {
	file   string
	offset int64
}

func masterStatus(t testing.TB, i *mariadbtest.Instance) (p binlogPlace) {
	t.Helper()
	var a, b string
	must(t, i.DB(t, mariadbtest.Stowage, "").QueryRow("SHOW MASTER STATUS").Scan(&p.file, &p.offset, &a, &b))
	return p
}

func TestServerIDsInBinlog(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	mariadbtest.Ring(t, ai, bi)
	ai.Exec(t, "CREATE DATABASE d")
	bi.Exec(t, "CREATE DATABASE e", "SET SESSION server_id = 777", "CREATE DATABASE f") // an owner that is long gone
	must(t, a.WaitFor(t.Context(), position(t, b), patience))
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
	ids, err := a.ServerIDsInBinlog(t.Context())
	must(t, err)
	known := fmt.Sprint(ids)
	for _, want := range []uint32{ai.ServerID, bi.ServerID, 777} {
		if !strings.Contains(known, fmt.Sprint(want)) {
			t.Errorf("ids in the binary log are %v, want %d among them", ids, want)
		}
	}
}

// TestAdopt: an instance with the data of another and an empty binary log takes
// its place in history, and may be asked again at any time.
func TestAdopt(t *testing.T) {
	t.Parallel()
	ai, a := start(t, "a")
	ai.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)")
	// The state a copy of a replica comes in: a source it must forget, an
	// applied position of somebody else's, nothing in its own binary log.
	ci, c := start(t, "copy")
	ci.Exec(t, "SET SESSION sql_log_bin=0", "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)",
		"SET GLOBAL gtid_slave_pos='9-9-9'", "CHANGE MASTER TO MASTER_HOST='127.0.0.9', MASTER_USER='x', MASTER_PASSWORD='x'")
	p := position(t, a)
	for range 2 {
		must(t, c.Adopt(t.Context(), p))
		applied, err := c.AppliedPosition(t.Context())
		must(t, err)
		if !applied.Equal(p) || !position(t, c).Equal(p) {
			t.Fatalf("stands at %s with %s in its binary log, want %s", applied, position(t, c), p)
		}
		if r, err := c.Replication(t.Context()); err != nil || r.Configured {
			t.Errorf("has not forgotten its source: %+v, %v", r, err)
		}
	}
	ci.Kill() // what it adopted survives a crash
	ci.Restart(t)
	if got := position(t, c); !got.Equal(p) {
		t.Errorf("after a crash the binary log stands at %s, want %s", got, p)
	}

	follow(t, c, ai)
	ai.Exec(t, "INSERT d.t VALUES (2)")
	must(t, c.WaitFor(t.Context(), position(t, a), patience))
	if got := ci.Value(t, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"); got != "1,2" {
		t.Errorf("the copy holds %s, want 1,2", got)
	}

	// Asked again late, it must not throw back an instance that went on.
	before := position(t, c)
	must(t, c.Adopt(t.Context(), p))
	if got := position(t, c); !got.Equal(before) {
		t.Errorf("adopting an old place again moved it from %s to %s", before, got)
	}
	if r, err := c.Replication(t.Context()); err != nil || !r.Running() {
		t.Errorf("and stopped its replication: %+v, %v", r, err)
	}
}

// TestAdoptAfterEachStep: killed anywhere between its statements, Adopt comes
// to the same place when it is called again.
func TestAdoptAfterEachStep(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	p, err := ParsePosition("3-33-7,4-44-9")
	must(t, err)
	_, s := start(t, "copy")
	for _, half := range [][]string{
		{},
		{"SET GLOBAL gtid_slave_pos = ''", "RESET MASTER"},
		{"SET GLOBAL gtid_slave_pos = ''", "RESET MASTER", "SET GLOBAL gtid_binlog_state = '3-33-7,4-44-9'"},
	} {
		for _, st := range half {
			must(t, s.exec(t.Context(), st))
		}
		must(t, s.Adopt(t.Context(), p))
		applied, err := s.AppliedPosition(t.Context())
		must(t, err)
		if !applied.Equal(p) || !position(t, s).Equal(p) {
			t.Errorf("after %d statements and again: applied %s, binary log %s, want %s", len(half), applied, position(t, s), p)
		}
	}
}
