package alter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/alter"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql/traffic"
)

// A person changes the table by hand while the act is on its way: it stops, the altered side goes on serving, and resume goes on when the table is as the plan knows it.
func TestChangedBySomebodyElse(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)
	a.Killed("both", "before "+alter.StepTwin, farmtest.AddColour)
	second := a.Consoles()[1]
	by := func(change string) {
		t.Helper()
		if _, err := second.ExecContext(t.Context(), fmt.Sprintf("SET STATEMENT sql_log_bin = 0 FOR ALTER TABLE `%s`.receipts %s", second.Shards[1], change)); err != nil {
			t.Fatal(err)
		}
	}
	by("ADD COLUMN theirs INT")
	a.Run(farmtest.ExitUnknown, "someone else changed it", "resume")
	if n := a.Served(); n != 1 {
		t.Errorf("%d sides serve, and one of them has another table", n)
	}
	by("DROP COLUMN theirs")
	a.Run(farmtest.ExitFine, "1 of 1 pair", "resume")
	a.Rests()
	a.Settle(true, 1)
}

// What was changed since the plan was made is refused before anything is touched.
func TestPlanThatIsNotTrueAnyMore(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)
	a.Run(farmtest.ExitFine, "held: dbshard001", "alter", a.Script(farmtest.AddColour), "--name", "later")
	for _, c := range a.Consoles() {
		if _, err := c.ExecContext(t.Context(), fmt.Sprintf("SET STATEMENT sql_log_bin = 0 FOR ALTER TABLE `%s`.receipts COMMENT 'theirs'", c.Shards[0])); err != nil {
			t.Fatal(err)
		}
	}
	a.Run(farmtest.ExitRefused, "defined in another way than when the plan was made", "alter", "later")
	a.Rests()
	a.Settle(false, 0)
}

// A script that ends is taken back by a script, where that loses nothing; where it would, undo says what.
func TestWayBackOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.PrimaryReplica, 1)
	was := a.Consoles()[0].Definition(t, "listings")
	a.Alter(farmtest.AddIndex, "--name", "there")
	a.Run(farmtest.ExitFine, "undo-there.sql", "undo")
	a.Run(farmtest.ExitFine, "1 of 1 pair", "alter", a.F.Path("alters/undo-there.sql"), "--yes")
	for _, c := range a.Consoles() {
		if is := c.Definition(t, "listings"); is != was {
			t.Errorf("%s has\n%s\nand had\n%s", c.Name, is, was)
		}
	}
	// What a run has changed on some shards is taken back on those: others may have had it before.
	a.Alter(farmtest.AddIndex, "--name", "one", "--shards", "etsy_shard_0001")
	a.Run(farmtest.ExitFine, "undo-one.sql --shards etsy_shard_0001", "undo")
	a.Run(farmtest.ExitFine, "1 of 1 pair", "alter", a.F.Path("alters/undo-one.sql"), "--shards", "etsy_shard_0001", "--yes")
	a.Alter(farmtest.AddColour)
	a.Run(farmtest.ExitRefused, "it would lose the values of column colour", "undo")
	a.Rests()
	a.Settle(true, 1)
}

// Waves wait for a person.
func TestWavesWaitForAPerson(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 2)
	a.Run(farmtest.ExitUsage, "neither a number of pairs", "alter", a.Script(farmtest.AddColour), "--waves", "one")
	a.Run(farmtest.ExitFine, "wave 2: dbshard002", "alter", a.Script(farmtest.AddColour), "--waves", "1,100%", "--name", "waves")
	a.Run(farmtest.ExitUsage, "leave --at-once out", "alter", "waves", "--at-once", "1")
	b := a.F.Start("alter", "waves")
	a.F.Await(b, "it waits for a person", func() bool {
		return len(farmtest.RunProgram(t, "", "approve", "-C", a.F.Dir).Stdout) > 0
	})
	b.Ends(t, farmtest.ExitFine)
	a.Rests()
	a.Settle(true, 1)
}

// schema/ says what tables should be, and alter makes shards so.
func TestShardsAsDeclared(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)
	a.Run(farmtest.ExitUsage, "nothing is declared", "alter", "--declared")
	a.Run(farmtest.ExitFine, "", "schema", "pull")
	file := a.F.Path("schema/receipts.sql")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "  PRIMARY KEY (`id`)", "  colour BIGINT NOT NULL DEFAULT -7,\n  PRIMARY KEY (`id`)", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	a.Run(farmtest.ExitFindings, "colour", "schema", "drift")
	a.Run(farmtest.ExitFine, "1 of 1 pair", "alter", "--declared", "--yes")
	a.Run(farmtest.ExitFine, "", "schema", "drift")
	a.Run(farmtest.ExitFine, "nothing to do", "alter", "--declared", "--yes")
	if err := os.WriteFile(a.F.Path("schema/late.sql"), []byte("CREATE TABLE late (id INT PRIMARY KEY);\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	a.Run(farmtest.ExitFindings, "schema/late is left out", "alter", "--declared", "--yes")
	a.Rests()
	a.Settle(true, 1)
}

// A copy that its owner has released says how long it takes; a server of the farm is never taken for one.
func TestTimedOnACopy(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)
	c := a.Consoles()[0]
	copied := mariadbtest.Start(t, "copied")
	admin := a.F.Password("stowage")
	copied.Exec(t, "CREATE DATABASE `"+string(c.Shards[0])+"`", "USE `"+string(c.Shards[0])+"`", c.Definition(t, "receipts"),
		"INSERT INTO receipts (client, seq, listing_id, amount, made) SELECT 'x', seq, 1, 1, NOW() FROM seq_1_to_20000")
	copied.Exec(t, append(traffic.MarkerSQL("spare"), "CREATE OR REPLACE USER stowage@'%' IDENTIFIED BY '"+admin+"'", "GRANT ALL ON *.* TO stowage@'%'")...)
	widen := a.Script("ALTER TABLE receipts MODIFY amount BIGINT NOT NULL;\n")
	a.Run(farmtest.ExitRefused, "throw away", "alter", widen, "--dry-run", "--on", copied.Address)
	a.Run(farmtest.ExitRefused, "", "alter", widen, "--dry-run", "--on", copied.Address, "--throw-away", "other")
	side := a.F.Server(farm.B).Address()
	a.Run(farmtest.ExitRefused, "", "alter", widen, "--dry-run", "--on", side, "--throw-away", "spare")
	a.Run(farmtest.ExitFine, "took", "alter", widen, "--dry-run", "--on", copied.Address, "--throw-away", "spare")
	var is string
	err := a.F.Dial("tcp", copied.Address, "stowage", admin).QueryRowContext(t.Context(), "SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_NAME = 'receipts' AND COLUMN_NAME = 'amount'").Scan(&is)
	if err != nil || !strings.HasPrefix(is, "bigint") {
		t.Errorf("amount on the copy is %s: %v", is, err)
	}
	a.Run(farmtest.ExitFine, "on a copy", "alter", widen)
	if found, _ := filepath.Glob(filepath.Join(os.TempDir(), "stowage-schema-*")); len(found) > 8 { // other tests have some of theirs
		t.Errorf("throw-away servers are left: %v", found)
	}
	a.Settle(false, 0)
}

// A single instance has nobody to serve for it: what the server does at once is done, and what would keep clients from writing is refused.
func TestSingleInstances(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.Single, 1)
	a.Alter(farmtest.AddColour)
	a.Alter(farmtest.AddIndex)
	a.Run(farmtest.ExitRefused, "it is a single instance", "alter", a.Script(farmtest.Widen))
	a.Rests()
	a.Settle(true, 1)
}
