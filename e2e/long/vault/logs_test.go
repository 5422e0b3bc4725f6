package vault

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// TestBinlogsBehindServers: a farm archives its binary log into a repository behind a server that is killed while a piece is on its way, and comes back. While it is
// away one message names it, and what is read stays in the spool; the next pass brings it.
func TestBinlogsBehindServers(t *testing.T) {
	for _, name := range []string{"rest", "sftp", "s3"} {
		t.Run(name, func(t *testing.T) {
			room := t.TempDir()
			s := kinds[name](t, room)
			k := farmtest.StartKeptFarm(t)
			k.Say("restic: \"" + s.place.Restic + "\", password_file: " + s.place.PasswordFile + ", env_file: " + s.place.EnvFile)
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
			k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
			k.Told("CREATE DATABASE bulk", "CREATE TABLE bulk.t (id INT PRIMARY KEY, v VARBINARY(1024))", "INSERT INTO bulk.t SELECT seq, RANDOM_BYTES(1024) FROM bulk.seq_1_to_40000")
			time.Sleep(2 * time.Second)
			before := sizeOf(t, room)
			b := k.F.Start("backup", "binlogs")
			k.F.Await(b, "some of the log has come", func() bool { return sizeOf(t, room) > before+1<<20 })
			s.kill()
			b.Ends(t, farmtest.ExitFindings)
			if said := b.Out.String(); !strings.Contains(said, "binary logs wait on host") {
				t.Error(said)
			}
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

// sizeOf is how many bytes the files of a directory have.
func sizeOf(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // renamed meanwhile
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	must(t, err)
	return bytes
}
