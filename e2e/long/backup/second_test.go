package backup

import (
	"math/rand/v2"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// Two pairs under load are backed up, and their logs followed by a program that is killed again and again. Each instance is then made of three seconds
// that lie anywhere behind its backup, and has what its clients had been told by then. The backups are taken of whichever side has least to do.
func TestAnySecondIsRestored(t *testing.T) {
	k := farmtest.StartKeptPairs(t, 2)
	k.Run(farmtest.ExitFine, "2 of 2 instances done", "backup", "run")
	time.Sleep(time.Second) // seconds are counted from the next whole one
	from := time.Now()
	for range 4 {
		b := k.F.Start("backup", "binlogs", "--follow", "--every", "200ms")
		time.Sleep(time.Second + rand.N(4*time.Second))
		b.Kill()
	}
	to := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, string(k.Instances()[0]), "backup", "binlogs")
	time.Sleep(time.Second)
	for _, instance := range k.Instances() {
		for range 3 {
			second := from.Add(rand.N(to.Sub(from)))
			r := k.RestoreOf(string(instance), "--at", second.Format(time.RFC3339))
			k.CheckSecondOf(instance, r, second)
			k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
		}
	}
	k.F.CheckLedger()
	k.NothingLeft()
}
