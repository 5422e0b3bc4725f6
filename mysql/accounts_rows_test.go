package mysql

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
)

// A fresh server that is told the accounts of another has all of them, with
// everything they may do: passwords, roles, grants on databases, on tables that
// are not there yet, on columns and routines, and names that need care.
func TestAccountsOfAnother(t *testing.T) {
	t.Parallel()
	from, a := start(t, "from")
	to, b := start(t, "to")
	from.Exec(t,
		"CREATE DATABASE s", "CREATE TABLE s.t (a INT PRIMARY KEY, b INT)", "CREATE PROCEDURE s.p() SELECT 1",
		"CREATE USER app@'10.%' IDENTIFIED BY 'it''s; a \\\\ secret'", "GRANT SELECT ON s.* TO app@'10.%'",
		"GRANT INSERT, UPDATE (b) ON s.t TO app@'10.%'", "GRANT EXECUTE ON PROCEDURE s.p TO app@'10.%'",
		"CREATE ROLE reader", "GRANT PROCESS ON *.* TO reader", "GRANT reader TO app@'10.%'", "SET DEFAULT ROLE reader FOR app@'10.%'",
		"CREATE USER 'jürgen'@'%' IDENTIFIED BY 'x' ACCOUNT LOCK")
	want, err := a.GrantRows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	setup, err := SetupFrom(want)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(setup); strings.Contains(text, "secret") || strings.Count(text, ";") != strings.Count(text, ";\n") {
		t.Errorf("a setup is one statement a line:\n%s", text)
	}
	to.Exec(t, strings.Split(strings.TrimSuffix(string(setup), ";\n"), ";\n")...)
	got, err := b.GrantRows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, want, GrantRow.Same) {
		t.Errorf("has\n%v\nwant\n%v", got, want)
	}
	var who []string
	for _, g := range want {
		who = append(who, g.Table+": "+g.Who)
	}
	for _, w := range []string{"global_priv: app@10.%", "db: app@10.% on s", "tables_priv: app@10.% on s.t", "procs_priv: app@10.% on s.PROCEDURE.p", "roles_mapping: app@10.% on reader"} {
		if !slices.Contains(who, w) {
			t.Errorf("no row %q in %q", w, who)
		}
	}
	if _, err := SetupFrom(nil); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("no account at all: %v", err)
	}
}
