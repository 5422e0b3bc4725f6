package backup

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stowage/backup"
	"stowage/e2e/farmtest"
	"stowage/internal/turns"
)

// A shard, and a table of it, comes out of a backup as of a second, beside the one that serves and is written to: with what clients had been told by then, on both
// sides of the pair. What would act on the shard that serves is left out and named, and nothing that is there is written over.
func TestShardIsRestoredBesideTheOneThatServes(t *testing.T) {
	turns.Heavy(t, 11)
	k := farmtest.StartKeptFarm(t)
	shard := k.FirstShard()
	in := func(text string) string { return strings.ReplaceAll(text, "SHARD", "`"+shard+"`") }
	told := func(statements ...string) {
		for _, s := range statements {
			k.Told(in(s))
		}
	}
	told("CREATE TABLE SHARD.parent (id INT PRIMARY KEY, v INT, twice INT AS (v * 2) STORED)",
		"CREATE TABLE SHARD.child (id INT PRIMARY KEY, parent INT, CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES SHARD.parent (id) ON DELETE CASCADE)",
		"INSERT INTO SHARD.parent (id, v) VALUES (1, 10), (2, 20)", "INSERT INTO SHARD.child VALUES (1, 1), (2, 2)",
		"CREATE VIEW SHARD.top AS SELECT MAX(twice) AS t FROM SHARD.parent",
		"CREATE TRIGGER SHARD.on_parent BEFORE INSERT ON SHARD.parent FOR EACH ROW SET NEW.v = COALESCE(NEW.v, 1)",
		"CREATE PROCEDURE SHARD.cut() DELETE FROM SHARD.child", "CREATE EVENT SHARD.sweep ON SCHEDULE EVERY 1 YEAR DO SET @x = 1")
	k.Run(farmtest.ExitUsage, "it has no backup", "restore", "--shard", shard)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	told("UPDATE SHARD.parent SET v = 11 WHERE id = 1")
	time.Sleep(2 * time.Second)
	early := time.Now()
	time.Sleep(2 * time.Second)
	told("UPDATE SHARD.parent SET v = 12 WHERE id = 1", "DELETE FROM SHARD.parent WHERE id = 2", "ALTER TABLE SHARD.child ADD COLUMN late INT")
	time.Sleep(2 * time.Second)
	late := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")

	at := early.Format(time.RFC3339)
	k.Run(farmtest.ExitFine, "0 blockers", "restore", "--shard", shard, "--at", at, "--dry-run")
	k.Run(farmtest.ExitUsage, "is before the oldest backup, dbshard001b/", "restore", "--shard", shard, "--at", early.Add(-time.Hour).Format(time.RFC3339))
	k.Run(farmtest.ExitRefused, "restore-moment", "restore", "--shard", shard, "--at", late.Add(time.Hour).Format(time.RFC3339))
	k.Run(farmtest.ExitUsage, "farm.yaml has a shard of that name", "restore", "--shard", shard, "--at", at, "--as", strings.Replace(shard, "1", "2", 1))
	k.Run(farmtest.ExitUsage, "another name", "restore", "--shard", shard, "--as", shard)
	k.Run(farmtest.ExitFailed, "copier-chosen", "restore", "--shard", shard, "--table", "nobody", "--as", "shop_then")
	k.Run(farmtest.ExitFailed, "copier-database", "restore", "dbshard001", "--shard", "nobody", "--as", "shop_then")
	k.NothingTakenOut()
	k.NothingLeft()

	r := k.RestoreShard(shard, "--at", at)
	if want := shard + "_restored_" + early.Local().Format("20060102150405"); r.Database != want || r.Pair != "dbshard001" || r.Rows < 50 || r.Differ != 0 || r.GTID == "" {
		t.Errorf("%+v, want database %s", r, want)
	}
	if text := strings.Join(r.LeftOut, "; "); len(r.LeftOut) != 2 || !strings.Contains(text, "procedure cut: its text names") || !strings.Contains(text, "trigger on_parent: its text names") {
		t.Errorf("left out: %q", r.LeftOut)
	}
	t.Logf("%d rows of %s in %.1f s", r.Rows, shard, r.Seconds)
	k.CheckShardAt(shard, r.Database, early)
	then := "`" + r.Database + "`"
	for query, want := range map[string]string{
		"SELECT GROUP_CONCAT(v, '=', twice ORDER BY id) FROM " + then + ".parent": "11=22,20=40",
		"SELECT COUNT(*) FROM " + then + ".child":                                 "2",
		"SELECT t FROM " + then + ".top":                                          "40",
		"SELECT COUNT(*) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE UNIQUE_CONSTRAINT_SCHEMA = '" + r.Database + "'":           "1",
		"SELECT CONCAT(COUNT(*), MAX(STATUS LIKE '%DISABLED%')) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '" + r.Database + "'": "11",
	} {
		if got := k.OnBoth(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	k.Run(farmtest.ExitRefused, "restore-into", "restore", "--shard", shard, "--at", at) // the name is taken

	lately := k.RestoreShard(shard, "--at", late.Format(time.RFC3339), "--as", "shop_then", "--into", "dbshard001/B", "--table", "child", "--table", "receipts")
	k.CheckShardAt(shard, "shop_then", late)
	if text := strings.Join(lately.LeftOut, "; "); !strings.Contains(text, "foreign key of_parent of table child") {
		t.Errorf("left out: %q", lately.LeftOut)
	}
	for query, want := range map[string]string{
		"SELECT GROUP_CONCAT(TABLE_NAME ORDER BY 1) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop_then'": "child,receipts",
		"SELECT COUNT(*) FROM shop_then.child WHERE late IS NULL":                                                    "1",
		in("SELECT GROUP_CONCAT(v ORDER BY id) FROM SHARD.parent"):                                                   "12",
		in("SELECT COUNT(*) FROM SHARD.child"):                                                                       "1",
	} {
		if got := k.OnBoth(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	k.NoMarks()
	k.NothingLeft()
	k.Run(farmtest.ExitFindings, "backup-unproven", "backup", "status") // a shard that was taken out proves no backup
	roomFor(t, k, shard)
	k.Run(farmtest.ExitRefused, "restore-into-room", "restore", "--shard", shard, "--as", "shop_large")
	k.Told("DROP DATABASE shop_then", "DROP DATABASE "+then)
	k.F.CheckLedger()
}

// roomFor says in farm.yaml that the shard has more bytes than any disk.
func roomFor(t *testing.T, k *farmtest.KeptFarm, shard string) {
	t.Helper()
	path := filepath.Join(k.F.Dir, "farm.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	was := regexp.MustCompile(`(?m)^(.*name: ` + shard + `,.*disk: )[^,}]+`)
	if !was.Match(text) {
		t.Fatalf("no disk of %s in\n%s", shard, text)
	}
	if err := os.WriteFile(path, was.ReplaceAll(text, []byte("${1}900000TB")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// An incremental copy that has nothing to be based on is a full one, which is said; what is planned is asked for once.
func TestIncrementalWithoutABaseIsFull(t *testing.T) {
	turns.One(t, 6)
	k := farmtest.StartKeptFarm(t)
	p := farmtest.RunProgram(t, "", "backup", "run", "--incremental", "--dry-run", "--json", "-C", k.F.Dir)
	var plan struct {
		Backups  []backup.Planned         `json:"backups"`
		Findings []struct{ Check string } `json:"findings"`
	}
	if err := json.Unmarshal([]byte(p.Stdout), &plan); err != nil || p.Code != farmtest.ExitFine || len(plan.Backups) != 1 || plan.Backups[0].Kind != "full" || !strings.Contains(fmt.Sprint(plan.Findings), "backup-full-instead") {
		t.Fatalf("exit %d, %v: %+v\n%s%s", p.Code, err, plan, p.Stdout, p.Stderr)
	}
	k.Run(farmtest.ExitFine, "a full copy is taken instead of an incremental one: there is no backup of it", "backup", "run", "--incremental")
	k.Run(farmtest.ExitFine, "-incremental", "backup", "run", "--incremental")
	if ids := k.Backups(); len(ids) != 2 || !strings.HasSuffix(ids[0], "-full") || !strings.HasSuffix(ids[1], "-incremental") {
		t.Errorf("there are %q", ids)
	}
	k.F.CheckLedger()
}

// A restore of a shard that is killed is continued, and leaves one database, whole; another border with each commit: e2e/long/backup has all.
func TestShardRestoreKilledOnce(t *testing.T) {
	turns.One(t, 6)
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	book, _ := backup.RestoreKind(nil).Runbook("extract")
	points := book.Points()
	k.KilledIn("both", points[farmtest.Turn()%len(points)], "restore", "--shard", k.FirstShard(), "--as", "shop_then")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	if rows := k.OnBoth("SELECT COUNT(*) FROM shop_then.listings"); rows != k.OnBoth("SELECT COUNT(*) FROM `"+k.FirstShard()+"`.listings") {
		t.Errorf("%s rows came", rows)
	}
	k.NoMarks()
	k.NothingLeft()
	k.F.CheckLedger()
}
