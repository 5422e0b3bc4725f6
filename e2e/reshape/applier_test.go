package reshape

import (
	"context"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/internal/turns"
)

// Clients write on both sides while a program keeps the columns behind them. It is killed; logs rotate; logs are purged that it has not read; the table of children
// gets a column. No application ever reads what is older than max_lag, and in the end every active tenant is right.
func TestApplierKeepsColumns(t *testing.T) {
	turns.Heavy(t, 0)
	t.Parallel() // it mostly waits
	const maxLag = 2 * time.Second
	f := farmtest.StartFilesFarm(t, farm.ActiveActive, 8000, files.Clients{Seed: 5, Pause: 20 * time.Millisecond, DropTenants: 3})
	f.KeptByApplier(maxLag)
	was := f.Definitions()
	p := farmtest.RunProgram(t, "both @ before index", "reshape", "--prepare", "-C", f.Dir)
	if !strings.Contains(p.Stdout+p.Stderr, farmtest.MarkOfKill) {
		t.Fatalf("was not killed:\n%s%s", p.Stdout, p.Stderr)
	}
	f.Stowage(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
	for name, is := range f.Definitions() {
		if is != was[name] {
			t.Errorf("given up, %s has\n%s\nand had\n%s", name, is, was[name])
		}
	}
	f.Stowage(farmtest.ExitRefused, "CREATE TABLE IF NOT EXISTS stowage_latest", "reshape")
	f.Stowage(farmtest.ExitRefused, "the applier does not keep its columns", "reshape", "--tenants", "1")
	f.Stowage(farmtest.ExitFine, "the tables have what they need", "reshape", "--prepare")
	applier := f.Apply()
	f.Write()
	f.Stowage(farmtest.ExitFine, "1 of 1 tenant right", "reshape", "--tenants", "1")
	f.Stowage(farmtest.ExitFine, "right", "reshape", "--all")
	if n := f.Active(); n < len(f.Tenants)-3 {
		t.Errorf("%d of %d tenants are active", n, len(f.Tenants))
	}

	ctx, stop := context.WithCancel(t.Context())
	judge, judged := farmtest.StaleJudge{MaxLag: maxLag}, make(chan error, 1)
	go func() { judged <- judge.Watch(ctx, f) }()
	f.Stowage(farmtest.ExitFine, "is right", "reshape", "verify")
	active := f.Active()

	// It dies: the leases run out by themselves, and nothing is said of rows that are behind.
	applier.Kill()
	farmtest.PauseTest()
	for _, db := range f.Sides() {
		for deadline := time.Now().Add(farmtest.WaitLimit); ; farmtest.PauseTest() {
			c, err := files.Look(t.Context(), db, farmtest.FilesShard)
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("the lease of an applier that is dead stays good: %v", err)
			}
			if !c.Leased {
				break
			}
		}
	}
	f.Stowage(farmtest.ExitFine, "read from their children", "reshape", "status")
	f.Stowage(farmtest.ExitRefused, "must run all the time", "reshape", "verify")
	f.Forget("reshape")
	f.Stowage(farmtest.ExitFindings, "reshape-applier", "due")
	if n := f.Active(); n != active {
		t.Errorf("%d tenants are active, and were %d: flags are not the applier's", n, active)
	}

	// What it has not read is purged.
	f.Purge()
	applier = f.Apply()
	f.Await(applier, "all is filled in again", func() bool { return strings.Contains(applier.Out.String(), "filled in again") })
	f.Stowage(farmtest.ExitFine, "is right", "reshape", "verify")

	// It goes on where it was, behind a log that was closed meanwhile.
	applier.Kill()
	f.Rotate()
	applier = f.Apply()
	if text := applier.Out.String(); strings.Contains(text, "filled in again") {
		t.Errorf("after a kill all was filled in again:\n%s", text)
	}

	// A definition changes: rows behind it are read by the new one.
	if _, err := f.Root(farm.A).ExecContext(t.Context(), "ALTER TABLE fs01.versions ADD COLUMN colour INT NOT NULL DEFAULT 0"); err != nil {
		t.Fatal(err)
	}
	f.Await(applier, "all is filled in again", func() bool { return strings.Contains(applier.Out.String(), "filled in again") })
	f.Stowage(farmtest.ExitFine, "is right", "reshape", "verify")
	stop()
	if err := <-judged; err != nil {
		t.Errorf("%v\n%s", err, &applier.Out)
	}
	f.Rest()

	// The server that is read is killed. Then every tenant changes on one side, also those that the other serves.
	f.KillServer(farm.A)
	for _, s := range f.States() {
		f.Past("UPDATE fs01.versions SET size = size + 1 WHERE tenant_id = ?", s.ID)
	}
	for name, db := range f.Sides() {
		f.Right(name, db)
	}
	t.Logf("%d looks, at %d of them carried columns may be read; %d values were behind, none longer than %s; %v", judge.Looks, judge.Leased, judge.Behind, judge.Longest, f.Writers.Counts())
	if judge.Leased == 0 || judge.Behind == 0 {
		t.Error("the judge saw nothing")
	}
}
