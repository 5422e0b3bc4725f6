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
	turns.One(t, 3)
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
