package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

// mysqlHost is this machine with MySQL's programs first.
func mysqlHost(t *testing.T) (*host.Local, mariadbtest.Line) {
	t.Helper()
	l := mariadbtest.Named(t, mariadbtest.MySQL9)
	t.Setenv("PATH", l.Path())
	return local(t), l
}

// opened is a server as Stowage's own account sees it.
func opened(t *testing.T, s *mariadbtest.Instance) *mysql.Server {
	t.Helper()
	server := mysql.Open("s", s.Address, mysqltest.Account(mariadbtest.Stowage), newLog())
	t.Cleanup(func() { server.Close() })
	return server
}

// TestArchiveAndRelayOfMySQL: the archive follows the log through rotations, a crash and a restart; a place is found by a set and by a second; and a server that
// gets the archive up to there as relay logs has exactly the transactions before it, also when it is done again after it was cut short.
func TestArchiveAndRelayOfMySQL(t *testing.T) {
	l, line := mysqlHost(t)
	s := line.Start(t, "s", "--max-binlog-size=64K")
	into := archiveOf(t)
	first := archive(t, l, s, into)
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT)")
	var middle host.Archived
	var at time.Time
	for n := range 8 {
		for range 20 {
			s.Exec(t, fmt.Sprintf("INSERT d.a (v) VALUES (REPEAT('%c', 3000))", 'a'+n))
		}
		switch n {
		case 2:
			s.Exec(t, "FLUSH BINARY LOGS", "SET GLOBAL binlog_transaction_compression=ON")
		case 3:
			middle = archive(t, l, s, into)
			time.Sleep(1100 * time.Millisecond)
			at = time.Now().Truncate(time.Second)
			time.Sleep(1100 * time.Millisecond)
		case 4:
			s.Kill()
			s.Restart(t)
		case 6:
			s.Restart(t)
		}
	}
	a := archive(t, l, s, into)
	sameFiles(t, s, into, a)
	has := strings.ReplaceAll(s.Value(t, "SELECT @@GLOBAL.gtid_executed"), "\n", "")
	if a.Position != has || len(a.Gaps) > 0 || len(a.Forks) > 0 || a.Identity != first.Identity || a.Files < 8 {
		t.Fatalf("%+v; the server has %s", a, has)
	}
	must(t, l.CheckBinlogs(t.Context(), into))

	begin, err := l.ArchiveFrom(t.Context(), into, host.SeedPoint{File: first.Last.File, Offset: first.Last.Offset}, first.Position)
	must(t, err)
	bySet, err := l.ArchiveUntil(t.Context(), into, middle.Position)
	must(t, err)
	bySecond, err := l.ArchiveAt(t.Context(), into, at)
	must(t, err)
	if bySet.Position != middle.Position || bySecond.Position != middle.Position {
		t.Fatalf("%+v and %+v; at that time it had %s", bySet, bySecond, middle.Position)
	}
	if found, err := l.ArchiveUntil(t.Context(), into, has+":999999"); err == nil {
		t.Errorf("a set that was never written is at %+v", found)
	}

	r := line.Start(t, "r", "--relay-log="+host.RelayBase)
	restored := opened(t, r)
	relay := func(to host.Found, goal string) {
		t.Helper()
		want, err := mysql.ParsePosition(goal)
		must(t, err)
		must(t, restored.ForgetReplication(t.Context()))
		r.Stop(t)
		must(t, l.Relay(t.Context(), host.Replaying{Archive: into, From: begin.Mark, To: to.Mark, Instance: sourceOf(r)}))
		r.Restart(t)
		must(t, restored.ApplyRelayLogs(t.Context(), host.RelayLog, want, func(string, int64) {}))
		if got := strings.ReplaceAll(r.Value(t, "SELECT @@GLOBAL.gtid_executed"), "\n", ""); got != goal {
			t.Errorf("it is at %s, and not at %s", got, goal)
		}
		if left, _ := filepath.Glob(filepath.Join(r.Datadir, host.RelayBase+".0*")); len(left) > 1 {
			t.Errorf("left behind: %q", left)
		}
	}
	relay(bySecond, middle.Position)
	if n := r.Value(t, "SELECT COUNT(*) FROM d.a"); n != "80" {
		t.Errorf("%s rows at that second", n)
	}
	relay(host.Found{Mark: a.Last}, a.Position) // the part that it has is left out
	if got, want := r.Value(t, "SELECT SUM(id * CRC32(v)) FROM d.a"), s.Value(t, "SELECT SUM(id * CRC32(v)) FROM d.a"); got != want {
		t.Errorf("it has %s, and the server %s", got, want)
	}

	// A byte that is another is found before anything is applied.
	path := filepath.Join(into, a.Identity, middle.Last.File)
	raw, err := os.ReadFile(path)
	must(t, err)
	raw[len(raw)/2] ^= 1
	must(t, os.WriteFile(path, raw, 0o640))
	r.Stop(t)
	if err := l.Relay(t.Context(), host.Replaying{Archive: into, From: begin.Mark, To: a.Last, Instance: sourceOf(r)}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a flipped byte: %v", err)
	}
}
