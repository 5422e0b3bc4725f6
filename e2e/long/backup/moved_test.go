package backup

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// Side B is backed up, and then side A. A second after the last look at B's binary log, and before A's backup, can be restored: B's log is archived once more.
func TestASecondBeforeTheOtherSideIsBackedUp(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/B")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	time.Sleep(3 * time.Second)
	late := time.Now()
	time.Sleep(3 * time.Second)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--full", "dbshard001/A")
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001a", "backup", "binlogs")
	r := k.Restore("--at", late.Format(time.RFC3339))
	k.CheckSecond(r, late)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	k.F.CheckLedger()
	vaultMountedElsewhere(k)
}

// vaultMountedElsewhere: the disk of the vault has another path now, and farm.yaml names that. What is on it is known there, in the old catalogue and in a new one.
func vaultMountedElsewhere(k *farmtest.KeptFarm) {
	t := k.F.T
	t.Helper()
	ids, path, there := k.Backups(), filepath.Join(k.F.Dir, "farm.yaml"), k.Vault+"-mounted-elsewhere"
	was, err := os.ReadFile(path)
	if err == nil {
		err = os.Rename(k.Vault, there)
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, bytes.ReplaceAll(was, []byte(k.Vault), []byte(there)))
	k.Vault = there
	k.Run(farmtest.ExitRefused, "vault", "restore", ids[0])
	k.Run(farmtest.ExitFindings, "found in another vault than the catalogue named", "backup", "list", "--scan") // the old path is away
	k.Run(farmtest.ExitFine, "2 of 2 backups as written", "backup", "check")
	r := k.RestoreOf(ids[0], "--latest")
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)

	for _, name := range []string{"stowage.db", "stowage.db-wal", "stowage.db-shm"} {
		if err := os.RemoveAll(filepath.Join(k.F.Dir, ".stowage", name)); err != nil {
			t.Fatal(err)
		}
	}
	k.Run(farmtest.ExitFine, ids[1], "backup", "list", "--scan")
	k.Run(farmtest.ExitFine, "2 of 2 backups as written", "backup", "check")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.NothingLeft()
}
