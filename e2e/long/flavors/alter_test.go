package flavors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/alter"
	"stowage/alter/plan"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql"
)

// TestAlterOnOtherFlavors: MariaDB of another line changes tables by every way; MySQL what it does at once (the rest: TestAlterOnMySQL). Killed on the way.
func TestAlterOnOtherFlavors(t *testing.T) {
	t.Parallel() // it mostly waits
	run := func(t *testing.T, f *farmtest.LiveFarm, kill string, code int, want, text string) {
		t.Helper()
		script := filepath.Join(t.TempDir(), "change.sql")
		if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p := farmtest.RunWith(t, f.Env(kill), "alter", script, "--yes", "-C", f.Dir)
		if kill != "" {
			if !strings.Contains(p.Stderr, farmtest.MarkOfKill) {
				t.Fatalf("never met %q: exit %d\n%s", kill, p.Code, p.Stderr)
			}
			p = farmtest.RunWith(t, f.Env(""), "resume", "-C", f.Dir)
		}
		if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, want) {
			t.Fatalf("%s: exit %d, want %d and %q\n%s%s", text, p.Code, code, want, p.Stdout, p.Stderr)
		}
	}
	t.Run(mariadbtest.MariaDB11, func(t *testing.T) {
		t.Parallel() // it mostly waits
		f := startOn(t, mariadbtest.MariaDB11, farm.ActiveActive, 1)
		run(t, f, "both @ after switch/flip", farmtest.ExitFine, "1 of 1 pair", farmtest.AddColour)
		run(t, f, "", farmtest.ExitFine, "1 of 1 pair", farmtest.AddIndex)
		run(t, f, "", farmtest.ExitFine, "1 of 1 pair", farmtest.Widen)
		f.CheckLedger()
	})
	t.Run(mariadbtest.MySQL9, func(t *testing.T) {
		t.Parallel() // it mostly waits
		f := startOn(t, mariadbtest.MySQL9, farm.PrimaryReplica, 1)
		run(t, f, "stowage @ after change", farmtest.ExitFine, "1 of 1 pair", farmtest.AddColour)
		run(t, f, "", farmtest.ExitFine, "1 of 1 pair", farmtest.DropColour)
		f.CheckLedger()
	})
}

