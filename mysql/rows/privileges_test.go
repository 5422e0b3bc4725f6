package rows

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

// leastOf is a server as an account knows it that may do what docs/reference/privileges.md asks for, and no more.
func leastOf(t *testing.T, i *mariadbtest.Instance) *mysql.Server {
	t.Helper()
	i.Exec(t, "SET SESSION sql_log_bin = 0", "CREATE USER least@'%' IDENTIFIED BY 'x'")
	before := mysql.Open("least", i.Address, mysql.Account{User: "least", Password: "x"}, quiet)
	defer before.Close()
	lacks, err := before.Lacking(t.Context())
	must(t, err)
	i.Exec(t, "SET SESSION sql_log_bin = 0", "GRANT "+strings.Join(lacks.Privileges, ", ")+" ON *.* TO least@'%'")
	s := before.Again()
	t.Cleanup(func() { s.Close() })
	return s
}

// TestPrivilegesSuffice: an account with exactly the listed privileges compares a copy with its source.
func TestPrivilegesSuffice(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, admins := start(t, "a")
	bi, follows := start(t, "b")
	follow(t, follows, ai)
	ai.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)")
	must(t, follows.WaitFor(t.Context(), mysqltest.Position(t, admins), patience))
	must(t, follows.StopReplicating(t.Context()))
	a, b := leastOf(t, ai), leastOf(t, bi)
	snap, err := Snapshot(t.Context(), a)
	must(t, err)
	must(t, b.StopAt(t.Context(), snap.At, patience))
	out, err := allTables(t, snap, b)
	must(t, err)
	if len(out) > 0 {
		t.Errorf("differences: %v", out)
	}
	must(t, snap.Close())
}

// TestPrivilegesShowEverything: such an account sees what one with everything sees. Where a privilege is missing,
// information_schema shows less rather than an error.
func TestPrivilegesShowEverything(t *testing.T) {
	t.Parallel() // it mostly waits
	i, all := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.p (id INT PRIMARY KEY)",
		"CREATE TABLE d.c (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES d.p (id) ON DELETE CASCADE ON UPDATE CASCADE, CHECK (id > 0))",
		"CREATE TRIGGER d.tr BEFORE INSERT ON d.p FOR EACH ROW SET NEW.id = NEW.id", "CREATE VIEW d.v AS SELECT * FROM d.p",
		"CREATE PROCEDURE d.pr() SELECT 1", "CREATE EVENT d.ev ON SCHEDULE EVERY 1 DAY DO SELECT 1", "CREATE SEQUENCE d.sq")
	least := leastOf(t, i)
	for name, of := range map[string]func(*mysql.Server) (any, error){
		"objects":   func(s *mysql.Server) (any, error) { return objectsOf(t.Context(), mysql.Through(s), nil, nil) },
		"tables":    func(s *mysql.Server) (any, error) { return tablesOf(t.Context(), mysql.Through(s), nil) },
		"sequences": func(s *mysql.Server) (any, error) { return Sequences(t.Context(), s) },
	} {
		want, err := of(all)
		must(t, err)
		got, err := of(least)
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: with the listed privileges %v, with all %v", name, got, want)
		}
		if reflect.ValueOf(want).Len() == 0 {
			t.Errorf("%s finds nothing: this test looks in the wrong place", name)
		}
	}
}

// TestReadingTablesOpensNoneOfTheServers: to read how a handful of tables are made, a server opened every table and view of mysql and sys.
func TestReadingTablesOpensNoneOfTheServers(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	number := func(query string) (n int) {
		t.Helper()
		_, err := fmt.Sscan(i.Value(t, query), &n)
		must(t, err)
		return n
	}
	const opened = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'OPENED_TABLE_DEFINITIONS'"
	all := number("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ('mysql', 'sys')")
	i.Exec(t, "FLUSH TABLES")
	before := number(opened)
	_, err := tablesOf(t.Context(), mysql.Through(s), nil)
	must(t, err)
	if n := number(opened) - before; n > all/4 {
		t.Errorf("it opens %d tables; d has one, the server's own databases %d", n, all)
	}
}
