package backup

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/internal/turns"
)

// Binary logs go into a repository of restic while clients write, by a program that is killed at random moments. Then all that this machine knew of them is
// lost, the catalogue too: an instance is made of the repository alone, at a random second, and has what clients had been told by then.
func TestAnySecondOutOfARepository(t *testing.T) {
	turns.Heavy(t, 3)
	k := farmtest.StartKeptFarm(t)
	k.InRepository(filepath.Join(k.F.Dir, "repository"), "keep: {last: 1}")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	time.Sleep(time.Second) // seconds are counted from the next whole one
	from := time.Now()
	for range 3 {
		b := k.F.Start("backup", "binlogs", "--follow", "--every", "1s")
		time.Sleep(2*time.Second + rand.N(4*time.Second))
		b.Kill()
	}
	to := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	for _, name := range []string{"spool", "binlogs", "stowage.db", "stowage.db-wal", "stowage.db-shm"} {
		if err := os.RemoveAll(filepath.Join(k.F.Dir, ".stowage", name)); err != nil {
			t.Fatal(err)
		}
	}
	k.Run(farmtest.ExitFine, "", "backup", "list", "--scan")
	k.Run(farmtest.ExitRefused, "restore-moment", "restore", "dbshard001", "--at", time.Now().Add(time.Hour).Format(time.RFC3339))
	second := from.Add(rand.N(to.Sub(from)))
	r := k.Restore("--at", second.Format(time.RFC3339))
	k.CheckSecond(r, second)
	if left, _ := filepath.Glob(filepath.Join(k.F.Dir, "hosts", "*", "*", "archived")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	k.Run(farmtest.ExitFine, "binary logs of dbshard001b: ", "backup", "check")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs") // with a spool that is new
	k.F.CheckLedger()
	k.NothingLeft()
}
