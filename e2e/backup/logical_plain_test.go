package backup

import (
	"testing"

	"stowage/e2e/farmtest"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// Whoever has the vault of a logical backup and nothing else follows RESTORE.txt with a shell: each shard is in a plain server then, with the rows that the live one has.
func TestShardsLoadedByHand(t *testing.T) {
	turns.One(t, 6)
	k := farmtest.StartKeptFarm(t)
	k.Told(grantDump)
	k.F.CheckLedger() // and the clients end
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--kind", "logical")
	k.LoadedByHand("mariadb", mariadbtest.Start(t, "plain"))
}
