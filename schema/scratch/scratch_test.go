package scratch

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/schema"
)

func question(t *testing.T, statements ...Statement) Question {
	t.Helper()
	local, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	parent, err := os.MkdirTemp("", "stowage-scratch-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	return Question{Local: local, Dir: filepath.Join(parent, "s"), Charset: "utf8mb4", Statements: statements,
		Open: func(address string, account mysql.Account) *mysql.Server {
			return mysql.Open("scratch", address, account, slog.New(slog.DiscardHandler))
		}}
}

// What people write reads as a server writes it, with a foreign key to a table that comes later; nothing of the server is left.
func TestReadSaysItAsServersDo(t *testing.T) {
	t.Parallel()
	q := question(t,
		Statement{"child", "create table child (id INT primary key, p int, index (p), foreign key (p) references parent(id)) -- odd", "schema/child.sql:1"},
		Statement{"parent", "CREATE TABLE parent (id INTEGER NOT NULL PRIMARY KEY)", "schema/parent.sql:1"})
	tables, flavor, err := Read(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if flavor.Version == "" || !strings.Contains(tables["child"], "KEY `p` (`p`)") || !strings.Contains(tables["parent"], "`id` int") || !strings.Contains(tables["parent"], "utf8mb4") {
		t.Errorf("%v %q", flavor, tables)
	}
	if _, err := os.Stat(q.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", q.Dir, err)
	}
}

func TestRefusedStatementHasItsPlace(t *testing.T) {
	t.Parallel()
	q := question(t, Statement{"a", "CREATE TABLE a (x INT)", "schema/a.sql:1"}, Statement{"b", "CREATE TABLE b (x INTEGERS)", "schema/b.sql:7"})
	_, _, err := Read(t.Context(), q)
	if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "schema/b.sql:7") {
		t.Error(err)
	}
	if _, err := os.Stat(q.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", q.Dir, err)
	}
}

// Any table becomes any other by the ALTER that is printed, on a real server.
func TestAlterMakesThemEqual(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "alters")
	i.Exec(t, "CREATE DATABASE x")
	server := mysql.Open("alters", i.Address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { server.Close() })
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		was, is := fmt.Sprintf("was%d", n), fmt.Sprintf("was%d", n)+"_should"
		i.Exec(t, "CREATE TABLE x."+was+" "+drawn(rt, "was"))
		i.Exec(t, "CREATE TABLE x."+is+" "+drawn(rt, "should"))
		defer i.Exec(t, "DROP TABLE x."+was)
		defer i.Exec(t, "DROP TABLE x."+is)
		tables, err := server.CreatedTables(t.Context(), []string{"x"})
		if err != nil {
			rt.Fatal(err)
		}
		a, should := readAs(rt, tables["x"][was]), readAs(rt, strings.Replace(tables["x"][is], is, was, 1))
		alter, err := schema.Alter(a, should)
		if err != nil {
			rt.Fatalf("%v\n%s\n%s", err, a.Text, should.Text)
		}
		if alter == "" {
			return
		}
		i.Exec(t, strings.Replace(alter, "`"+was+"`", "x."+was, 1))
		tables, err = server.CreatedTables(t.Context(), []string{"x"})
		if err != nil {
			rt.Fatal(err)
		}
		if d := schema.Diff(readAs(rt, tables["x"][was]), should); len(d) > 0 {
			rt.Fatalf("%s\nleaves %v", alter, d)
		}
	})
}

func readAs(rt *rapid.T, text string) schema.Table {
	x, err := schema.Read(text)
	if err != nil {
		rt.Fatalf("%v\n%s", err, text)
	}
	return x
}

// drawn is what follows CREATE TABLE name: some of a few columns in any order, with keys, checks and options.
func drawn(rt *rapid.T, label string) string {
	types := []string{"INT", "BIGINT UNSIGNED NOT NULL DEFAULT 7", "VARCHAR(30) CHARACTER SET latin1", "VARCHAR(300) NOT NULL DEFAULT 'a,b)''c'", "DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3)", "ENUM('x','y,(z') COMMENT 'it''s; odd'", "DECIMAL(10,2) INVISIBLE"}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c d", "e", "f`g", "Order"}), 1, 6, rapid.ID[string]).Draw(rt, label+" columns")
	lines := []string{"id INT NOT NULL"}
	quote := func(n string) string { return "`" + strings.ReplaceAll(n, "`", "``") + "`" }
	for _, n := range names {
		lines = append(lines, quote(n)+" "+rapid.SampledFrom(types).Draw(rt, label+" "+n))
	}
	if rapid.Bool().Draw(rt, label+" moves id") {
		lines = append(lines[1:], lines[0])
	}
	if rapid.Bool().Draw(rt, label+" primary") {
		lines = append(lines, "PRIMARY KEY (id)")
	} else {
		lines = append(lines, "PRIMARY KEY (id, "+quote(names[0])+")")
		for n, l := range lines {
			if strings.HasPrefix(l, quote(names[0])+" ") {
				lines[n] = quote(names[0]) + " INT NOT NULL"
			}
		}
	}
	for k := range rapid.IntRange(0, 2).Draw(rt, label+" keys") {
		unique := rapid.SampledFrom([]string{"", "UNIQUE "}).Draw(rt, label+" unique")
		lines = append(lines, fmt.Sprintf("%sKEY k%d (%s)", unique, k, quote(rapid.SampledFrom(names).Draw(rt, label+" of"))))
	}
	if rapid.Bool().Draw(rt, label+" checks") {
		lines = append(lines, "CONSTRAINT ck CHECK (id > "+rapid.SampledFrom([]string{"1", "2"}).Draw(rt, label+" more than")+")")
	}
	return "(" + strings.Join(lines, ", ") + ") ENGINE=InnoDB" + rapid.SampledFrom([]string{"", " COMMENT='c (1)'", " ROW_FORMAT=COMPRESSED", " DEFAULT CHARSET=latin1", " STATS_PERSISTENT=0"}).Draw(rt, label+" options")
}

// A program that was killed has left a server; the next one clears it away. What bears no mark of ours stays.
func TestLeftServersAreClearedAway(t *testing.T) {
	q := question(t)
	tmp := filepath.Dir(q.Dir)
	t.Setenv("TMPDIR", tmp)
	gone := exec.CommandContext(t.Context(), "true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	q.Dir = filepath.Join(tmp, fmt.Sprintf("%s%d-left", prefix, gone.Process.Pid))
	s, err := Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(tmp, fmt.Sprintf("%s%d-theirs", prefix, gone.Process.Pid))
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	if next := Place(t.Context(), q.Local); !strings.HasPrefix(next, tmp) {
		t.Errorf("the next place is %s", next)
	}
	if _, err := os.Stat(q.Dir); err == nil {
		t.Error("what was left is still there")
	}
	if pid, err := q.Local.Running(t.Context(), s.instance); err != nil || pid != 0 {
		t.Errorf("its server runs: %d, %v", pid, err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error("a directory without our mark was removed")
	}
}
