package backup

import (
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/internal/turns"
)

// grantDump is what the account for copies needs besides to dump.
const grantDump = "GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO backup@'%'"

// A logical backup of one shard of a pair, while clients write: the account is asked for first; a shard comes out of it into the pair, and it is proven against the
// live server, which has gone on.
func TestLogicalBackupOfAShard(t *testing.T) {
	turns.One(t, 6)
	k := farmtest.StartKeptFarm(t)
	shard := k.FirstShard()
	k.Run(farmtest.ExitRefused, "lacks SELECT, SHOW VIEW, TRIGGER, EVENT", "backup", "run", "--kind", "logical")
	k.Told(grantDump)
	k.Run(farmtest.ExitUsage, "farm.yaml has no shard", "backup", "run", "--kind", "logical", "--shards", "nobody*")
	k.Run(farmtest.ExitFine, "logical", "backup", "run", "--kind", "logical", "--shards", shard, "--dry-run")
	time.Sleep(2 * time.Second) // clients have been told of writes before the second that is looked at below
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--kind", "logical", "--shards", shard[:len(shard)-1]+"?")
	k.Run(farmtest.ExitFindings, "backup-none", "backup", "status")
	ids := k.Backups()
	if len(ids) != 1 || !strings.HasSuffix(ids[0], "-logical") {
		t.Fatalf("there are %q", ids)
	}
	k.Run(farmtest.ExitUsage, "it has no backup", "restore", "dbshard001")
	k.Run(farmtest.ExitUsage, "can be restored only to the moment at which it was taken", "restore", ids[0], "--latest")
	k.Run(farmtest.ExitUsage, "not all that a side needs", "restore", ids[0], "--as-side", "A", "--to", "db002")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	r := k.RestoreShard(shard, "--as", "shop_then")
	if r.Backup != ids[0] || r.Rows < 50 || r.Differ != 0 || len(r.LeftOut) != 0 {
		t.Errorf("%+v", r)
	}
	k.CheckShardAt(shard, "shop_then", r.At.Add(-time.Second))
	k.NoMarks()
	k.NothingLeft()
	k.F.CheckLedger()
}
