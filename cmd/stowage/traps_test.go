package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/route"
)

// console is root at the server's own socket, where read_only and privileges
// do not reach.
func (f *liveFarm) console(side farm.SideName) *sql.DB {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	cfg := driver.NewConfig()
	cfg.User, cfg.Net = "root", "unix"
	cfg.Addr = filepath.Join(f.dir, fm.Pairs[0].Sides[side].Datadir, "mysqld.sock")
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1) // session settings stay with their statements
	f.t.Cleanup(func() { db.Close() })
	return db
}

func (f *liveFarm) sql(side farm.SideName, statements ...string) {
	f.t.Helper()
	db := f.console(side)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			f.t.Fatalf("%s: %v", s, err)
		}
	}
}

func (f *liveFarm) value(side farm.SideName, query string) string {
	f.t.Helper()
	db := f.console(side)
	defer db.Close()
	var v string
	if err := db.QueryRow(query).Scan(&v); err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
	return v
}

// A seeded copy carries the twin's view of the events: the moved side's own
// disabled, the twin's enabled. Fired from there they would run twice.
func TestEventsMoveWithTheirSide(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	shard := "etsy_shard_0001"
	f.sql(farm.A, "SET GLOBAL event_scheduler = ON",
		"CREATE TABLE "+shard+".ticks (id BIGINT AUTO_INCREMENT PRIMARY KEY, server BIGINT NOT NULL)",
		"CREATE EVENT "+shard+".tick ON SCHEDULE EVERY 1 SECOND DO INSERT INTO "+shard+".ticks (server) VALUES (@@server_id)")
	f.sql(farm.B, "SET GLOBAL event_scheduler = ON")
	old := f.value(farm.A, "SELECT @@server_id")
	f.must("move", "first")
	fresh := f.value(farm.A, "SELECT @@server_id")
	for end := time.Now().Add(waitLimit); f.value(farm.A, "SELECT COUNT(*) FROM "+shard+".ticks WHERE server = "+fresh) == "0" && time.Now().Before(end); {
		pauseTest()
	}
	time.Sleep(2500 * time.Millisecond) // time to fire where it must not
	status := "SELECT STATUS FROM information_schema.EVENTS WHERE EVENT_NAME = 'tick'"
	if a, b := f.value(farm.A, status), f.value(farm.B, status); a != "ENABLED" || b != "SLAVESIDE_DISABLED" {
		t.Errorf("event is %s on A and %s on B", a, b)
	}
	if got := f.value(farm.A, "SELECT @@event_scheduler"); got != "ON" {
		t.Errorf("scheduler of the moved side is %s", got)
	}
	by := f.value(farm.A, "SELECT GROUP_CONCAT(DISTINCT server ORDER BY server) FROM "+shard+".ticks")
	if by != old+","+fresh {
		t.Errorf("the event was run by servers %s, want %s before and %s after, and nobody else", by, old, fresh)
	}
	f.sql(farm.A, "DROP EVENT "+shard+".tick") // quiet, for the comparison
	f.checkWhole()
}

// A row that only the old side has, because its write bypassed the binary log,
// would vanish with it.
func TestRowsThatOnlyTheOldSideHas(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	f.sql(farm.A, "SET sql_log_bin = 0", "INSERT INTO etsy_shard_0001.users (id, name, email, joined) VALUES (999999, 'only here', 'x', NOW())")
	before := f.places()
	p := runProgram(t, "", "move", "first", "-C", f.dir)
	// Side B goes first: its copy comes from A and has the row, B itself has not.
	if p.code != exitFailed || !strings.Contains(p.stderr, "etsy_shard_0001.users") || !strings.Contains(p.stderr, "drifted apart") {
		t.Errorf("exit %d, want %d and the table named\n%s", p.code, exitFailed, p.stderr)
	}
	if f.places() != before {
		t.Errorf("a side was moved: %s", f.places())
	}
	f.wanted = "anywhere"
	f.checkNow()
	f.sql(farm.A, "SET sql_log_bin = 0", "DELETE FROM etsy_shard_0001.users WHERE id = 999999")
	f.must("plan", "--name", "second")
	f.must("move", "second")
	f.wanted = ""
	f.checkWhole()
}

