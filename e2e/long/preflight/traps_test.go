package preflight

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/route"
)

// A seeded copy carries the twin's view of the events: the moved side's own
// disabled, the twin's enabled. Fired from there they would run twice.
func TestEventsMoveWithTheirSide(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	shard := "etsy_shard_0001"
	f.Sql(farm.A, "SET GLOBAL event_scheduler = ON",
		"CREATE TABLE "+shard+".ticks (id BIGINT AUTO_INCREMENT PRIMARY KEY, server BIGINT NOT NULL)",
		"CREATE EVENT "+shard+".tick ON SCHEDULE EVERY 1 SECOND DO INSERT INTO "+shard+".ticks (server) VALUES (@@server_id)")
	f.Sql(farm.B, "SET GLOBAL event_scheduler = ON")
	old := f.Value(farm.A, "SELECT @@server_id")
	f.Must("move", "first")
	fresh := f.Value(farm.A, "SELECT @@server_id")
	for end := time.Now().Add(farmtest.WaitLimit); f.Value(farm.A, "SELECT COUNT(*) FROM "+shard+".ticks WHERE server = "+fresh) == "0" && time.Now().Before(end); {
		farmtest.PauseTest()
	}
	time.Sleep(2500 * time.Millisecond) // time to fire where it must not
	status := "SELECT STATUS FROM information_schema.EVENTS WHERE EVENT_NAME = 'tick'"
	if a, b := f.Value(farm.A, status), f.Value(farm.B, status); a != "ENABLED" || b != "SLAVESIDE_DISABLED" {
		t.Errorf("event is %s on A and %s on B", a, b)
	}
	if got := f.Value(farm.A, "SELECT @@event_scheduler"); got != "ON" {
		t.Errorf("scheduler of the moved side is %s", got)
	}
	by := f.Value(farm.A, "SELECT GROUP_CONCAT(DISTINCT server ORDER BY server) FROM "+shard+".ticks")
	if by != old+","+fresh {
		t.Errorf("the event was run by servers %s, want %s before and %s after, and nobody else", by, old, fresh)
	}
	f.Sql(farm.A, "DROP EVENT "+shard+".tick") // quiet, for the comparison
	f.CheckWhole()
}

// A row that only the old side has, because its write bypassed the binary log,
// would vanish with it.
func TestRowsThatOnlyTheOldSideHas(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	f.Sql(farm.A, "SET sql_log_bin = 0", "INSERT INTO etsy_shard_0001.users (id, name, email, joined) VALUES (999999, 'only here', 'x', NOW())")
	before := f.Places()
	p := farmtest.RunProgram(t, "", "move", "first", "-C", f.Dir)
	// Side B goes first: its copy comes from A and has the row, B itself has not.
	if p.Code != farmtest.ExitFailed || !strings.Contains(p.Stderr, "etsy_shard_0001.users") || !strings.Contains(p.Stderr, "drifted apart") {
		t.Errorf("exit %d, want %d and the table named\n%s", p.Code, farmtest.ExitFailed, p.Stderr)
	}
	if f.Places() != before {
		t.Errorf("a side was moved: %s", f.Places())
	}
	f.Wanted = "anywhere"
	f.CheckNow()
	f.Sql(farm.A, "SET sql_log_bin = 0", "DELETE FROM etsy_shard_0001.users WHERE id = 999999")
	f.Must("plan", "--name", "second")
	f.Must("move", "second")
	f.Wanted = ""
	f.CheckWhole()
}

