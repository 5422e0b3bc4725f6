package backup

import (
	"fmt"
	"testing"

	"stowage/backup"
	"stowage/e2e/farmtest"
	"stowage/internal/mariadbtest"
)

// grantDump is what the account for copies needs besides to dump.
const grantDump = "GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO backup@'%'"

// A logical backup is killed at each border in turn, and its verification too; resume goes on.
func TestLogicalKilledAtEveryBorder(t *testing.T) {
	for hand, points := range farmtest.Dealt(backup.Kind(nil).Runbooks[0].Points(), 2) {
		t.Run(fmt.Sprint("run, hand ", hand), func(t *testing.T) {
			k := farmtest.StartKeptFarm(t)
			k.Told(grantDump)
			for n, at := range points {
				k.KilledIn([]string{"both", "stowage"}[n%2], at, "backup", "run", "--kind", "logical")
				k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
				if ids := k.Backups(); len(ids) != n+1 {
					t.Fatalf("killed at %q, and there are %d backups of %d: %q", at, len(ids), n+1, ids)
				}
				k.NothingLeft()
			}
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
			k.NothingLeft()
			k.F.CheckLedger()
		})
	}
	book, _ := backup.RestoreKind(nil).Runbook("verify")
	for hand, points := range farmtest.Dealt(book.Points(), 2) {
		t.Run(fmt.Sprint("verify, hand ", hand), func(t *testing.T) {
			k := farmtest.StartKeptFarm(t)
			k.Told(grantDump)
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--kind", "logical")
			verifyKilled(t, k, points)
		})
	}
}

// A shard with every type, tables without a key, partitions, generated columns, views, routines and events is dumped, and proven against the live server, which changes it
// meanwhile in statements that name the database and in others; what cannot be dumped is refused by name.
func TestLogicalOfAnOddShardIsProven(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Told(grantDump)
	shard := "`" + k.FirstShard() + "`."
	db := k.F.Root(k.Of)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := conn.ExecContext(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	run("USE `" + k.FirstShard() + "`")
	run(mariadbtest.EveryType()...)
	run("CREATE TABLE `a.b-c` (id INT PRIMARY KEY, v INT, w INT AS (v * 2) STORED)", "INSERT INTO `a.b-c` (id, v) VALUES (1, 1), (2, 2)", "CREATE TABLE keyless (v INT)", "INSERT INTO keyless VALUES (1), (1), (NULL)",
		"CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 4", "INSERT INTO parts VALUES (1), (2), (3)", "CREATE VIEW top AS SELECT MAX(w) FROM `a.b-c`",
		"CREATE TRIGGER g BEFORE INSERT ON parts FOR EACH ROW SET NEW.id = NEW.id + 0", "CREATE PROCEDURE p() INSERT INTO parts VALUES (4)", "CREATE EVENT e ON SCHEDULE EVERY 1 YEAR DO SET @x = 1")
	run("CREATE SEQUENCE " + shard + "seq")
	k.Run(farmtest.ExitRefused, k.FirstShard()+".seq: it is a sequence", "backup", "run", "--kind", "logical")
	run("DROP SEQUENCE " + shard + "seq")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--kind", "logical")
	run("CALL p()", "USE mysql", "INSERT INTO "+shard+"keyless VALUES (2)", "ALTER TABLE "+shard+"`a.b-c` ADD COLUMN late INT DEFAULT 5", "CREATE DATABASE elsewhere", "CREATE TABLE elsewhere.t (id INT PRIMARY KEY)",
		"INSERT INTO elsewhere.t VALUES (1)", "CREATE USER late@'%' IDENTIFIED BY 'x'", "UPDATE "+shard+"wide SET t4 = t4 + 1 WHERE id = 1")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.NothingLeft()
	k.Run(farmtest.ExitFailed, "copier-key", "restore", "--shard", k.FirstShard(), "--as", "shop_then") // what the copier does not carry it names
	k.NothingTakenOut()
	k.NothingLeft()
	k.F.CheckLedger()
}
