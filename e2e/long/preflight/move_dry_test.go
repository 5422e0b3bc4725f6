package preflight

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// A dry run says everything that is wrong at once, each with a remedy, and touches nothing.
func TestDryRun(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	dry := func(code int) farmtest.DryAnswer {
		t.Helper()
		before, err := os.ReadFile(f.Dir + "/farm.yaml")
		if err != nil {
			t.Fatal(err)
		}
		p := farmtest.RunProgram(t, "", "move", "first", "--dry-run", "--json", "-C", f.Dir)
		var out farmtest.DryAnswer
		if err := json.Unmarshal([]byte(p.Stdout), &out); err != nil || p.Code != code {
			t.Fatalf("exit %d, want %d: %v\n%s\n%s", p.Code, code, err, p.Stdout, p.Stderr)
		}
		for _, x := range out.Findings {
			if x.Remedy == "" || x.Check == "" || x.Subject == "" || x.Text == "" {
				t.Errorf("incomplete: %+v", x)
			}
		}
		after, err := os.ReadFile(f.Dir + "/farm.yaml")
		if err != nil || string(before) != string(after) {
			t.Errorf("a dry run changed farm.yaml: %v", err)
		}
		if made, _ := filepath.Glob(f.Dir + "/hosts/ssd*/*"); len(made) > 0 {
			t.Errorf("a dry run made %v", made)
		}
		if st := farmtest.RunProgram(t, "", "status", "-C", f.Dir); !strings.Contains(st.Stdout, "no run has begun") {
			t.Errorf("a dry run is a move:\n%s", st.Stdout)
		}
		return out
	}
	out := dry(0)
	if !out.Ready || out.Blockers != 0 || out.Warnings != 0 || out.Refused != "" {
		t.Errorf("of a farm in order: %+v", out)
	}
	if p := farmtest.RunProgram(t, "", "move", "first", "--dry-run", "-C", f.Dir); p.Code != 0 || !strings.Contains(p.Stdout, "it can begin; nothing was touched") {
		t.Errorf("exit %d\n%s", p.Code, p.Stdout)
	}
	f.Sql(farm.A, "SET GLOBAL binlog_format = MIXED", "SET GLOBAL binlog_expire_logs_seconds = 60",
		"CREATE DEFINER = 'ghost'@'%' VIEW etsy_shard_0001.v AS SELECT 1 AS one",
		"CREATE TRIGGER etsy_shard_0001.tr BEFORE DELETE ON etsy_shard_0001.users FOR EACH ROW SET @x = 1")
	f.Sql(farm.B, "SET GLOBAL sql_mode = 'ANSI_QUOTES'", "CREATE TABLE etsy_shard_0002.loose (a INT)")
	out = dry(farmtest.ExitRefused)
	var got []string
	for _, x := range out.Findings {
		if len(got) == 0 || got[len(got)-1] != x.Check {
			got = append(got, x.Check)
		}
	}
	want := "binary-log tables definers triggers sql-mode binlog-retention"
	if text := strings.Join(got, " "); !hasInOrder(text, strings.Fields(want)) || out.Ready || out.Blockers < 3 || out.Warnings < 2 {
		t.Errorf("found %s (%d blockers, %d warnings), want among them, in order, %s", text, out.Blockers, out.Warnings, want)
	}
	f.Sql(farm.A, "SET GLOBAL binlog_format = ROW", "SET GLOBAL binlog_expire_logs_seconds = 0", "DROP VIEW etsy_shard_0001.v", "DROP TRIGGER etsy_shard_0001.tr")
	f.Sql(farm.B, "SET GLOBAL sql_mode = DEFAULT", "DROP TABLE etsy_shard_0002.loose")
}

func hasInOrder(text string, words []string) bool {
	for _, w := range words {
		_, rest, found := strings.Cut(text+" ", w+" ")
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// A copy whose rows differ from its source's: refused and taken away, with the rows named; with --repair made equal, and
// the move goes on.
func TestRepairOfACopy(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	spoil := func() {
		cfg := driver.NewConfig()
		cfg.User, cfg.Net = "root", "unix"
		cfg.Addr = filepath.Join(f.Dir, "hosts/ssd02/dbshard001b/data/mysqld.sock")
		connector, err := driver.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		defer db.Close()
		db.SetMaxOpenConns(1)
		for _, s := range []string{"SET SESSION sql_log_bin = 0", "UPDATE etsy_shard_0001.users SET name = 'somebody else' WHERE id = 3", "DELETE FROM etsy_shard_0002.users WHERE id = 5"} {
			if _, err := db.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := f.Places()
	if p := farmtest.RunProgram(t, "stowage @ before compare", "move", "first", "-C", f.Dir); p.Code != -1 {
		t.Fatalf("it did not die: exit %d\n%s", p.Code, p.Stderr)
	}
	spoil()
	p := farmtest.RunProgram(t, "", "resume", "-C", f.Dir)
	if p.Code != farmtest.ExitFailed || !strings.Contains(p.Stderr, "(3) differs") || !strings.Contains(p.Stderr, "(5) is missing") || !strings.Contains(p.Stderr, "--repair") {
		t.Fatalf("exit %d, want %d and the rows named\n%s", p.Code, farmtest.ExitFailed, p.Stderr)
	}
	if f.Places() != before {
		t.Errorf("a side was moved: %s", f.Places())
	}
	f.Must("plan", "--name", "second")
	if p := farmtest.RunProgram(t, "stowage @ before compare", "move", "second", "-C", f.Dir); p.Code != -1 {
		t.Fatalf("it did not die: exit %d\n%s", p.Code, p.Stderr)
	}
	spoil()
	f.Sql(farm.A, "GRANT INSERT, DELETE ON *.* TO stowage@'%'") // comes to the copy by replication
	p = farmtest.RunProgram(t, "", "resume", "--repair", "-C", f.Dir)
	if p.Code != 0 || !strings.Contains(p.Stderr, "repaired 2 chunks on the copy") {
		t.Fatalf("with --repair: exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckWhole()
}
