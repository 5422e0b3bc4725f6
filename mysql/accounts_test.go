package mysql

import (
	"log/slog"
	"strings"
	"testing"

	"stowage/internal/mariadbtest"
)

// TestPrivilegesSuffice: an account with exactly the listed privileges can do
// everything this package does to a server.
func TestPrivilegesSuffice(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, _ := start(t, "a")
	bi, _ := start(t, "b")
	little := Account{User: "little", Password: `it's "a\b`}
	for _, i := range []*mariadbtest.Instance{ai, bi} {
		i.Exec(t, "SET SESSION sql_log_bin=0", "CREATE USER "+grantee(little)+" IDENTIFIED BY "+quote(little.Password),
			"GRANT "+strings.Join(privileges, ", ")+" ON *.* TO "+grantee(little))
		i.Exec(t, "SET SESSION sql_log_bin=0", "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)",
			"CREATE USER owner", "CREATE DEFINER=owner EVENT d.e ON SCHEDULE EVERY 1 DAY STARTS '2021-01-01' DISABLE DO SELECT 1")
	}
	ai.Exec(t, "SET SESSION sql_log_bin=0", "ALTER DEFINER=owner EVENT d.e ENABLE")
	a := Open("a", ai.Address, little, slog.New(slog.DiscardHandler))
	b := Open("b", bi.Address, little, slog.New(slog.DiscardHandler))
	defer a.Close()
	defer b.Close()
	ctx := t.Context()
	ai.Exec(t, "INSERT d.t VALUES (1)")
	bi.Exec(t, "SET SESSION sql_log_bin=0", "INSERT d.t VALUES (1)")
	must(t, b.Adopt(ctx, position(t, a)))
	events, err := a.ScheduledEvents(ctx)
	must(t, err)
	must(t, b.SetEvents(ctx, events))
	must(t, ReplicaAccountWorks(ctx, ai.Address, replication, b))
	must(t, b.Follow(ctx, ai.Address, replication, patience))
	must(t, b.WaitFor(ctx, position(t, a), patience))
	must(t, b.StopReplicating(ctx))
	must(t, b.StopAt(ctx, position(t, a), patience))
	must(t, second(a.PositionAt(ctx, masterStatus(t, ai).file, masterStatus(t, ai).offset)))
	must(t, a.SetScheduler(ctx, true))
	must(t, a.SetScheduler(ctx, false))
	must(t, a.SetReadOnly(ctx, true))
	must(t, a.SetReadOnly(ctx, false))
	was, err := a.PoolSettings(ctx)
	must(t, err)
	must(t, a.DumpPool(ctx, true, patience))
	must(t, a.KeepPoolFile(ctx))
	must(t, a.RestorePool(ctx, was))
	must(t, second(a.LoadPool(ctx, patience)))
	must(t, second(a.HotTables(ctx, "1,1")))
	must(t, second(a.Quiesce(ctx, 0, patience)))
	must(t, second(a.LongWork(ctx, patience)))
	must(t, second(a.Clients(ctx)))
	must(t, second(a.Uncopyable(ctx)))
	must(t, second(a.Unfenced(ctx)))
	must(t, second(a.Facts(ctx)))
	must(t, second(a.GrantRows(ctx)))
	must(t, b.ForgetSource(ctx))
}

// TestQuiesceSeesOthersWithLittlePrivilege: PROCESS is what shows other
// accounts' sessions; without it a busy server would look idle.
func TestQuiesceSeesOthersWithLittlePrivilege(t *testing.T) {
	t.Parallel() // it mostly waits
	i, _ := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "CREATE USER little IDENTIFIED BY 'x'",
		"GRANT "+strings.Join(privileges, ", ")+" ON *.* TO little", "CREATE USER blind IDENTIFIED BY 'x'")
	c := clientOf(t, i)
	say(t, c, "BEGIN", "INSERT t VALUES (1)")
	defer say(t, c, "ROLLBACK")
	little := Open("a", i.Address, Account{User: "little", Password: "x"}, slog.New(slog.DiscardHandler))
	defer little.Close()
	if open := openNow(t, little); len(open) != 1 {
		t.Errorf("sees %v, want the open transaction", open)
	}
	blind := Open("a", i.Address, Account{User: "blind", Password: "x"}, slog.New(slog.DiscardHandler))
	defer blind.Close()
	if left, err := blind.Quiesce(t.Context(), 0, 0); err == nil {
		t.Errorf("an account without PROCESS finds the server quiet: %v", left)
	}
}

func TestBuild(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	must(t, s.Build(t.Context(), []string{"CREATE DATABASE d", "USE d", "SET @x = 7", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT t VALUES (@x)"}))
	if got := i.Value(t, "SELECT id FROM d.t"); got != "7" {
		t.Errorf("the statements did not share a session: %s", got)
	}
	err := s.Build(t.Context(), []string{"CREATE DATABASE e", "CREATE TABLE d.t (id INT)", "CREATE DATABASE never"})
	if err == nil || !strings.Contains(err.Error(), "run CREATE TABLE d.t") {
		t.Errorf("error %v, want the statement that failed", err)
	}
	if got := i.Value(t, "SELECT GROUP_CONCAT(SCHEMA_NAME) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME IN ('e','never')"); got != "e" {
		t.Errorf("went on after a failure: %s", got)
	}
}

// TestSetupSQL: the accounts of a new server, and no open door.
func TestSetupSQL(t *testing.T) {
	t.Parallel() // it mostly waits
	i := mariadbtest.Start(t, "new")
	accounts := Accounts{Admin: Account{User: "stowage", Password: "stowage-password"}, Replication: Account{User: "repl", Password: `r'e"p\l`}, Client: Account{User: "app", Password: "a b#c"},
		Backup: Account{User: "copy", Password: "c"}}
	log := slog.New(slog.DiscardHandler)
	setup, err := SetupSQL(accounts)
	must(t, err)
	asTheyCome := []string{"CREATE USER root@'127.0.0.1' IDENTIFIED BY ''", "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION",
		"CREATE USER ''@'%'", "DROP USER stowage@'%'", "DROP USER repl@'%'", "DROP USER app@'%'"}
	i.Exec(t, append(asTheyCome, strings.Split(strings.TrimSuffix(string(setup), ";\n"), ";\n")...)...)
	for _, a := range []Account{accounts.Admin, accounts.Replication, accounts.Client, accounts.Backup} {
		s := Open("new", i.Address, a, log)
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("%s cannot log in: %v", a.User, err)
		}
		s.Close()
	}
	for _, a := range []Account{{User: "root"}, {}, {User: "nobody"}} {
		s := Open("new", i.Address, a, log)
		if s.Ping(t.Context()) == nil {
			t.Errorf("%q logs in without a password", a.User)
		}
		s.Close()
	}
}
