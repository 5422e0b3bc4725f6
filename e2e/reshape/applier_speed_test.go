package reshape

import (
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/internal/turns"
)

// What a change of one child of each file costs its client, by what keeps the columns, and how fast the applier is behind it. The figures are in the log; that all of it is applied is the claim.
func TestApplierSpeed(t *testing.T) {
	turns.Heavy(t, 2)
	t.Parallel() // it mostly waits
	f := farmtest.StartFilesFarm(t, farm.PrimaryReplica, 100_000, files.Clients{Seed: 6})
	db := f.Root(farm.A)
	change := func(what string) (rows int64, took time.Duration) {
		t.Helper()
		began := time.Now()
		r, err := db.ExecContext(t.Context(), "UPDATE fs01.versions v JOIN (SELECT file_id, MAX(version_no) AS n FROM fs01.versions WHERE deleted_at IS NULL GROUP BY file_id) l ON l.file_id = v.file_id AND l.n = v.version_no SET v.size = v.size + 1")
		if err != nil {
			t.Fatal(err)
		}
		took = time.Since(began)
		rows, err = r.RowsAffected()
		if err != nil || rows < 9000 {
			t.Fatalf("%d versions changed, %v", rows, err)
		}
		t.Logf("%s: %d versions of as many files in %.2f s", what, rows, took.Seconds())
		return rows, took
	}
	left := func() (n int64) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM fs01.files f JOIN fs01.versions v ON v.version_id = f.latest_version_id WHERE v.size <> f.latest_size").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	change("nothing keeps the columns")
	f.KeptByApplier(30 * time.Second)
	f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
	b := f.Start("reshape", "apply")
	f.Await(b, "it applies", func() bool { return f.GoodLeases() == 1 })
	f.Stowage(farmtest.ExitFine, "right", "reshape", "--all")
	rows, _ := change("the applier is behind it")
	began := time.Now()
	f.Await(b, "all is applied", func() bool { return left() == 0 })
	t.Logf("the applier: %d changes in %.2f s, %.0f a second", rows, time.Since(began).Seconds(), float64(rows)/time.Since(began).Seconds())
	b.Kill()

	f.Spec("", "") // triggers
	f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
	change("triggers keep the columns, in the client's own transaction")
	if n := left(); n > 0 {
		t.Errorf("%d files are not kept by triggers", n)
	}
}
