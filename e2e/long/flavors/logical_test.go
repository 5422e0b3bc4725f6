package flavors

import (
	"testing"
	"time"

	"stowage/backup"
	"stowage/e2e/farmtest"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// TestLogicalBackupOnMySQL: the shards of a pair of MySQL are dumped under load, after what keeps them from it was named; the dump is proven against the live side, which has
// changed rows and definitions since, each killed on the way; a shard comes back beside the one that serves.
func TestLogicalBackupOnMySQL(t *testing.T) {
	turns.One(t, 2)
	k := startKeptMySQL(t)
	shard := k.FirstShard()
	own := "`" + shard + "`."
	k.Run(farmtest.ExitRefused, "lacks SELECT, SHOW VIEW, TRIGGER, EVENT, RELOAD, PROCESS", "backup", "run", "--kind", "logical")
	k.Told("GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, RELOAD, PROCESS ON *.* TO backup@'%'",
		"CREATE TABLE "+own+"docs (id INT PRIMARY KEY, d JSON, v VECTOR(4), twice INT AS (id * 2) STORED, hidden INT INVISIBLE DEFAULT 7, made CHAR(36) DEFAULT (UUID()), KEY low ((CAST(d->>'$.n' AS SIGNED))), CHECK (id > 0))",
		"INSERT INTO "+own+`docs (id, d, v, hidden) VALUES (1, '{"n": 1, "t": "☃ \\"q\\" ''"}', STRING_TO_VECTOR('[1,-0.5,1e-30,3.4e38]'), NULL), (2, NULL, NULL, 3)`,
		"CREATE TABLE "+own+"keyless (v INT)", "INSERT INTO "+own+"keyless VALUES (1), (1), (NULL)", "CREATE VIEW "+own+"top AS SELECT MAX(twice) FROM "+own+"docs",
		"CREATE TRIGGER "+own+"g BEFORE INSERT ON "+own+"docs FOR EACH ROW SET NEW.id = NEW.id + 0", "CREATE EVENT "+own+"e ON SCHEDULE EVERY 1 YEAR DO SET @x = 1",
		"CREATE TABLE "+own+"mine (id INT PRIMARY KEY) ENGINE=MyISAM")
	k.Run(farmtest.ExitRefused, shard+".mine: its engine is MyISAM", "backup", "run", "--kind", "logical")
	k.Told("DROP TABLE " + own + "mine")
	time.Sleep(2 * time.Second) // clients have been told of writes before the second that is looked at below
	k.F.KilledAt(sample([]string{"after copy"}, backup.Kind(nil).Runbooks[0].Points()...), "backup", "run", "--kind", "logical")
	k.NothingLeft()
	k.Run(farmtest.ExitFine, "as written", "backup", "check")
	k.Told("INSERT INTO "+own+"keyless VALUES (2)", "ALTER TABLE "+own+"docs ADD COLUMN late INT DEFAULT 5", "UPDATE "+own+"docs SET d = JSON_OBJECT('n', 7) WHERE id = 2", "CREATE DATABASE elsewhere",
		"CREATE TABLE elsewhere.t (id INT PRIMARY KEY)", "INSERT INTO elsewhere.t VALUES (1)", "CREATE USER late@'%' IDENTIFIED BY 'x'", "GRANT SELECT ON elsewhere.t TO late@'%'")
	book, _ := backup.RestoreKind(nil).Runbook("verify")
	k.F.KilledAt(sample([]string{"before start", "before compare"}, book.Points()...), "backup", "verify")
	k.NothingLeft()
	k.Told("DROP TABLE "+own+"keyless", "DROP DATABASE elsewhere") // what the copier does not carry it names
	k.Run(farmtest.ExitFailed, "copier-key", "restore", "--shard", shard, "--as", "shop_then")
	k.NothingTakenOut()
	other := otherShard(k, shard)
	r := k.RestoreShard(other, "--as", "shop_then")
	if r.Rows < 50 || r.Differ != 0 || len(r.LeftOut) != 0 {
		t.Errorf("%+v", r)
	}
	k.CheckShardAt(other, "shop_then", r.At.Add(-time.Second))
	k.NoMarks()
	k.NothingLeft()
	k.F.CheckLedger()
}

// otherShard is one of the pair's other databases.
func otherShard(k *farmtest.KeptFarm, than string) string {
	k.F.T.Helper()
	_, fm, _, err := farmtest.FarmAccess(k.F.Dir)
	if err != nil {
		k.F.T.Fatal(err)
	}
	for _, s := range fm.Pairs[0].Shards {
		if string(s.Name) != than {
			return string(s.Name)
		}
	}
	k.F.T.Fatal("the pair has one shard")
	return ""
}

// TestLogicalBackupOnMySQLByHand: a shell loads all shards of a pair that nobody writes to into a plain server.
func TestLogicalBackupOnMySQLByHand(t *testing.T) {
	turns.One(t, 3)
	k := startKeptMySQL(t)
	k.Told("GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, RELOAD, PROCESS ON *.* TO backup@'%'")
	time.Sleep(5 * time.Second) // clients have written
	k.F.CheckLedger()           // and they end
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--kind", "logical")
	k.LoadedByHand("mysql", mariadbtest.Named(t, mariadbtest.MySQL9).Start(t, "plain"))
}