// What is in the way is found before anything is touched, with a remedy.
func TestPreflightBlockers(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	in := filepath.Join(f.Dir, "hosts/ssd02/dbshard001b")
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
			func() { f.Sql(farm.A, "CREATE TABLE etsy_shard_0001.loose (a INT)") },
			func() { f.Sql(farm.A, "DROP TABLE etsy_shard_0001.loose") }},
		{"other engine", "engine MyISAM",
			func() { f.Sql(farm.A, "CREATE TABLE etsy_shard_0001.old (a INT PRIMARY KEY) ENGINE=MyISAM") },
			func() { f.Sql(farm.A, "DROP TABLE etsy_shard_0001.old") }},
		{"replication filter", "it filters replication",
			func() {
				f.Sql(farm.B, "STOP SLAVE", "SET GLOBAL replicate_wild_ignore_table = 'tmp.%'", "START SLAVE")
			},
			func() { f.Sql(farm.B, "STOP SLAVE", "SET GLOBAL replicate_wild_ignore_table = ''", "START SLAVE") }},
		{"strict mode off", "gtid_strict_mode is OFF",
			func() { f.Sql(farm.A, "SET GLOBAL gtid_strict_mode = OFF") },
			func() { f.Sql(farm.A, "SET GLOBAL gtid_strict_mode = ON") }},
		{"duplicates not ignored", "gtid_ignore_duplicates is OFF",
			func() { f.Sql(farm.B, "STOP SLAVE", "SET GLOBAL gtid_ignore_duplicates = OFF", "START SLAVE") },
			func() { f.Sql(farm.B, "STOP SLAVE", "SET GLOBAL gtid_ignore_duplicates = ON", "START SLAVE") }},
		{"statement format", "binlog_format is MIXED",
			func() { f.Sql(farm.A, "SET GLOBAL binlog_format = MIXED") },
			func() { f.Sql(farm.A, "SET GLOBAL binlog_format = ROW") }},
		{"same offsets", "auto_increment is 2/1 on one side and 2/1 on the other",
			func() { f.Sql(farm.B, "SET GLOBAL auto_increment_offset = 1") },
			func() { f.Sql(farm.B, "SET GLOBAL auto_increment_offset = 2") }},
		{"too few connections", "has max_connections 10",
			func() {
				f.Sql(farm.A, "SET GLOBAL max_connections = 10")
				idle = f.Idle(farm.B, 8)
			},
			func() {
				f.Sql(farm.A, "SET GLOBAL max_connections = 150")
				idle()
			}},
		{"stopped replication", "SQL thread stopped",
			func() { f.Sql(farm.B, "STOP SLAVE SQL_THREAD") },
			func() { f.Sql(farm.B, "START SLAVE") }},
		{"used server id", "has been used before",
			func() {
				f.Sql(farm.A, "SET SESSION server_id = 1003", "UPDATE etsy_shard_0001.users SET name = name WHERE id = 1",
					"UPDATE etsy_shard_0001.users SET name = 'changed' WHERE id = 1")
			},
			func() {}},
	} {
		c.spoil()
		t.Log(c.name)
		before := f.Places()
		p := farmtest.RunProgram(t, "", "move", "first", "-C", f.Dir)
		if p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, c.message) || !strings.Contains(p.Stderr, "->") {
			t.Errorf("%s: exit %d, want %d, %q and a remedy\n%s", c.name, p.Code, farmtest.ExitRefused, c.message, p.Stderr)
		}
		if f.Places() != before {
			t.Errorf("%s: a refused move changed farm.yaml", c.name)
		}
		c.mend()
	}
}

// A gate that is closed belongs to somebody: nobody else may move the pair.
func TestClosedGateIsABlocker(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	r := route.NewFile(f.Dir + "/routing.json")
	gate := func(change func(*route.Pair)) {
		err := r.Change(t.Context(), "dbshard001", func(p *route.Pair) error { change(p); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	gate(func(p *route.Pair) { p.CloseGate(farm.B) })
	p := farmtest.RunProgram(t, "", "move", "first", "-C", f.Dir)
	if p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "the gate of side B is closed") {
		t.Errorf("with a closed gate: exit %d\n%s", p.Code, p.Stderr)
	}
	if st := farmtest.RunProgram(t, "", "status", "-C", f.Dir); !strings.Contains(st.Stdout, "GATE CLOSED") {
		t.Errorf("status does not show the closed gate:\n%s", st.Stdout)
	}
	gate(func(p *route.Pair) { p.OpenGate(farm.B) })
	f.Must("move", "first")
	f.CheckWhole()
}

// A server that starts deletes every temporary table in its tmpdir: on a host
// that carries several, those of its running neighbours too.
func TestNewInstanceHasItsOwnTmpdir(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	f.Must("move", "first")
	seen := map[string]bool{}
	for _, side := range farm.SideNames {
		dir := f.Value(side, "SELECT @@tmpdir")
		if seen[dir] || !strings.HasPrefix(dir, f.Dir) {
			t.Errorf("side %s has tmpdir %s, want one of its own below %s", side, dir, f.Dir)
		}
		seen[dir] = true
	}
	f.CheckWhole()
}