// What stands in the way is found before anything is touched, with a remedy.
func TestPreflightBlockers(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	in := filepath.Join(f.dir, "hosts/ssd02/dbshard001b")
	var idle func()
	for _, c := range []struct {
		name, message string
		spoil, mend   func()
	}{
		{"foreign directory", "was not made by this act",
			func() {
				if err := os.MkdirAll(in, 0o755); err != nil {
					t.Fatal(err)
				}
			},
			func() { os.RemoveAll(in) }},
		{"table without key", "no primary or unique NOT NULL key",
			func() { f.sql(farm.A, "CREATE TABLE etsy_shard_0001.loose (a INT)") },
			func() { f.sql(farm.A, "DROP TABLE etsy_shard_0001.loose") }},
		{"other engine", "engine MyISAM",
			func() { f.sql(farm.A, "CREATE TABLE etsy_shard_0001.old (a INT PRIMARY KEY) ENGINE=MyISAM") },
			func() { f.sql(farm.A, "DROP TABLE etsy_shard_0001.old") }},
		{"replication filter", "it filters replication",
			func() {
				f.sql(farm.B, "STOP SLAVE", "SET GLOBAL replicate_wild_ignore_table = 'tmp.%'", "START SLAVE")
			},
			func() { f.sql(farm.B, "STOP SLAVE", "SET GLOBAL replicate_wild_ignore_table = ''", "START SLAVE") }},
		{"strict mode off", "gtid_strict_mode is OFF",
			func() { f.sql(farm.A, "SET GLOBAL gtid_strict_mode = OFF") },
			func() { f.sql(farm.A, "SET GLOBAL gtid_strict_mode = ON") }},
		{"duplicates not ignored", "gtid_ignore_duplicates is OFF",
			func() { f.sql(farm.B, "STOP SLAVE", "SET GLOBAL gtid_ignore_duplicates = OFF", "START SLAVE") },
			func() { f.sql(farm.B, "STOP SLAVE", "SET GLOBAL gtid_ignore_duplicates = ON", "START SLAVE") }},
		{"statement format", "binlog_format is MIXED",
			func() { f.sql(farm.A, "SET GLOBAL binlog_format = MIXED") },
			func() { f.sql(farm.A, "SET GLOBAL binlog_format = ROW") }},
		{"same offsets", "auto_increment is 2/1 on one side and 2/1 on the other",
			func() { f.sql(farm.B, "SET GLOBAL auto_increment_offset = 1") },
			func() { f.sql(farm.B, "SET GLOBAL auto_increment_offset = 2") }},
		{"too few connections", "has max_connections 10",
			func() {
				f.sql(farm.A, "SET GLOBAL max_connections = 10")
				idle = f.idle(farm.B, 8)
			},
			func() {
				f.sql(farm.A, "SET GLOBAL max_connections = 150")
				idle()
			}},
		{"stopped replication", "SQL thread stopped",
			func() { f.sql(farm.B, "STOP SLAVE SQL_THREAD") },
			func() { f.sql(farm.B, "START SLAVE") }},
		{"used server id", "has been used before",
			func() {
				f.sql(farm.A, "SET SESSION server_id = 1003", "UPDATE etsy_shard_0001.users SET name = name WHERE id = 1",
					"UPDATE etsy_shard_0001.users SET name = 'changed' WHERE id = 1")
			},
			func() {}},
	} {
		c.spoil()
		t.Log(c.name)
		before := f.places()
		p := runProgram(t, "", "move", "first", "-C", f.dir)
		if p.code != exitRefused || !strings.Contains(p.stderr, c.message) || !strings.Contains(p.stderr, "->") {
			t.Errorf("%s: exit %d, want %d, %q and a remedy\n%s", c.name, p.code, exitRefused, c.message, p.stderr)
		}
		if f.places() != before {
			t.Errorf("%s: a refused move changed farm.yaml", c.name)
		}
		c.mend()
	}
}

// idle opens connections of an application that does nothing.
func (f *liveFarm) idle(side farm.SideName, n int) (closeAll func()) {
	f.t.Helper()
	db, _ := f.appDB(side)
	for range n {
		if _, err := db.Conn(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
	return func() { db.Close() }
}

// A gate that is closed belongs to somebody: nobody else may move the pair.
func TestClosedGateIsABlocker(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	r := route.NewFile(f.dir + "/routing.json")
	gate := func(change func(*route.Pair)) {
		err := r.Change(t.Context(), "dbshard001", func(p *route.Pair) error { change(p); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	gate(func(p *route.Pair) { p.CloseGate(farm.B) })
	p := runProgram(t, "", "move", "first", "-C", f.dir)
	if p.code != exitRefused || !strings.Contains(p.stderr, "the gate of side B is closed") {
		t.Errorf("with a closed gate: exit %d\n%s", p.code, p.stderr)
	}
	if st := runProgram(t, "", "move", "status", "-C", f.dir); !strings.Contains(st.stdout, "GATE CLOSED") {
		t.Errorf("status does not show the closed gate:\n%s", st.stdout)
	}
	gate(func(p *route.Pair) { p.OpenGate(farm.B) })
	f.must("move", "first")
	f.checkWhole()
}

// A server that starts deletes every temporary table in its tmpdir: on a host
// that carries several, those of its running neighbours too.
func TestNewInstanceHasItsOwnTmpdir(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	f.must("move", "first")
	seen := map[string]bool{}
	for _, side := range farm.SideNames {
		dir := f.value(side, "SELECT @@tmpdir")
		if seen[dir] || !strings.HasPrefix(dir, f.dir) {
			t.Errorf("side %s has tmpdir %s, want one of its own below %s", side, dir, f.dir)
		}
		seen[dir] = true
	}
	f.checkWhole()
}
