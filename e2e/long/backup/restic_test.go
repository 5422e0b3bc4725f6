package backup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// The same into a repository of restic: full, incremental, verified, killed once, checked, pruned. A repository takes no binary logs, and says so.
func TestBackupsInARepository(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	password := filepath.Join(k.F.Dir, "restic.pw")
	if err := os.WriteFile(password, []byte("a long 'word'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	repository := filepath.Join(k.F.Dir, "repository")
	k.Say("restic: " + repository + ", password_file: " + password + ", keep: {last: 1}")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	k.KilledIn("both", "before position", "backup", "run", "--incremental")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.Run(farmtest.ExitFine, "2 of 2 backups as written", "backup", "check")
	k.Run(farmtest.ExitFindings, "not kept in a restic repository", "backup", "binlogs")
	r := k.Restore()
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	time.Sleep(time.Second)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--full")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.Run(farmtest.ExitFine, "removed: ", "backup", "prune", "--yes")
	if ids := k.Backups(); len(ids) != 1 {
		t.Errorf("there are %q", ids)
	}
	k.Run(farmtest.ExitFine, "", "backup", "list", "--scan")
	if ids := k.Backups(); len(ids) != 1 {
		t.Errorf("after a scan there are %q", ids)
	}
	k.NothingLeft()
	k.F.CheckLedger()
}
