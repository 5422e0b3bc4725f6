package flavors

import (
	"testing"

	"stowage/backup"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/turns"
)

// TestLostSideOnMySQL: the host of a side of a MySQL pair is lost for good, and the side comes back on another from a backup of its own, then the other side from one of its
// twin, killed on the way; clients of the side that is left notice nothing, and both sides have every write.
func TestLostSideOnMySQL(t *testing.T) {
	turns.One(t, 2)
	k := startKeptMySQL(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/B")
	book, _ := backup.RestoreKind(nil).Runbook("side")
	for n, side := range []farm.SideName{farm.B, farm.A} {
		to := k.F.FreeHosts()[0]
		restore := []string{"restore", "dbshard001", "--as-side", string(side), "--to", to}
		if n == 0 {
			k.Run(farmtest.ExitRefused, "stowage move instance dbshard001/B --to "+to, restore...)
		}
		k.LoseSide(side)
		k.Run(farmtest.ExitFine, "restore-side-unreceived", append(restore, "--dry-run")...)
		k.FailOver(side)
		k.F.KilledAt(sample([]string{"after fetch", "before rewire"}, book.Points()...), restore...)
		k.CheckAdopted(t, side, to)
		if t.Failed() {
			return
		}
	}
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	k.F.CheckLedger()
}
