package flavors

import (
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
)

// TestBackupOnMySQL: a pair of MySQL under load is backed up by a clone, its binary logs are archived, and a backup is proven against the live side, each killed on the
// way; an instance is made of a second between two events, and has what clients had been told by then; a shard comes back beside the one that serves.
func TestBackupOnMySQL(t *testing.T) {
	t.Parallel() // it mostly waits
	k := farmtest.KeepFarm(startOn(t, mariadbtest.MySQL9, farm.ActiveActive, 1), "dbshard001/A")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	k.NothingLeft()
	k.Run(farmtest.ExitFine, k.Backups()[0], "backup", "list")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	time.Sleep(3 * time.Second)
	second := time.Now()
	time.Sleep(3 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	r := k.Restore("--at", second.Format(time.RFC3339))
	k.CheckSecond(r, second)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.NothingLeft()

	database := k.RestoreShard(k.FirstShard(), "--at", second.Format(time.RFC3339)).Database
	k.CheckShardAt(k.FirstShard(), database, second)
	k.NothingLeft()
	k.F.CheckLedger()
}
