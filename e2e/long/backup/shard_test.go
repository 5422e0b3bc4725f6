package backup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// The throw-away server dies with its host while nobody looks: whoever goes on starts it again, and the copy goes on.
func TestShardRestoreOutlivesItsServer(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	shard := k.FirstShard()
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	for _, at := range []string{"before copy", "before compare"} {
		as := "then_" + at[len("before "):]
		k.KilledIn("stowage", at, "restore", "--shard", shard, "--latest", "--as", as)
		killRestored(t, k)
		k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
		if k.OnBoth("SELECT COUNT(*) FROM "+as+".listings") != k.OnBoth("SELECT COUNT(*) FROM `"+shard+"`.listings") {
			t.Errorf("killed %s, and rows are missing", at)
		}
		k.NoMarks()
		k.NothingLeft()
	}
	k.F.CheckLedger()
}

// killRestored ends the server of the only restored instance with SIGKILL.
func killRestored(t *testing.T, k *farmtest.KeptFarm) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(k.F.Dir, "hosts", "*", "*-restored-*", "*.pid"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
