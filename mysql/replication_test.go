package mysql

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

func TestFollow(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	ai.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	follow(t, b, ai)
	must(t, b.WaitFor(t.Context(), position(t, a), patience))

	t.Run("again: nothing happens", func(t *testing.T) {
		thread := dumpThread(t, ai)
		follow(t, b, ai)
		if now := dumpThread(t, ai); now != thread || now == "" {
			t.Errorf("the connection to the source was %s and is %s: it was torn down", thread, now)
		}
	})
	t.Run("after a stop: goes on", func(t *testing.T) {
		must(t, b.StopReplicating(t.Context()))
		must(t, b.StopReplicating(t.Context()))
		ai.Exec(t, "INSERT d.t VALUES (1)")
		follow(t, b, ai)
		must(t, b.WaitFor(t.Context(), position(t, a), patience))
	})
	t.Run("another source", func(t *testing.T) {
		ci, c := start(t, "c")
		follow(t, c, ai)
		must(t, c.WaitFor(t.Context(), position(t, a), patience))
		follow(t, b, ci)
		r, err := b.Replication(t.Context())
		if err != nil || !r.Follows(ci.Address) || r.Follows(ai.Address) || r.UsingGTID != "Slave_Pos" {
			t.Errorf("%+v, %v; want to follow %s", r, err, ci.Address)
		}
		ai.Exec(t, "INSERT d.t VALUES (2)")
		must(t, b.WaitFor(t.Context(), position(t, a), patience))
		follow(t, b, ai)
	})
	t.Run("forgets its source", func(t *testing.T) {
		for range 2 {
			must(t, b.ForgetSource(t.Context()))
			if r, err := b.Replication(t.Context()); err != nil || r.Configured || r.Sources != 0 {
				t.Errorf("%+v, %v", r, err)
			}
		}
		follow(t, b, ai)
	})
	t.Run("after a broken applier: the old error is not taken for a new one", func(t *testing.T) {
		bi.Exec(t, "SET SESSION sql_log_bin=0", "INSERT d.t VALUES (10)")
		ai.Exec(t, "INSERT d.t VALUES (10)")
		eventually(t, "the applier stops", func() bool {
			r, err := b.Replication(t.Context())
			must(t, err)
			return r.SQL == "No" && r.SQLError != ""
		})
		bi.Exec(t, "SET SESSION sql_log_bin=0", "DELETE FROM d.t WHERE id = 10")
		follow(t, b, ai)
		must(t, b.WaitFor(t.Context(), position(t, a), patience))
	})
}

// dumpThread is the id of the source's thread that feeds its replica; a
// replica that connects anew gets another.
func dumpThread(t testing.TB, source *mariadbtest.Instance) string {
	t.Helper()
	return source.Value(t, "SELECT MAX(ID) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'")
}

// TestFollowReports1236AtOnce: the source has never had, or no longer has,
// what the replica asks for. The IO thread says Yes for a moment before it
// hears of it, so a short look is not enough; hence several rounds.
func TestFollowReports1236AtOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	// With ignore_duplicates a replica may be ahead of its source; see below.
	bi, b := start(t, "b", "--gtid-ignore-duplicates=0")
	ai.Exec(t, "CREATE DATABASE d", "FLUSH BINARY LOGS", "CREATE DATABASE e", "FLUSH BINARY LOGS")
	for _, kind := range []struct{ name, at string }{
		{"ahead of the source", fmt.Sprintf("%d-%d-99", ai.ServerID, ai.ServerID)},
		{"purged on the source", ""},
	} {
		t.Run(kind.name, func(t *testing.T) {
			if kind.at == "" {
				file := masterStatus(t, ai).file
				ai.Exec(t, "PURGE BINARY LOGS TO '"+file+"'")
			}
			for round := range 15 {
				must(t, b.ForgetSource(t.Context()))
				if round%3 == 0 { // once with the memory of a start that went well
					bi.Exec(t, "SET GLOBAL gtid_slave_pos='"+position(t, a).String()+"'")
					follow(t, b, ai)
					must(t, b.StopReplicating(t.Context()))
				}
				bi.Exec(t, "SET GLOBAL gtid_slave_pos='"+kind.at+"'")
				err := within(t, 15*time.Second, func() error { return b.Follow(t.Context(), ai.Address, replication, 10*time.Minute) })
				if err == nil || !strings.Contains(err.Error(), "1236") {
					t.Fatalf("round %d: %v, want error 1236", round, err)
				}
			}
		})
	}
	t.Run("ahead, and no error with gtid_ignore_duplicates", func(t *testing.T) {
		must(t, b.ForgetSource(t.Context()))
		bi.Exec(t, fmt.Sprintf("SET GLOBAL gtid_slave_pos='%d-%d-99'", ai.ServerID, ai.ServerID), "SET GLOBAL gtid_ignore_duplicates=1")
		follow(t, b, ai)
	})
}

