package vault

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// TestBinlogsBehindServers: a farm archives its binary log into a repository behind a server that is killed, and comes back. While it is
// away one message names it, and what is read stays in the spool; the next pass brings it.
func TestBinlogsBehindServers(t *testing.T) {
	for _, name := range []string{"rest", "sftp"} {
		t.Run(name, func(t *testing.T) {
			room := t.TempDir()
			s := kinds[name](t, room)
			k := farmtest.StartKeptFarm(t)
			k.Say("restic: \"" + s.place.Restic + "\", password_file: " + s.place.PasswordFile + ", env_file: " + s.place.EnvFile)
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
			k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
			time.Sleep(2 * time.Second)
			s.kill()
			k.Run(farmtest.ExitFindings, "binary logs wait on host", "backup", "binlogs")
			time.Sleep(time.Second)
			away := time.Now()
			time.Sleep(2 * time.Second)
			k.Run(farmtest.ExitFindings, "check whether the server of the repository runs", "backup", "binlogs")
			s.start()
			k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
			must(t, os.RemoveAll(filepath.Join(k.F.Dir, ".stowage", "spool")))
			r := k.Restore("--at", away.Format(time.RFC3339))
			k.CheckSecond(r, away)
			k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
			k.F.CheckLedger()
		})
	}
}
