package backup

import (
	"testing"

	"stowage/e2e/farmtest"
)

// A shard of a pair with one writer comes out of a backup of its replica, into its own pair and into another, through their primaries; the replicas have it too.
func TestShardIsRestoredThroughAPrimary(t *testing.T) {
	k := farmtest.StartKeptPrimary(t)
	shard := k.FirstShard()
	k.Run(farmtest.ExitFine, "2 of 2 instances done", "backup", "run")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	k.Run(farmtest.ExitUsage, "takes no writes on side B", "restore", "--shard", shard, "--into", "dbshard001/B")
	own := k.RestoreShard(shard, "--latest", "--as", "then_own")
	if own.Pair != "dbshard001" || own.Rows == 0 || k.OnBoth("SELECT COUNT(*) FROM then_own.listings") != k.OnBoth("SELECT COUNT(*) FROM `"+shard+"`.listings") {
		t.Errorf("%+v", own)
	}
	other := k.RestoreShard(shard, "--latest", "--as", "then_other", "--into", "dbshard002")
	if other.Pair != "dbshard002" || other.Rows != own.Rows || other.Differ != 0 {
		t.Errorf("%+v, and into its own pair %+v", other, own)
	}
	if n := k.OnBoth("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'then_other'"); n != "0" {
		t.Error("its own pair has it too")
	}
	k.NoMarks()
	k.NothingLeft()
	k.F.CheckLedger()
}
