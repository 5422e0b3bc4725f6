package backup

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// Binary logs of two pairs go into one repository, by programs of which two run at once, all of them killed at random moments, most of them while a piece is on its
// way; beside backups, and with a spool that is lost now and then. Afterwards each piece is as it was written, and each instance is made of two random seconds.
func TestLogsInARepositoryKilled(t *testing.T) {
	k := farmtest.StartKeptPairs(t, 2)
	k.InRepository(filepath.Join(k.F.Dir, "repository"))
	k.Run(farmtest.ExitFine, "2 of 2 instances done", "backup", "run")
	time.Sleep(time.Second) // seconds are counted from the next whole one
	from := time.Now()
	for n := range 12 {
		one := k.F.Start("backup", "binlogs", "--follow", "--every", "200ms")
		other := k.F.Start("backup", "binlogs", "--follow", "--every", "300ms")
		if n == 4 {
			k.Run(farmtest.ExitFine, "2 of 2 instances done", "backup", "run", "--incremental")
		}
		time.Sleep(time.Second + rand.N(5*time.Second))
		one.Kill()
		time.Sleep(rand.N(2 * time.Second))
		other.Kill()
		if n%5 == 3 {
			if err := os.RemoveAll(filepath.Join(k.F.Dir, ".stowage", "spool")); err != nil {
				t.Fatal(err)
			}
		}
	}
	to := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, string(k.Instances()[0]), "backup", "binlogs")
	if err := os.RemoveAll(filepath.Join(k.F.Dir, ".stowage", "spool")); err != nil {
		t.Fatal(err)
	}
	k.Run(farmtest.ExitFine, "4 of 4 backups as written", "backup", "check")
	for _, instance := range k.Instances() {
		for range 2 {
			second := from.Add(rand.N(to.Sub(from)))
			r := k.RestoreOf(string(instance), "--at", second.Format(time.RFC3339))
			k.CheckSecondOf(instance, r, second)
			k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
		}
	}
	k.F.CheckLedger()
	k.NothingLeft()
}
