package reshape

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
)

// A disk that gets full while rows are filled in stops the fill-in before it stops the server's clients, and the fill-in goes on when there is room. With too little of it
// nothing begins.
func TestFillingInWaitsForRoom(t *testing.T) {
	t.Parallel() // it mostly waits
	if !farmtest.Apart(t) {
		return
	}
	disk, err := os.MkdirTemp("/var/tmp", "stowage-test-")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=755,size=3g", "stowage-test", disk).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command("umount", "-l", disk).Run()
		_ = os.Remove(disk)
	})
	if err := os.Setenv("FARMS", disk); err != nil { // of this process, which has one test
		t.Fatal(err)
	}
	f := farmtest.StartFilesFarm(t, farm.PrimaryReplica, 60_000, files.Clients{Seed: 9})
	full := filepath.Join(disk, "full")
	fill := func() {
		t.Helper()
		if out, err := exec.Command("bash", "-c", `head -c $(($(df --output=avail -B1 "$1" | tail -1) - 300000000)) /dev/zero >"$1/full"`, "fill", disk).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	empty := func() {
		if err := os.Remove(full); err != nil {
			t.Fatal(err)
		}
	}

	fill()
	f.Stowage(farmtest.ExitRefused, "one of its disks has 300MB free; a fill-in needs 500MB", "reshape", "--all")
	empty()
	f.Stowage(farmtest.ExitFine, "are free", "reshape", "--all", "--dry-run")

	// Behind a replica that waits for somebody's lock it is slow enough to be looked at.
	holder, err := f.Root(farm.B).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }()
	if _, err := f.Root(farm.B).ExecContext(t.Context(), "SET GLOBAL innodb_lock_wait_timeout = 600"); err != nil {
		t.Fatal(err)
	}
	f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
	if _, err := holder.ExecContext(t.Context(), "SELECT COUNT(*) FROM (SELECT file_id FROM fs01.files FOR UPDATE) l"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Root(farm.A).ExecContext(t.Context(), "UPDATE fs01.files SET name = CONCAT(name, '!') LIMIT 1"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(8 * time.Second) // more than a replica may be behind
	b := f.Start("reshape", "--all")
	f.Await(b, "it fills in", func() bool { return strings.Contains(b.Out.String(), "filled in at ") })
	fill()
	f.Await(b, "it waits", func() bool { return strings.Contains(b.Out.String(), "nothing is filled in: a disk of ") })
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	empty()
	b.Ends(t, farmtest.ExitFine)
	f.Stowage(farmtest.ExitFine, "is right", "reshape", "verify")
	f.Stowage(farmtest.ExitFine, "every tenant is done", "reshape", "--all", "--dry-run")
	t.Logf("%s", &b.Out)
}
