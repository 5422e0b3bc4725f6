package backup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// The same into a repository of restic: full, incremental, verified, killed once, checked, pruned, with the binary logs in it. What prune leaves is enough
// for a moment after the backup that stays, and no more.
func TestBackupsInARepository(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.InRepository(filepath.Join(k.F.Dir, "repository"), "keep: {last: 1}")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	k.KilledIn("both", "before position", "backup", "run", "--incremental")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.Run(farmtest.ExitFine, "2 of 2 backups as written", "backup", "check")
	early := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	r := k.Restore("--at", early.Format(time.RFC3339))
	k.CheckSecond(r, early)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	time.Sleep(time.Second)
	k.Told("FLUSH BINARY LOGS") // what is before it can go
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--full")
	time.Sleep(2 * time.Second)
	late := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	k.KilledIn("both", "after replay", "backup", "verify")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	k.Run(farmtest.ExitFine, "removed: ", "backup", "prune", "--yes")
	if ids := k.Backups(); len(ids) != 1 {
		t.Errorf("there are %q", ids)
	}
	r = k.Restore("--at", late.Format(time.RFC3339))
	k.CheckSecond(r, late)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	k.CheckShardAt(k.FirstShard(), k.RestoreShard(k.FirstShard(), "--at", late.Format(time.RFC3339)).Database, late)
	k.Run(farmtest.ExitFine, "1 of 1 backup as written", "backup", "check")
	k.Run(farmtest.ExitFine, "", "backup", "list", "--scan")
	if ids := k.Backups(); len(ids) != 1 {
		t.Errorf("after a scan there are %q", ids)
	}
	damagedLogs(t, k)
	lostWithItsLogs(t, k)
	k.NothingLeft()
	k.F.CheckLedger()
}

// lostWithItsLogs loses the side whose binary logs are in the repository: it comes back from the repository on another host, and its new log goes there, too.
func lostWithItsLogs(t *testing.T, k *farmtest.KeptFarm) {
	t.Helper()
	to := k.F.FreeHosts()[0]
	k.LoseSide(farm.B)
	k.FailOver(farm.B)
	k.Run(farmtest.ExitFine, "serves as side B of dbshard001", "restore", "dbshard001", "--as-side", "B", "--to", to)
	k.CheckAdopted(t, farm.B, to)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/B")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	time.Sleep(2 * time.Second)
	second := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	r := k.Restore("--at", second.Format(time.RFC3339))
	k.CheckSecond(r, second)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
}

// damagedLogs flips a bit in each file that the newest pass has added to the repository: the piece is named, and nothing is restored through it. The archive goes on.
func damagedLogs(t *testing.T, k *farmtest.KeptFarm) {
	t.Helper()
	packs := func() []string {
		all, err := filepath.Glob(filepath.Join(k.F.Dir, "repository", "data", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := packs()
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	for _, p := range packs() {
		if slices.Contains(before, p) {
			continue
		}
		raw, err := os.ReadFile(p)
		if err == nil {
			raw[len(raw)/3] ^= 1
			err = errors.Join(os.Chmod(p, 0o600), os.WriteFile(p, raw, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	k.Run(farmtest.ExitFindings, "binary logs of dbshard001b are damaged: ", "backup", "check")
	p := farmtest.RunWith(t, k.F.Env(""), "restore", "dbshard001", "--latest", "-C", k.F.Dir)
	if p.Code == farmtest.ExitFine || !strings.Contains(p.Stdout+p.Stderr, "dbshard001b/binlog/0001-") {
		t.Errorf("restored through a piece that is damaged: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	if n := strings.Count(p.Stdout+p.Stderr, "attempt "); n > 0 {
		t.Errorf("tried again %d times", n)
	}
	t.Logf("exit %d: %s", p.Code, p.Stderr)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
}
