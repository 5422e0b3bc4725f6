package backup

import (
	"fmt"
	"testing"

	"stowage/backup"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// A side is lost and restored again and again, from backups of either side, onto another host each time; what restores it is killed at each border in turn,
// with its engine or without. Clients, whom somebody has sent to the twin, notice nothing.
func TestLostSideKilledAtEveryBorder(t *testing.T) {
	book, _ := backup.RestoreKind(nil).Runbook("side")
	for hand, points := range farmtest.Dealt(book.Points(), 4) {
		t.Run(fmt.Sprint("hand ", hand), func(t *testing.T) {
			k := farmtest.StartKeptFarm(t)
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--incremental")
			for n, at := range points {
				side := []farm.SideName{farm.B, farm.A}[n%2]
				to := k.F.FreeHosts()[0]
				k.LoseSide(side)
				k.FailOver(side)
				if n%3 == 2 { // a backup that is younger than the loss
					k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/"+string(side.Twin()), "--full")
				}
				k.KilledIn([]string{"both", "stowage"}[n/2%2], at, "restore", "dbshard001", "--as-side", string(side), "--to", to)
				k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
				k.CheckAdopted(t, side, to)
				if t.Failed() {
					t.Fatalf("killed at %q", at)
				}
			}
			k.F.CheckLedger()
		})
	}
}

// A replica is lost and restored again and again, from its own backups and from the primary's; what restores it is killed at each border in turn.
func TestLostReplicaKilledAtEveryBorder(t *testing.T) {
	book, _ := backup.RestoreKind(nil).Runbook("replica")
	for hand, points := range farmtest.Dealt(book.Points(), 3) {
		t.Run(fmt.Sprint("hand ", hand), func(t *testing.T) {
			k := farmtest.StartKeptPrimary(t)
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/A")
			for n, at := range points {
				if n%2 == 1 {
					k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/B", "--full")
				}
				to := k.F.FreeHosts()[0]
				k.KillSide(farm.B)
				k.KilledIn([]string{"both", "stowage"}[n/2%2], at, "restore", "dbshard001", "--as-side", "B", "--to", to)
				k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
				k.CheckReplica(farm.B, to)
				if t.Failed() {
					t.Fatalf("killed at %q", at)
				}
			}
			k.F.CheckLedger()
		})
	}
}