func TestWrongPasswordIsNeverShown(t *testing.T) {
	t.Parallel()
	ai, a := start(t, "a")
	_, b := start(t, "b")
	ai.Exec(t, "CREATE DATABASE d")
	var logged bytes.Buffer
	b.log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, password := range []string{"secret-word", `secret'word"`, `secret\word`, "secret\nword", ""} {
		wrong := Account{User: "repl", Password: password}
		must(t, b.ForgetSource(t.Context()))
		err := within(t, 20*time.Second, func() error { return b.Follow(t.Context(), ai.Address, wrong, time.Second) })
		if err == nil {
			t.Fatalf("replicates with password %q", password)
		}
		probe := ReplicaAccountWorks(t.Context(), ai.Address, wrong, b)
		if probe == nil {
			t.Fatalf("logs in with password %q", password)
		}
		for _, text := range []string{err.Error(), probe.Error(), logged.String()} {
			if strings.Contains(text, "secret") || strings.Contains(text, "word\"") {
				t.Errorf("shows the password: %s", text)
			}
			if strings.Contains(text, "******") {
				t.Errorf("is unreadable: %s", text)
			}
		}
		if !strings.Contains(err.Error(), "Access denied") && !strings.Contains(err.Error(), "denied") {
			t.Errorf("does not say that access was denied: %v", err)
		}
	}
	// Corrected and asked again, it heals: nobody has to reset the replica.
	must(t, ReplicaAccountWorks(t.Context(), ai.Address, replication, b))
	follow(t, b, ai)
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
}

// TestOddPasswordsReachTheServer: also on servers whose sql_mode changes how
// string literals are read.
func TestOddPasswordsReachTheServer(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	ai.Exec(t, "CREATE DATABASE d")
	for n, mode := range []string{"", "NO_BACKSLASH_ESCAPES,ANSI_QUOTES"} {
		_, b := start(t, "b", "--sql-mode="+mode)
		for _, password := range []string{`it's`, `a\b`, `x" # y`, "päß"} {
			odd := Account{User: fmt.Sprintf("odd%d", n), Password: password}
			must(t, a.Build(t.Context(), []string{"CREATE OR REPLACE USER " + grantee(odd) + " IDENTIFIED BY " + quote(password),
				"GRANT REPLICATION SLAVE ON *.* TO " + grantee(odd)}))
			must(t, b.ForgetSource(t.Context()))
			if err := b.Follow(t.Context(), ai.Address, odd, patience); err != nil {
				t.Errorf("sql_mode %q, password %s: %v", mode, password, err)
			}
		}
		must(t, b.ForgetSource(t.Context()))
	}
}

