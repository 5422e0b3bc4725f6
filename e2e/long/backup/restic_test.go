package backup

import (
	"path/filepath"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// The same into a repository of restic: full, incremental, verified, killed once, checked, pruned, with the binary logs in it. What prune leaves is enough
// for a moment after the backup that stays, and no more.
func TestBackupsInARepository(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.InRepository(filepath.Join(k.F.Dir, "repository"), "keep: {last: 1}")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	k.KilledIn("both", "before position", "backup", "run", "--incremental")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.Run(farmtest.ExitFine, "2 of 2 backups as written", "backup", "check")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	early := time.Now().Add(-2 * time.Second)
	r := k.Restore("--at", early.Format(time.RFC3339))
	k.CheckSecond(r, early)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	time.Sleep(time.Second)
	k.Told("FLUSH BINARY LOGS") // what is before it can go
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--full")
	time.Sleep(2 * time.Second)
	late := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.Run(farmtest.ExitFine, "removed: ", "backup", "prune", "--yes")
	if ids := k.Backups(); len(ids) != 1 {
		t.Errorf("there are %q", ids)
	}
	r = k.Restore("--at", late.Format(time.RFC3339))
	k.CheckSecond(r, late)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	k.Run(farmtest.ExitFine, "1 of 1 backup as written", "backup", "check")
	k.Run(farmtest.ExitFine, "", "backup", "list", "--scan")
	if ids := k.Backups(); len(ids) != 1 {
		t.Errorf("after a scan there are %q", ids)
	}
	k.NothingLeft()
	k.F.CheckLedger()
}
