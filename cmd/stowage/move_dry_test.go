package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
)

// A dry run says everything that is wrong at once, each with a remedy, and touches nothing.
func TestDryRun(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	dry := func(code int) preflightAnswer {
		t.Helper()
		before, err := os.ReadFile(f.dir + "/farm.yaml")
		if err != nil {
			t.Fatal(err)
		}
		p := runProgram(t, "", "move", "first", "--dry-run", "--json", "-C", f.dir)
		var out preflightAnswer
		if err := json.Unmarshal([]byte(p.stdout), &out); err != nil || p.code != code {
			t.Fatalf("exit %d, want %d: %v\n%s\n%s", p.code, code, err, p.stdout, p.stderr)
		}
		for _, x := range out.Findings {
			if x.Remedy == "" || x.Check == "" || x.Subject == "" || x.Text == "" {
				t.Errorf("incomplete: %+v", x)
			}
		}
		after, err := os.ReadFile(f.dir + "/farm.yaml")
		if err != nil || string(before) != string(after) {
			t.Errorf("a dry run changed farm.yaml: %v", err)
		}
		if made, _ := filepath.Glob(f.dir + "/hosts/ssd*/*"); len(made) > 0 {
			t.Errorf("a dry run made %v", made)
		}
		if st := runProgram(t, "", "move", "status", "-C", f.dir); !strings.Contains(st.stdout, "no move has been begun") {
			t.Errorf("a dry run is a move:\n%s", st.stdout)
		}
		return out
	}
	out := dry(0)
	if !out.Ready || out.Blockers != 0 || out.Warnings != 0 || out.Refused != "" {
		t.Errorf("of a farm in order: %+v", out)
	}
	if p := runProgram(t, "", "move", "first", "--dry-run", "-C", f.dir); p.code != 0 || !strings.Contains(p.stdout, "it can begin; nothing was touched") {
		t.Errorf("exit %d\n%s", p.code, p.stdout)
	}
	f.sql(farm.A, "SET GLOBAL binlog_format = MIXED", "SET GLOBAL binlog_expire_logs_seconds = 60",
		"CREATE DEFINER = 'ghost'@'%' VIEW etsy_shard_0001.v AS SELECT 1 AS one",
		"CREATE TRIGGER etsy_shard_0001.tr BEFORE DELETE ON etsy_shard_0001.users FOR EACH ROW SET @x = 1")
	f.sql(farm.B, "SET GLOBAL sql_mode = 'ANSI_QUOTES'", "CREATE TABLE etsy_shard_0002.loose (a INT)")
	out = dry(exitRefused)
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
	f.sql(farm.A, "SET GLOBAL binlog_format = ROW", "SET GLOBAL binlog_expire_logs_seconds = 0", "DROP VIEW etsy_shard_0001.v", "DROP TRIGGER etsy_shard_0001.tr")
	f.sql(farm.B, "SET GLOBAL sql_mode = DEFAULT", "DROP TABLE etsy_shard_0002.loose")
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
	f := startFarm(t)
	spoil := func() {
		cfg := driver.NewConfig()
		cfg.User, cfg.Net = "root", "unix"
		cfg.Addr = filepath.Join(f.dir, "hosts/ssd02/dbshard001b/data/mysqld.sock")
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
	before := f.places()
	if p := runProgram(t, "stowage @ before compare", "move", "first", "-C", f.dir); p.code != -1 {
		t.Fatalf("it did not die: exit %d\n%s", p.code, p.stderr)
	}
	spoil()
	p := runProgram(t, "", "move", "resume", "-C", f.dir)
	if p.code != exitFailed || !strings.Contains(p.stderr, "(3) differs") || !strings.Contains(p.stderr, "(5) is missing") || !strings.Contains(p.stderr, "--repair") {
		t.Fatalf("exit %d, want %d and the rows named\n%s", p.code, exitFailed, p.stderr)
	}
	if f.places() != before {
		t.Errorf("a side was moved: %s", f.places())
	}
	f.must("plan", "--name", "second")
	if p := runProgram(t, "stowage @ before compare", "move", "second", "-C", f.dir); p.code != -1 {
		t.Fatalf("it did not die: exit %d\n%s", p.code, p.stderr)
	}
	spoil()
	f.sql(farm.A, "GRANT INSERT, DELETE ON *.* TO stowage@'%'") // comes to the copy by replication
	p = runProgram(t, "", "move", "resume", "--repair", "-C", f.dir)
	if p.code != 0 || !strings.Contains(p.stderr, "repaired 2 chunks on the copy") {
		t.Fatalf("with --repair: exit %d\n%s", p.code, p.stderr)
	}
	f.checkWhole()
}
