package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
)

// A logical backup is taken by `due`, where farm.yaml asks for it, into a repository of restic, killed once; it is proven, and a shard comes out of it beside the one that serves.
func TestLogicalByDueIntoARepository(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Told(grantDump)
	password := filepath.Join(k.F.Dir, "restic.pw")
	if err := os.WriteFile(password, []byte("a long 'word'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.Say("restic: " + filepath.Join(k.F.Dir, "repository") + ", password_file: " + password + ", full: off, incremental: off, binlogs: off, verify: off, logical: 1d")
	k.KilledIn("both", "after copy", "due")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "due")
	k.Run(farmtest.ExitFine, "not due", "due")
	ids := k.Backups()
	if len(ids) != 1 || !strings.HasSuffix(ids[0], "-logical") {
		t.Fatalf("there are %q", ids)
	}
	k.Run(farmtest.ExitFine, "1 of 1 backup as written", "backup", "check")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.Run(farmtest.ExitFine, "0 differences", "restore", "--shard", k.FirstShard(), "--as", "shop_then")
	if n := k.OnBoth("SELECT COUNT(*) > 0 FROM shop_then.receipts"); n != "1" {
		t.Errorf("the shard that came back has no rows: %s", n)
	}
	k.NothingLeft()
	k.F.CheckLedger()
}
