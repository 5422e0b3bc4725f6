package mysql

import (
	"reflect"
	"strings"
	"testing"

	"stowage/internal/mariadbtest"
)

func TestHostMatches(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, c := range []struct {
		pattern, address string
		want             bool
	}{
		{"%", "10.0.0.1", true}, {"", "10.0.0.1", true}, {"10.0.0.1", "10.0.0.1", true}, {"10.0.0.1", "10.0.0.11", false},
		{"10.0.%", "10.0.7.1", true}, {"10.0.%", "10.1.7.1", false}, {"10.0.0._", "10.0.0.9", true}, {"10.0.0._", "10.0.0.10", false},
		{"10.0.0.0/255.255.255.0", "10.0.0.77", true}, {"10.0.0.0/255.255.255.0", "10.0.1.77", false}, {"10.0.0.0/24", "10.0.0.200", true},
		{"10.0.0.0/24", "10.0.2.200", false}, {"fe80::%", "fe80::1", true}, {"db%.example.com", "10.0.0.1", false}, {"10.0.0.0/nonsense", "10.0.0.1", false},
		{"localhost", "127.0.0.1", false},
	} {
		if got := HostMatches(c.pattern, c.address); got != c.want {
			t.Errorf("HostMatches(%q, %q) = %v", c.pattern, c.address, got)
		}
	}
}

// TestPrivilegesShowEverything: an account with what docs/reference/privileges.md asks for, and no more, sees what one with everything
// sees. Where a privilege is missing, information_schema shows less rather than an error.
func TestPrivilegesShowEverything(t *testing.T) {
	t.Parallel() // it mostly waits
	i, all := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.p (id INT PRIMARY KEY)",
		"CREATE TABLE d.c (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES d.p (id) ON DELETE CASCADE ON UPDATE CASCADE, CHECK (id > 0))",
		"CREATE TRIGGER d.tr BEFORE INSERT ON d.p FOR EACH ROW SET NEW.id = NEW.id", "CREATE VIEW d.v AS SELECT * FROM d.p",
		"CREATE PROCEDURE d.pr() SELECT 1", "CREATE EVENT d.ev ON SCHEDULE EVERY 1 DAY DO SELECT 1",
		"CREATE USER least@'%' IDENTIFIED BY 'x'", "GRANT "+strings.Join(privileges, ", ")+" ON *.* TO least@'%'")
	least := Open("least", i.Address, Account{User: "least", Password: "x"}, all.log)
	defer least.Close()
	flavor := parseFlavor(i.Value(t, "SELECT VERSION()"))
	for _, ask := range []struct {
		name string
		of   func(*Server) (any, error)
	}{
		{"Cascades", func(s *Server) (any, error) { return s.Cascades(t.Context(), flavor) }},
		{"CascadesInto", func(s *Server) (any, error) { return s.CascadesInto(t.Context(), "d") }},
		{"Triggers", func(s *Server) (any, error) { return s.Triggers(t.Context()) }},
		{"Definers", func(s *Server) (any, error) { return s.Definers(t.Context()) }},
		{"Logins", func(s *Server) (any, error) { return s.Logins(t.Context()) }},
		{"ScheduledEvents", func(s *Server) (any, error) { return s.ScheduledEvents(t.Context()) }},
		{"BinlogBytes", func(s *Server) (any, error) { return s.BinlogBytes(t.Context()) }},
		{"DataBytes", func(s *Server) (any, error) { return s.DataBytes(t.Context(), flavor) }},
		{"EncryptedTablespaces", func(s *Server) (any, error) { return s.EncryptedTablespaces(t.Context()) }},
		{"TimeZoneNames", func(s *Server) (any, error) { return s.TimeZoneNames(t.Context()) }},
	} {
		want, err := ask.of(all)
		must(t, err)
		got, err := ask.of(least)
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: with the listed privileges %v, with all %v", ask.name, got, want)
		}
		if v := reflect.ValueOf(want); v.Kind() != reflect.Int && v.Kind() != reflect.Int64 && v.Len() == 0 {
			t.Errorf("%s finds nothing: this test looks in the wrong place", ask.name)
		}
	}
	if lacking, err := least.Lacking(t.Context()); err != nil || !lacking.IsNone() {
		t.Errorf("lacking %v %v, want nothing", lacking, err)
	}
	i.Exec(t, "REVOKE PROCESS, REPLICA MONITOR ON *.* FROM least@'%'")
	if lacking, err := least.Lacking(t.Context()); err != nil || lacking.Remedy() != "GRANT PROCESS, REPLICA MONITOR ON *.* TO 'least'@'%'; why each: docs/reference/privileges.md" {
		t.Errorf("lacking %v %v, want PROCESS and REPLICA MONITOR, and the account as the server matched it", lacking, err)
	}
}

func TestRetentionIsRead(t *testing.T) {
	t.Parallel() // it mostly waits
	i := mariadbtest.Start(t, "a", "--expire-logs-days=2.5")
	s := open(t, i)
	f, err := s.Preflight(t.Context())
	must(t, err)
	if got := f.Retention().Hours(); got != 60 {
		t.Errorf("retention is %v h, want 60", got)
	}
	i.Exec(t, "SET GLOBAL binlog_expire_logs_seconds = 7200")
	f, err = s.Preflight(t.Context())
	must(t, err)
	if got := f.Retention().Hours(); got != 2 {
		t.Errorf("retention is %v h, want 2", got)
	}
}
