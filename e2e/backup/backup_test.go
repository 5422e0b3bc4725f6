// Package backup backs a farm under load up, kills what does it, and restores.
package backup

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"stowage/backup"
	"stowage/e2e/farmtest"
	"stowage/internal/turns"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

// A full copy, an incremental one based on it, and the archive of the binary log, while clients write. Both are restored and compared with the
// live server; and an instance is made of two seconds, of which each has what clients had been told by then.
func TestBackupIsProvenAndRestoredAtASecond(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	// Of a MEMORY table a server that was started writes a TRUNCATE TABLE of its own, with a GTID: no transaction may be taken for it.
	k.Told("CREATE DATABASE quick", "CREATE TABLE quick.m (id INT PRIMARY KEY) ENGINE=MEMORY", "INSERT INTO quick.m VALUES (1)")
	k.Run(farmtest.ExitFine, "no backup has the rows of 1 MEMORY table: quick.m", "backup", "run", "--dry-run")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	k.Told("INSERT INTO quick.m VALUES (2)")
	time.Sleep(2 * time.Second)
	early := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--incremental")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	k.Told("CREATE USER somebody@'%' IDENTIFIED BY 'secret'", "GRANT SELECT ON *.* TO somebody@'%'", "CREATE DATABASE other", "CREATE TABLE other.t (id INT PRIMARY KEY, n INT)",
		"CREATE PROCEDURE other.p() INSERT INTO other.t VALUES (1, 1)", "CREATE EVENT other.e ON SCHEDULE EVERY 1 YEAR DO DELETE FROM other.t", "CREATE TRIGGER other.g AFTER INSERT ON other.t FOR EACH ROW SET @x = 1", "CALL other.p()",
		"CREATE TABLE other.u AS SELECT * FROM other.t", "SET PASSWORD FOR somebody@'%' = PASSWORD('another')")
	time.Sleep(3 * time.Second)
	late := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	time.Sleep(time.Second)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.Run(farmtest.ExitFine, `stowage_backup_proven_age_seconds{pair="dbshard001"}`, "metrics")
	k.Run(farmtest.ExitFine, "report.html", "report")
	page, err := os.ReadFile(filepath.Join(k.F.Dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`Proven\. A backup of each of 1 pair`, `Run backup-[0-9a-z-]+ has made 1 backup`, `<td>(just now|[0-9]+ min ago): dbshard001b/[0-9TZ]+-incremental</td><td class="n">[1-9][0-9,]*</td><td class="n">[0-9][0-9a-z. ]* s</td>`} {
		if !regexp.MustCompile(want).Match(page) {
			t.Errorf("the report does not have %q", want)
		}
	}
	k.Run(farmtest.ExitRefused, "restore-moment", "restore", "dbshard001", "--at", time.Now().Add(time.Hour).Format(time.RFC3339))
	for _, second := range []time.Time{early, late} {
		r := k.Restore("--at", second.Format(time.RFC3339))
		k.CheckSecond(r, second)
		if got, want := k.ValueAt(r, "SELECT CONCAT((SELECT COUNT(*) FROM mysql.user WHERE User IN ('somebody', 'stowage_replay')), (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'other'))"), map[bool]string{true: "00", false: "12"}[second == early]; got != want {
			t.Errorf("of what was made between the two seconds there are %s, want %s", got, want)
		}
		k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	}
	k.F.CheckLedger()
	k.NothingLeft()
}

// What cron calls archives, backs up and verifies what is due, once, and the second call does nothing of it; a run that was cut short is continued.
func TestDueBacksUpAndVerifies(t *testing.T) {
	turns.One(t, 8)
	k := farmtest.StartKeptFarm(t)
	refusedAccounts(t, k)
	k.KilledIn("both", "before position", "due")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "due")
	k.Run(farmtest.ExitFine, "not due", "due")
	if ids := k.Backups(); len(ids) != 1 {
		t.Errorf("there are %q", ids)
	}
	k.Run(farmtest.ExitFindings, "backup-place-own-host", "backup", "status")
	k.NothingLeft()
	k.F.CheckLedger()
}

// refusedAccounts: an account that cannot copy is found before anything is copied.
func refusedAccounts(t *testing.T, k *farmtest.KeptFarm) {
	t.Helper()
	path := filepath.Join(k.F.Dir, "accounts.cnf")
	right, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for with, want := range map[string]string{
		"[backup]\nuser = backup\npassword = wrong":  "the account backup of [backup] cannot log in",
		"[backup]\nuser = nobody\npassword = secret": "it has no account nobody, which [backup] of the accounts file names",
		"[backup]\nuser = app\npassword = secret":    "the account app of [backup] lacks ",
	} {
		wrong := regexp.MustCompile(`\[backup\]\nuser = .*\npassword = .*`).ReplaceAllLiteral(right, []byte(with))
		if err := os.WriteFile(path, wrong, 0o600); err != nil {
			t.Fatal(err)
		}
		k.Run(farmtest.ExitRefused, want, "backup", "run")
	}
	if err := os.WriteFile(path, right, 0o600); err != nil {
		t.Fatal(err)
	}
	if ids := k.Backups(); len(ids) != 0 {
		t.Errorf("there are %q", ids)
	}
}

// One border of each kind of run, another with each commit: e2e/long/backup has the others.
func TestBackupKilledOnce(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	points := backup.Kind(nil).Runbooks[0].Points()
	k.KilledIn("both", points[farmtest.Turn()%len(points)], "backup", "run")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	verify, _ := backup.RestoreKind(nil).Runbook("verify")
	points = verify.Points()
	k.KilledIn("stowage", points[farmtest.Turn()%len(points)], "backup", "verify")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	k.NothingLeft()
	k.F.CheckLedger()
}