// TestAlterOnMySQL: both sides of a MySQL pair leave in turn, or the second is held, under load, killed at borders around the fence that replaces super_read_only; and a run that is given
// up leaves everything as it was. STOWAGE_ALL_POINTS kills at every border.
func TestAlterOnMySQL(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, w := range []struct {
		way         plan.Way
		topology    farm.Topology
		there, back string
		killed      []string
		givenUp     []string
	}{
		{plan.Held, farm.ActiveActive, farmtest.AddColour, farmtest.DropColour, []string{"after twin-alter/change"}, []string{"after alter/change", "after switch/open"}},
		{plan.Apart, farm.ActiveActive, farmtest.AddIndex, farmtest.DropIndex, []string{"before alter/change", "after twin-alter/lower"}, []string{"before alter/raise", "after twin-alter/change"}},
		{plan.Held + plan.OneWriter, farm.PrimaryReplica, farmtest.AddBoth, farmtest.DropBoth, []string{"after twin-alter/raise"}, []string{"after alter/lower", "before switch"}},
		{plan.Apart + plan.OneWriter, farm.PrimaryReplica, farmtest.AddIndex, farmtest.DropIndex, []string{"before alter/raise", "before twin-alter/change"}, []string{"after twin-alter/lower"}},
	} {
		t.Run(string(w.way), func(t *testing.T) {
			t.Parallel() // it mostly waits
			a := farmtest.StartAlteredFarmOn(t, mariadbtest.MySQL9, w.topology)
			was := a.Consoles()[0].Definition(t, "receipts")
			for n, at := range w.givenUp {
				a.Killed([]string{"both", "stowage"}[n%2], at, w.there)
				a.Run(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
				a.Rests()
				for _, c := range a.Consoles() {
					if is := c.Definition(t, "receipts"); is != was {
						t.Fatalf("killed at %q and given up: %s has\n%s\nand had\n%s", at, c.Name, is, was)
					}
					_ = c.Close()
				}
			}
			book, _ := alter.Kind(nil).Runbook(string(w.way))
			points := sample(w.killed, book.Points()...)
			for n, at := range points {
				a.Killed([]string{"both", "stowage"}[n%2], at, []string{w.there, w.back}[n%2])
				a.Run(farmtest.ExitFine, "1 of 1 pair", "resume")
				a.Rests()
				if t.Failed() {
					t.Fatalf("killed at %q", at)
				}
			}
			changes := len(points)
			if changes%2 == 0 {
				a.Alter(w.there)
				changes++
			}
			colour := w.there != farmtest.AddIndex
			if colour { // what it has dropped is copied back, although super_read_only is there
				a.Killed("both", "before "+alter.StepHold, w.back)
				a.Run(farmtest.ExitFine, "", "abort", "--reason", "it is needed after all")
				a.Rests()
			}
			a.Settle(colour && changes == 1, int64(changes))
		})
	}
}

// TestWriteBesideTheAlterIsNoticed: Stowage is dead while a side is altered, and root, which says READ WRITE, writes there. The run is taken back.
func TestWriteBesideTheAlterIsNoticed(t *testing.T) {
	t.Parallel() // it mostly waits
	a := farmtest.StartAlteredFarmOn(t, mariadbtest.MySQL9, farm.ActiveActive)
	a.Killed("both", "after alter/change", farmtest.AddIndex)
	c := a.Consoles()[0] // side A, which leaves first
	conn, err := c.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	insert := "INSERT INTO `" + string(c.Shards[0]) + "`.users (id, name, email, joined) VALUES (987654, 'root', 'root@example.com', '2020-01-01')"
	if _, err := conn.ExecContext(t.Context(), insert); mysql.CodeOf(err) != 1792 {
		t.Errorf("root writes without saying READ WRITE: %v", err)
	}
	for _, text := range []string{"SET SESSION TRANSACTION READ WRITE", insert} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	p := farmtest.RunWith(t, a.F.Env(""), "resume", "-C", a.F.Dir)
	if p.Code == farmtest.ExitFine || !strings.Contains(p.Stdout+p.Stderr, "a client wrote on it while its tables were changed") {
		t.Fatalf("nobody noticed: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	a.Rests()
	for _, c := range a.Consoles() {
		if is := c.Definition(t, "receipts"); strings.Contains(is, "KEY `made`") {
			t.Errorf("%s has the index: %s", c.Name, is)
		}
		_ = c.Close()
	}
	a.Settle(false, 0)
}

// TestKeysAreBuiltApart: MySQL copies rows without the keys of their table, and builds them afterwards. Who dies in between leaves a table without keys, with which both ways know how to continue.
func TestKeysAreBuiltApart(t *testing.T) {
	t.Parallel() // it mostly waits
	a := farmtest.StartAlteredFarmOn(t, mariadbtest.MySQL9, farm.ActiveActive)
	was := a.Consoles()[0].Definition(t, "listings")
	bare := func() { // of side A, which leaves first
		c := a.Consoles()[0]
		conn, err := c.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, s := range []string{"SET SESSION TRANSACTION READ WRITE", "SET sql_log_bin = 0", "ALTER TABLE `" + string(c.Shards[0]) + "`.listings DROP KEY user_id"} {
			if _, err := conn.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	ended := func(want bool) {
		t.Helper()
		a.Rests()
		for _, c := range a.Consoles() {
			if is := c.Definition(t, "listings"); !strings.Contains(is, "KEY `user_id`") || (is != was) != want {
				t.Errorf("%s has\n%s\nand had\n%s", c.Name, is, was)
			}
			_ = c.Close()
		}
	}
	for _, at := range []string{"before alter/change", "before alter/raise"} {
		a.Killed("both", at, farmtest.Widen)
		bare()
		a.Run(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
		ended(false)
	}
	a.Killed("both", "before alter/change", farmtest.Widen)
	bare()
	a.Run(farmtest.ExitFine, "1 of 1 pair", "resume")
	ended(true)
	if log := a.Run(farmtest.ExitFine, "", "log").Stdout; !strings.Contains(log, "DROP KEY `user_id`") || !strings.Contains(log, "ADD KEY `user_id`") {
		t.Errorf("no key was dropped before the rows were copied, or none was built:\n%s", log)
	}
	a.Settle(false, 0)
}
