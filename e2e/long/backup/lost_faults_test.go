package backup

import (
	"testing"
	"time"

	"stowage/backup"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// A run that was killed before a step and is then given up leaves nothing that it made: no directory, no server. The clients stay where they are served.
func TestLostSideGivenUpLeavesNothing(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	to := k.F.FreeHosts()[0]
	k.LoseSide(farm.B)
	k.FailOver(farm.B)
	book, _ := backup.RestoreKind(nil).Runbook("side")
	for n, s := range book.Steps {
		if s.NoReturn {
			continue // it goes on to its end
		}
		k.KilledIn([]string{"both", "stowage"}[n%2], "before "+s.Name, "restore", "dbshard001", "--as-side", "B", "--to", to)
		k.Run(farmtest.ExitFine, "", "abort", "--reason", "wrong host")
		if k.NoSideLeft(farm.B, to); t.Failed() {
			t.Fatalf("given up before %s", s.Name)
		}
	}
	k.Run(farmtest.ExitFine, "serves as side B", "restore", "dbshard001", "--as-side", "B", "--to", to)
	k.CheckAdopted(t, farm.B, to)
	k.F.CheckLedger()
}

// What the twin has received and not applied yet is nowhere else: it waits for that before it serves the clients, and before its link is turned.
func TestLostSideLeavesAnUnappliedRelayLog(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	to := k.F.FreeHosts()[0]
	k.TellSide(farm.A, "STOP SLAVE", "CHANGE MASTER TO MASTER_DELAY = 8", "START SLAVE")
	time.Sleep(2 * time.Second)
	k.LoseSide(farm.B)
	k.Run(farmtest.ExitFine, "serves as side B", "restore", "dbshard001", "--as-side", "B", "--to", to)
	k.CheckAdopted(t, farm.B, to)
	if err := k.F.StartClients(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	k.F.CheckLedger()
}

// The lost server is started again while its place is being taken, by somebody who did not know: it takes no more writes, and what it has comes to its twin.
func TestLostSideComesBackMeanwhile(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	to := k.F.FreeHosts()[0]
	k.LoseSide(farm.B)
	k.FailOver(farm.B)
	k.KilledIn("stowage", "before attach", "restore", "dbshard001", "--as-side", "B", "--to", to)
	k.StartSide(farm.B)
	k.TellSide(farm.B, "CREATE DATABASE late", "CREATE TABLE late.t (id INT PRIMARY KEY)", "INSERT INTO late.t VALUES (1)")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	k.CheckAdopted(t, farm.B, to)
	if n := k.OnBoth("SELECT COUNT(*) FROM late.t"); n != "1" {
		t.Errorf("its late write is there %s times", n)
	}
	k.F.CheckLedger()
}

// The restored server dies between its comparison and its first client: what a crash has left is compared again.
func TestRestoredSideCrashesBeforeItServes(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	to := k.F.FreeHosts()[0]
	k.LoseSide(farm.B)
	k.FailOver(farm.B)
	k.KilledIn("stowage", "before in", "restore", "dbshard001", "--as-side", "B", "--to", to)
	k.CrashOn(to)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	k.Run(farmtest.ExitFine, "comparing them again", "log")
	k.CheckAdopted(t, farm.B, to)
	k.F.CheckLedger()
}
