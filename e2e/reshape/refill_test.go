package reshape

import (
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/internal/turns"
)

// What an applier fills in again is throttled as the first fill-in is: while the replica is behind it goes on at the floor and says why, and it comes to its end when the replica has caught up.
func TestFillingInAgainIsThrottled(t *testing.T) {
	turns.Heavy(t, 6)
	t.Parallel() // it mostly waits
	f := farmtest.StartFilesFarm(t, farm.PrimaryReplica, 60_000, files.Clients{Seed: 9})
	f.KeptByApplier(30 * time.Second)
	f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
	b := f.Start("reshape", "apply")
	f.Await(b, "it applies", func() bool { return f.GoodLeases() == 1 })
	f.Stowage(farmtest.ExitFine, "right", "reshape", "--all")
	b.Kill()

	// The replica waits for a lock that somebody holds.
	holder, err := f.Root(farm.B).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }()
	if _, err := holder.ExecContext(t.Context(), "SELECT COUNT(*) FROM (SELECT file_id FROM fs01.files FOR UPDATE) l"); err != nil {
		t.Fatal(err)
	}
	primary := f.Root(farm.A)
	for _, statement := range []string{"SET GLOBAL innodb_lock_wait_timeout = 600", "UPDATE fs01.files SET latest_size = latest_size + 1", "DELETE FROM fs01.stowage_latest"} {
		db := primary
		if strings.HasPrefix(statement, "SET") {
			db = f.Root(farm.B)
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(8 * time.Second) // more than a replica may be behind

	b = f.Start("reshape", "apply")
	f.Await(b, "it is slow, and says why", func() bool { return strings.Contains(b.Out.String(), "filling in again: ") })
	text := b.Out.String()
	if !strings.Contains(text, "s behind;") || strings.Contains(text, "rows filled in again") {
		t.Errorf("beside a replica that is behind:\n%s", text)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	f.Await(b, "all is filled in", func() bool { return strings.Contains(b.Out.String(), "rows filled in again") })
	f.Await(b, "its leases are good", func() bool { return f.GoodLeases() == 1 })
	f.Stowage(farmtest.ExitFine, "is right", "reshape", "verify")
	t.Logf("%s", &b.Out)
}
