// Package schema declares the tables of a farm's shards, and finds the ones that differ.
package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/turns"
	"stowage/schema"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

// A farm is declared by what it has. A column that one side alone has, a shard that both sides have otherwise, a table too many, and what people write in words of their own: each is
// named for what it is. Servers are never written to, and the ALTER that is printed makes them equal.
func TestDriftIsFoundAndMended(t *testing.T) {
	turns.One(t, 6)
	f := farmtest.StartShardFarm(t)
	run := func(code int, words string, args ...string) string {
		t.Helper()
		p := farmtest.RunProgram(t, "", append(args, "-C", f.Dir)...)
		if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, words) {
			t.Fatalf("stowage %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), p.Code, code, words, p.Stdout, p.Stderr)
		}
		return p.Stdout
	}
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	pair := fm.Pairs[0]
	first, second := string(pair.Shards[0].Name), string(pair.Shards[1].Name)
	on := func(side farm.SideName, statements ...string) {
		t.Helper()
		db := f.Login(fm.Address(pair.Sides[side]), "stowage")
		defer db.Close()
		db.SetMaxOpenConns(1)
		for _, s := range append([]string{"SET sql_log_bin = 0"}, statements...) {
			if _, err := db.Exec(s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	run(farmtest.ExitFine, "as most shards are", "schema", "drift")
	run(farmtest.ExitFine, "wrote schema/", "schema", "pull")
	run(farmtest.ExitFine, "nothing written", "schema", "pull")
	run(farmtest.ExitFine, "4 of 4 shards on 4 servers: as declared", "schema", "drift")
	run(farmtest.ExitUsage, "no shard of farm.yaml is called nobody*", "schema", "drift", "nobody*")

	files, _ := filepath.Glob(f.Dir + "/schema/*.sql")
	if len(files) == 0 {
		t.Fatal("nothing was declared")
	}
	table := strings.TrimSuffix(filepath.Base(files[0]), ".sql")
	on(farm.A, "ALTER TABLE `"+first+"`.`"+table+"` ADD COLUMN odd INT")
	both := func(statements ...string) {
		t.Helper()
		on(farm.A, statements...)
		on(farm.B, statements...)
	}
	both("ALTER TABLE `"+second+"`.`"+table+"` COMMENT 'another'", "CREATE TABLE `"+second+"`.`left over` (x INT)")
	said := run(farmtest.ExitFindings, "column odd is too many", "schema", "drift")
	for _, want := range []string{first + " on " + string(pair.Instance(farm.A)), "1 shard on one of its servers", "COMMENT='another'", "table left over", "2 of 4 shards"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	var r schema.Report
	if err := json.Unmarshal([]byte(run(farmtest.ExitFindings, "", "schema", "diff", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Variants {
		switch {
		case len(v.OneSide) > 0:
			on(farm.A, "USE `"+first+"`", v.Alter)
		case v.Alter != "":
			both("USE `"+second+"`", v.Alter)
		default:
			both("DROP TABLE `" + second + "`.`" + v.Table + "`")
		}
	}
	run(farmtest.ExitFine, "4 of 4", "schema", "drift")

	// In words of people: the same table, one that nobody has, and one that is not a table.
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(f.Dir, "schema", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Base(files[0]), "-- of people\n"+strings.Replace(string(raw), "PRIMARY KEY (", "primary key(", 1))
	run(farmtest.ExitFine, "a throw-away server reads", "schema", "drift")
	write("more.sql", "create table more (id INT primary key, v varchar(10) not null, index (v));\n")
	said = run(farmtest.ExitFindings, "CREATE TABLE `more` (", "schema", "diff")
	if !strings.Contains(said, "KEY `v` (`v`)") || !strings.Contains(said, "4 shards") {
		t.Error(said)
	}
	run(farmtest.ExitFine, "schema/more.sql:1: less than half", "schema", "pull")
	if now, _ := os.ReadFile(files[0]); !strings.HasPrefix(string(now), "-- of people\n") || !strings.Contains(string(now), "PRIMARY KEY (") {
		t.Errorf("pulled, the file is\n%s", now)
	}
	write("more.sql", "\ncreate table more (id INTT);\n")
	run(farmtest.ExitUsage, "schema/more.sql:2", "schema", "drift")
	left, _ := filepath.Glob(os.TempDir() + "/stowage-schema-*")
	for _, dir := range left { // others at work on this machine may have theirs: the name has the process that started it
		if _, err := os.Stat("/proc/" + strings.Split(filepath.Base(dir), "-")[2]); err != nil {
			t.Errorf("a throw-away server is left: %s", dir)
		}
	}
	if err := os.Remove(f.Dir + "/schema/more.sql"); err != nil {
		t.Fatal(err)
	}

	// Another kind of shard, and a server that does not answer.
	if err := os.MkdirAll(f.Dir+"/schema/own", 0o755); err != nil {
		t.Fatal(err)
	}
	write("own/.skeema", "schema="+first+"\nignore-table=^_\n")
	both("CREATE TABLE `"+first+"`.own (x INT)", "CREATE TABLE `"+first+"`._mine (x INT)")
	run(farmtest.ExitFine, "wrote schema/own/own.sql", "schema", "pull", first)
	run(farmtest.ExitFine, "4 of 4", "schema", "drift")
	write("own/.skeema", "schema=[\n")
	run(farmtest.ExitUsage, "schema/own/.skeema:1", "schema", "drift")
	f.CheckLedger()
}