// TestStopAtStopsExactly: not one transaction more, though the source is
// written to all the time and the replica applies in parallel.
func TestStopAtStopsExactly(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	mariadbtest.Ring(t, ai, bi)
	stop := ai.Writers(t, 2)
	defer stop()
	for range 3 {
		must(t, b.StopReplicating(t.Context()))
		time.Sleep(50 * time.Millisecond)
		goal := position(t, a)
		time.Sleep(50 * time.Millisecond) // the source goes on beyond it
		for range 2 {
			must(t, b.StopAt(t.Context(), goal, patience))
			applied, err := b.AppliedPosition(t.Context())
			must(t, err)
			if !applied.Equal(goal) {
				t.Fatalf("stopped at %s, want %s", applied, goal)
			}
			if r, err := b.Replication(t.Context()); err != nil || r.SQL != "No" {
				t.Fatalf("stands at the place and runs: %+v, %v", r, err)
			}
		}
		follow(t, b, ai)
		must(t, b.WaitFor(t.Context(), position(t, a), patience))
	}
}

// Where both sides write one GTID domain, the source's binary log has numbers that go back: what a side has received late comes behind what it has written meanwhile. A
// replica before them is not beyond them, whatever its number, and one at the same number of the other server is not there.
func TestStopAtInASharedDomain(t *testing.T) {
	t.Parallel() // it mostly waits
	shared := []string{"--gtid-domain-id=0", "--gtid-strict-mode=OFF", "--gtid-ignore-duplicates=OFF"}
	ai, a := start(t, "a", shared...)
	bi, b := start(t, "b", shared...)
	ci, c := start(t, "c", shared...)
	ai.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	follow(t, b, ai)
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
	follow(t, c, bi)
	for n := range 2 {
		must(t, b.StopReplicating(t.Context()))
		row := 100 * n
		for range 3 { // a writes less than b, or as much
			row++
			ai.Exec(t, fmt.Sprint("INSERT d.t VALUES (", row, ")"))
		}
		for range 8 - 5*n {
			row++
			bi.Exec(t, fmt.Sprint("INSERT d.t VALUES (", row, ")"))
		}
		want := position(t, b).Last(0)
		eventually(t, "c has what b wrote", func() bool {
			applied, err := c.AppliedPosition(t.Context())
			must(t, err)
			return applied.Last(0) == want
		})
		must(t, c.StopReplicating(t.Context()))
		late := position(t, a).Last(0)
		follow(t, b, ai)
		eventually(t, "b has what a wrote", func() bool { return position(t, b).Last(0) == late })
		goal := position(t, b)
		if goal.Last(0).Server == want.Server || goal.Last(0).Seq > want.Seq {
			t.Fatalf("b is at %s, and was at %s: its numbers did not go back", goal, want)
		}
		must(t, b.WaitFor(t.Context(), PositionOf(want), time.Second)) // its own write, before those that have lower numbers
		bi.Exec(t, fmt.Sprint("INSERT d.t VALUES (", row+1, ")"))      // the source goes on beyond it
		must(t, c.StopAt(t.Context(), goal, patience))
		applied, err := c.AppliedPosition(t.Context())
		must(t, err)
		if n := ci.Value(t, "SELECT MAX(id) FROM d.t"); applied.Last(0) != goal.Last(0) || n != fmt.Sprint(row) {
			t.Errorf("c stopped at %s with %s as its last row, want %s and %d", applied, n, goal, row)
		}
		must(t, c.Follow(t.Context(), bi.Address, replication, patience))
		must(t, a.Follow(t.Context(), bi.Address, replication, patience)) // both know all numbers before the next round
		eventually(t, "all have the same", func() bool {
			return position(t, a).Last(0).Seq == position(t, b).Last(0).Seq
		})
		must(t, a.StopReplicating(t.Context()))
	}
}

