package backup

import (
	"syscall"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// A side that this program cannot reach may serve all the same: its twin is connected to it, or its process hangs. It is refused until it is really gone.
func TestSideThatIsNotLostIsRefused(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	to := k.F.FreeHosts()[0]
	restore := []string{"restore", "dbshard001", "--as-side", "B", "--to", to}
	k.Run(farmtest.ExitRefused, "its server answers", restore...)
	k.Run(farmtest.ExitRefused, "its server answers", append(restore, "--dry-run")...)
	k.F.Load.Stop()
	k.Signal(farm.B, syscall.SIGSTOP)
	k.Run(farmtest.ExitRefused, "is still connected to it", restore...)
	k.AwaitReceiver(farm.A, false)
	k.Run(farmtest.ExitRefused, "its process", restore...)
	k.Signal(farm.B, syscall.SIGCONT)
	k.AwaitReceiver(farm.A, true)
	if err := k.F.StartClients(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	k.LoseSide(farm.B)
	k.FailOver(farm.B)
	k.TellSide(farm.A, "SET GLOBAL read_only = ON")
	k.Run(farmtest.ExitRefused, "restore-side-twin", restore...)
	k.TellSide(farm.A, "SET GLOBAL read_only = OFF")
	k.Run(farmtest.ExitFine, "serves as side B", restore...)
	k.CheckAdopted(t, farm.B, to)
	k.F.Load.Stop()
}

// The twin's binary logs do not go back to the backup any more: refused, with the backup that would do. When they are purged while the backup is unpacked, all
// that was made goes.
func TestLostSideBehindPurgedLogs(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	old := k.Backups()[0]
	to := k.F.FreeHosts()[0]
	time.Sleep(2 * time.Second)
	k.LoseSide(farm.B)
	k.FailOver(farm.B)
	restore := []string{"restore", old, "--as-side", "B", "--to", to}
	k.KilledIn("both", "before attach", restore...)
	k.Purge(farm.A)
	k.Run(farmtest.ExitFailed, "do not reach back to "+old, "resume")
	k.NoSideLeft(farm.B, to)
	k.Run(farmtest.ExitRefused, "its binary logs do not reach back to", restore...)
	k.Run(farmtest.ExitRefused, "stowage backup run dbshard001/A --full", restore...)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/A", "--full")
	young := k.Backups()[1]
	k.Run(farmtest.ExitRefused, "stowage restore "+young+" --as-side B --to "+to, restore...)
	k.Run(farmtest.ExitFine, "serves as side B", "restore", young, "--as-side", "B", "--to", to)
	k.CheckAdopted(t, farm.B, to)
	k.F.CheckLedger()
}

// A backup that was taken while its twin received nothing has transactions that are nowhere else: it cannot follow that twin, and is not made to.
func TestBackupAheadOfTheTwinIsRefused(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	good := k.Backups()[0]
	to := k.F.FreeHosts()[0]
	k.F.Load.Stop()
	k.TellSide(farm.A, "STOP SLAVE IO_THREAD")
	k.TellSide(farm.B, "CREATE DATABASE unseen")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/B", "--full")
	k.Signal(farm.B, syscall.SIGKILL)
	time.Sleep(time.Second)
	k.TellSide(farm.A, "START SLAVE IO_THREAD")
	k.Run(farmtest.ExitRefused, "stowage restore "+good+" --as-side B --to "+to, "restore", "dbshard001", "--as-side", "B", "--to", to)
	k.Run(farmtest.ExitFine, "serves as side B", "restore", good, "--as-side", "B", "--to", to)
	k.CheckAdopted(t, farm.B, to)
}

// Where both sides write one GTID domain nobody can tell whose a transaction is: refused, as by every act.
func TestLostSideInDomainZeroIsRefused(t *testing.T) {
	k := farmtest.StartKeptInDomainZero(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	k.LoseSide(farm.B)
	k.Run(farmtest.ExitRefused, "restore-side-domain", "restore", "dbshard001", "--as-side", "B", "--to", k.F.FreeHosts()[0])
}

// A primary is not restored as one: its backup lacks what it acknowledged last. A replica may be restored beside a primary that takes writes, and no other.
func TestLostPrimaryIsRefused(t *testing.T) {
	k := farmtest.StartKeptPrimary(t)
	k.Run(farmtest.ExitFine, "2 of 2 instances done", "backup", "run")
	to := k.F.FreeHosts()[0]
	k.Run(farmtest.ExitUsage, "takes the writes of the pair", "restore", "dbshard001", "--as-side", "A", "--to", to)
	restore := []string{"restore", "dbshard001", "--as-side", "B", "--to", to}
	k.F.Load.Stop()
	k.KillSide(farm.B)
	k.TellSide(farm.A, "SET GLOBAL read_only = ON")
	k.Run(farmtest.ExitRefused, "must take the writes of the pair", restore...)
	k.TellSide(farm.A, "SET GLOBAL read_only = OFF")
	k.Run(farmtest.ExitFine, "serves as side B", restore...)
	k.CheckReplica(farm.B, to)
}
