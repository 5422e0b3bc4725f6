package backup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/host"
)

// The host of a restore has room for the instance, and not for the binary logs that are replayed: preflight warns. The server then waits for room for as long as there
// is none; that is said, and with more room the restore comes out well.
func TestTheDiskOfARestoreFillsUp(t *testing.T) {
	if !farmtest.Apart(t) {
		return
	}
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "dbshard001/B")
	k.Told("CREATE DATABASE big", "CREATE TABLE big.t (id INT AUTO_INCREMENT PRIMARY KEY, v LONGBLOB)")
	small := make([]string, 7000)
	for n := range small {
		small[n] = "INSERT INTO big.t (v) VALUES (REPEAT(RANDOM_BYTES(1024), 23))"
	}
	k.Told(small...)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	disk := filepath.Join(k.F.Dir, "small")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	mount := func(options string) {
		t.Helper()
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "stowage-test", disk).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	mount("mode=755,size=300m")
	t.Cleanup(func() { // the farm's own end does not find a server below a file system that is gone
		files, _ := filepath.Glob(filepath.Join(disk, "*", host.PidFile))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		_ = exec.Command("umount", "-l", disk).Run()
	})
	path := filepath.Join(k.F.Dir, "farm.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, []byte(strings.ReplaceAll(string(text), "dir: hosts/db001", "dir: small")))
	k.Run(farmtest.ExitFine, "the replay of binary logs up to", "restore", "dbshard001b", "--latest", "--to", "db001", "--dry-run")
	b := k.F.Start("restore", "dbshard001b", "--latest", "--to", "db001")
	for end := time.Now().Add(farmtest.WaitLimit); !strings.Contains(b.Out.String(), "waited for room"); time.Sleep(time.Second) {
		if b.Ended() || time.Now().After(end) {
			b.Kill()
			t.Fatalf("nobody was told that the disk is full:\n%s", b.Out.String())
		}
	}
	mount("remount,size=1g")
	b.Ends(t, farmtest.ExitFine)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", "dbshard001b-restored-1")
	k.F.CheckLedger()
}
