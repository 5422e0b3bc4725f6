package backup

import (
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/turns"
)

// The host of a side is lost for good. Its clients are sent to the twin, the newest backup becomes the side on another host, and they come back to it; no
// client of the side that is left notices, and both sides have every write.
func TestALostSideIsRestored(t *testing.T) {
	turns.One(t, 8)
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	to := k.F.FreeHosts()[0]
	k.Run(farmtest.ExitRefused, "stowage move instance dbshard001/B --to "+to, "restore", "dbshard001", "--as-side", "B", "--to", to)
	k.LoseSide(farm.B)
	k.Run(farmtest.ExitFine, "restore-side-unreceived", "restore", "dbshard001", "--as-side", "B", "--to", to, "--dry-run")
	b := k.F.Start("restore", "dbshard001", "--as-side", "B", "--to", to)
	k.F.Await(b, "the clients of side B are sent to side A", func() bool { percent, _ := k.SidesOf(farm.B, farm.A); return percent == 100 })
	if err := k.F.StartClients(); err != nil {
		t.Fatal(err)
	}
	b.Ends(t, farmtest.ExitFine)
	if said := b.Out.String(); !strings.Contains(said, "serves as side B of dbshard001") {
		t.Error(said)
	}
	k.CheckAdopted(t, farm.B, to)
	k.Run(farmtest.ExitRefused, "it serves as side B", "restore", "remove", "dbshard001b")
	k.Run(farmtest.ExitFine, "", "backup", "list")
	k.F.CheckLedger()
}

// The host of a replica is lost for good. Its backup, or one of the primary, becomes the replica on another host; who writes notices nothing.
func TestALostReplicaIsRestored(t *testing.T) {
	turns.One(t, 8)
	k := farmtest.StartKeptPrimary(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/A")
	to := k.F.FreeHosts()[0]
	restore := []string{"restore", "dbshard001", "--as-side", "B", "--to", to}
	k.Run(farmtest.ExitRefused, "its server answers", restore...)
	k.Run(farmtest.ExitUsage, "takes the writes of the pair", "restore", "dbshard001", "--as-side", "A", "--to", to)
	k.KillSide(farm.B)
	k.Run(farmtest.ExitFine, "serves as side B", restore...)
	k.CheckReplica(farm.B, to)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/B")
	k.F.CheckLedger()
}