func TestStopAtRefusals(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	ai.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	early := position(t, a)
	ai.Exec(t, "INSERT d.t VALUES (1)")
	follow(t, b, ai)
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
	must(t, b.StopReplicating(t.Context()))
	if err := b.StopAt(t.Context(), early, patience); err == nil || !strings.Contains(err.Error(), "beyond it") {
		t.Errorf("beyond the place: %v", err)
	}
	bi.Exec(t, "SET SESSION sql_log_bin=0", "INSERT d.t VALUES (2)")
	ai.Exec(t, "INSERT d.t VALUES (2)", "INSERT d.t VALUES (3)")
	err := within(t, 15*time.Second, func() error { return b.StopAt(t.Context(), position(t, a), 10*time.Minute) })
	if err == nil || !strings.Contains(err.Error(), "Duplicate entry") {
		t.Errorf("an applier that fails on the way: %v", err)
	}
}

// followed is a source, and a replica that has all of it.
func followed(t *testing.T) (ai *mariadbtest.Instance, b *Server) {
	t.Helper()
	ai, a := start(t, "a")
	_, b = start(t, "b")
	ai.Exec(t, "CREATE DATABASE d")
	follow(t, b, ai)
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
	return ai, b
}

// TestTheSourceGoesAway: a connection that may come back is not broken; a
// start that does not succeed says so at the end of its budget.
func TestTheSourceGoesAway(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, b := followed(t)
	ai.Kill()
	eventually(t, "the replica notices", func() bool {
		r, err := b.Replication(t.Context())
		must(t, err)
		return !r.Running()
	})
	r, err := b.Replication(t.Context())
	must(t, err)
	if r.Broken() != nil {
		t.Errorf("given up: %v, though it tries again every second", r.Broken())
	}
	err = within(t, 15*time.Second, func() error { return b.Follow(t.Context(), ai.Address, replication, 300*time.Millisecond) })
	if err == nil || !strings.Contains(err.Error(), "threads did not come up in 300ms") {
		t.Errorf("following a dead source: %v", err)
	}
	ai.Restart(t)
	follow(t, b, ai)
}

// TestFollowWithoutARelayLog: a server that was killed while START SLAVE made a new relay log did not follow anybody any
// more: error 1201, whatever was tried again.
func TestFollowWithoutARelayLog(t *testing.T) {
	t.Parallel()
	a, _ := start(t, "a")
	b, replica := start(t, "b")
	follow(t, replica, a)
	a.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)")
	mariadbtest.AwaitApplied(t, b, a)
	b.Kill()
	a.Exec(t, "INSERT INTO d.t VALUES (2)")
	gone, err := filepath.Glob(filepath.Join(b.Datadir, "rl.0*"))
	must(t, err)
	if len(gone) == 0 {
		t.Fatal("it has no relay log")
	}
	for _, file := range gone {
		must(t, os.Remove(file))
	}
	b.Restart(t)
	follow(t, replica, a)
	mariadbtest.AwaitApplied(t, b, a)
	if n := b.Value(t, "SELECT COUNT(*) FROM d.t"); n != "2" {
		t.Errorf("the replica has %s rows, want 2", n)
	}
}

// TestSourceThatLetsNobodyIn: a replica whose password is wrong tries for ever. That is not given up, and nothing is begun with it.
func TestSourceThatLetsNobodyIn(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, b := followed(t)
	if r, err := b.Replication(t.Context()); err != nil || r.Ailing() != nil || r.Unconnected() != "" {
		t.Fatalf("it runs: %v, %q, %v", r.Ailing(), r.Unconnected(), err)
	}
	wrong := replication
	wrong.Password += "x"
	must(t, b.StopReplicating(t.Context()))
	if err := b.Follow(t.Context(), ai.Address, wrong, 300*time.Millisecond); err == nil {
		t.Error("it follows with a wrong password")
	}
	eventually(t, "the source has answered", func() bool {
		r, err := b.Replication(t.Context())
		must(t, err)
		return r.Unconnected() != ""
	})
	r, err := b.Replication(t.Context())
	must(t, err)
	if r.Broken() != nil {
		t.Errorf("given up: %v", r.Broken())
	}
	if err := r.Ailing(); err == nil || !strings.Contains(err.Error(), "not let in") || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("it ails of %v", err)
	}
}
