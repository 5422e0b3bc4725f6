package flavors

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/backup"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

func startKeptMySQL(t *testing.T) *farmtest.KeptFarm {
	t.Helper()
	t.Parallel() // it mostly waits
	return farmtest.KeepFarm(startOn(t, mariadbtest.MySQL9, farm.ActiveActive, 1), "dbshard001/A")
}

// TestBackupOnMySQL: a pair of MySQL under load is backed up by a clone, its binary logs are archived, and a backup is proven against the live side, each killed on the
// way; an instance is made of a second between two events, and has what clients had been told by then; a shard comes back beside the one that serves.
func TestBackupOnMySQL(t *testing.T) {
	k := startKeptMySQL(t)
	for _, side := range []farm.SideName{farm.A, farm.B} { // as a server that was cloned has it: transactions that its own log never had
		db := k.F.Root(side)
		if _, err := db.ExecContext(t.Context(), "SET GLOBAL gtid_purged = '+3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5'"); err != nil {
			t.Fatal(err)
		}
		_ = db.Close()
	}
	k.F.KilledAt(sample([]string{"after clone", "before seal/record"}, backup.Kind(nil).Runbooks[1].Points()...), "backup", "run")
	k.NothingLeft()
	k.Run(farmtest.ExitFine, k.Backups()[0], "backup", "list")
	k.Run(farmtest.ExitFine, "as written", "backup", "check")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	k.Told("FLUSH BINARY LOGS")
	time.Sleep(3 * time.Second)
	second := time.Now()
	time.Sleep(3 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	r := k.Restore("--at", second.Format(time.RFC3339))
	k.CheckSecond(r, second)
	if got := k.ValueAt(r, "SELECT REPLACE(@@GLOBAL.gtid_executed, '\n', '')"); got != r.GTID {
		t.Errorf("it is at %s, and was said to be at %s", got, r.GTID)
	}
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)

	database := k.RestoreShard(k.FirstShard(), "--at-gtid", r.GTID).Database
	k.CheckShardAt(k.FirstShard(), database, second)
	k.NothingLeft()

	book, _ := backup.RestoreKind(nil).Runbook("verify")
	k.F.KilledAt(sample([]string{"after replay", "before record/stop"}, book.Points()...), "backup", "verify")
	k.NothingLeft()
	k.Run(farmtest.ExitFindings, "1 finding\n", "backup", "status") // the vault is on the side's own host; it is not unproven
	k.F.CheckLedger()
}

// TestBackupOnMySQLIsRefused: what keeps a server from being backed up is named with its remedy before anything is done; a run that is given up leaves nothing; there are no
// incremental copies, and a full one is taken instead.
func TestBackupOnMySQLIsRefused(t *testing.T) {
	turns.One(t, 2)
	k := startKeptMySQL(t)
	shard := k.FirstShard()
	for _, x := range []struct{ do, wanted, undo string }{
		{"REVOKE BACKUP_ADMIN ON *.* FROM backup@'%'", "GRANT BACKUP_ADMIN ON *.*", "GRANT BACKUP_ADMIN ON *.* TO backup@'%'"},
		{"UNINSTALL PLUGIN clone", "INSTALL PLUGIN clone SONAME 'mysql_clone.so'", "INSTALL PLUGIN clone SONAME 'mysql_clone.so'"},
		{"CREATE TABLE `" + shard + "`.odd (id INT PRIMARY KEY) ENGINE=MyISAM", shard + ".odd (MyISAM)", "DROP TABLE `" + shard + "`.odd"},
	} {
		k.Told(x.do)
		k.Run(farmtest.ExitRefused, x.wanted, "backup", "run", "dbshard001/B")
		k.Told(x.undo)
	}
	k.Run(farmtest.ExitFine, "MySQL has no incremental backups", "backup", "run", "--dry-run", "--incremental", "dbshard001/B") // there is none yet
	for _, step := range []string{"copy", "clear"} {
		k.KilledIn("both", "before "+step, "backup", "run", "dbshard001/B")
		k.Run(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
		k.NothingLeft()
	}
	if ids := k.Backups(); len(ids) != 0 {
		t.Errorf("given up, and there are %q", ids)
	}
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/B")
	k.Run(farmtest.ExitFine, "MySQL has no incremental backups", "backup", "run", "--incremental")
	if ids := k.Backups(); len(ids) != 2 || !strings.HasSuffix(ids[1], "-full") {
		t.Errorf("%q", ids)
	}
	byHand(t, k, shard)
	k.F.CheckLedger()
}

// TestBackupOnMySQLInARepository: the same into a repository of restic, with the binary logs in it.
func TestBackupOnMySQLInARepository(t *testing.T) {
	turns.One(t, 3)
	k := startKeptMySQL(t)
	k.InRepository(filepath.Join(k.F.Dir, "repository"), "verify: off, binlogs: off")
	k.KilledIn("both", "before clear", "due")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "due")
	k.Run(farmtest.ExitFine, "1 of 1 backup as written", "backup", "check")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	k.Told("FLUSH BINARY LOGS")
	time.Sleep(3 * time.Second)
	second := time.Now()
	time.Sleep(3 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	if err := os.RemoveAll(filepath.Join(k.F.Dir, ".stowage", "spool")); err != nil {
		t.Fatal(err)
	}
	k.KilledIn("both", "after replay", "backup", "verify")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	r := k.Restore("--at", second.Format(time.RFC3339))
	k.CheckSecond(r, second)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	k.NothingLeft()
	k.F.CheckLedger()
}

// byHand follows RESTORE.txt of the newest backup with a shell, zstd, tar and mysqld.
func byHand(t *testing.T, k *farmtest.KeptFarm, shard string) {
	t.Helper()
	ids := k.Backups()
	db, how, printed := k.ByHand(ids[len(ids)-1])
	if printed != "" {
		t.Fatal(printed)
	}
	var rows int
	var at string
	var err error
	for end := time.Now().Add(time.Minute); ; farmtest.PauseTest() {
		err = db.QueryRow(fmt.Sprintf("SELECT COUNT(*), REPLACE(@@GLOBAL.gtid_executed, '\n', '') FROM `%s`.receipts", shard)).Scan(&rows, &at)
		if err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil || rows == 0 || !strings.Contains(how, "GTID position "+at+",") {
		t.Fatalf("%d receipts at %s: %v\n%s", rows, at, err, how)
	}
}
