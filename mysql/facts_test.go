package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
)

func TestFacts(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	mariadbtest.Ring(t, ai, bi)
	ai.Exec(t, "CREATE DATABASE shard1", "CREATE DATABASE `odd``name`", "CREATE TABLE shard1.t (id INT PRIMARY KEY)", "CREATE VIEW shard1.v AS SELECT 1")
	bi.Exec(t, "CREATE DATABASE shard2")
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
	must(t, a.WaitFor(t.Context(), position(t, b), patience))
	f, err := a.Facts(t.Context())
	must(t, err)
	if f.Flavor.Vendor != "MariaDB" || !strings.HasPrefix(ai.Value(t, "SELECT VERSION()"), f.Flavor.Version+"-MariaDB") || f.Flavor.Major < 10 || !f.Flavor.HasGTIDDomains() {
		t.Errorf("flavor %+v", f.Flavor)
	}
	if f.ServerID != ai.ServerID || f.Domain != ai.ServerID {
		t.Errorf("server id %d in domain %d, want %d twice", f.ServerID, f.Domain, ai.ServerID)
	}
	if names := slices.Sorted(maps.Keys(f.Shards)); fmt.Sprint(names) != "[odd`name shard1 shard2]" {
		t.Errorf("shards %v", f.Shards)
	}
	if f.Shards["shard1"] < 16384 || f.Shards["shard2"] != 0 {
		t.Errorf("bytes of shards: %v, want at least a page for shard1 and none for shard2", f.Shards)
	}
	if !f.Replication.Running() || !f.Replication.Follows(bi.Address) || f.Replication.Sources != 1 || !f.Replication.BehindOK || f.Replication.Behind > time.Minute {
		t.Errorf("replication %+v", f.Replication)
	}
	if !f.Binlog.Equal(position(t, a)) || len(f.Binlog) != 2 || !f.Applied.Reached(f.Binlog.Only(bi.ServerID)) {
		t.Errorf("binary log at %s, applied %s", f.Binlog, f.Applied)
	}
	slices.Sort(f.KnownIDs)
	if fmt.Sprint(f.KnownIDs) != fmt.Sprint([]uint32{ai.ServerID, bi.ServerID}) {
		t.Errorf("known ids %v", f.KnownIDs)
	}
	for _, name := range []string{"binlog_format", "datadir", "gtid_ignore_duplicates", "innodb_page_size", "sql_mode", "time_zone"} {
		if f.Variables[name] == "" {
			t.Errorf("no variable %s", name)
		}
	}
	if f.Variables["sql_mode"] != ai.Value(t, "SELECT @@GLOBAL.sql_mode") || f.Variables["time_zone"] != "SYSTEM" {
		t.Errorf("sql_mode %q and time_zone %q are those of our session, not the server's", f.Variables["sql_mode"], f.Variables["time_zone"])
	}
	none, err := a.Variables(t.Context(), "no_such_variable")
	if err != nil || len(none) != 0 {
		t.Errorf("a variable the server does not have: %v, %v", none, err)
	}
	if _, err := a.Status(t.Context(), "No_such_counter"); err == nil || !strings.Contains(err.Error(), "No_such_counter") {
		t.Errorf("a counter the server does not have: %v", err)
	}
	if n, err := a.PoolPages(t.Context()); err != nil || n == 0 {
		t.Errorf("pages in the buffer pool: %d, %v", n, err)
	}
}

// TestMultiSource: the default connection is the one that is looked at.
func TestMultiSource(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, _ := start(t, "a")
	bi, b := start(t, "b")
	follow(t, b, ai)
	bi.Exec(t, "CHANGE MASTER 'other' TO MASTER_HOST='127.0.0.9', MASTER_USER='x', MASTER_PASSWORD='x'")
	r, err := b.Replication(t.Context())
	if err != nil || r.Sources != 2 || !r.Follows(ai.Address) || !r.Running() {
		t.Errorf("%+v, %v; want the default connection of two", r, err)
	}
	must(t, b.ForgetSource(t.Context()))
}

func TestUncopyable(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "USE d",
		"CREATE TABLE good (id INT PRIMARY KEY)",
		"CREATE TABLE unique_key (a INT NOT NULL, UNIQUE (a))",
		"CREATE TABLE versioned (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
		"CREATE VIEW view_of AS SELECT * FROM good",
		"CREATE SEQUENCE numbers",
		"CREATE TABLE isam (id INT PRIMARY KEY) ENGINE=MyISAM",
		"CREATE TABLE aria (id INT PRIMARY KEY) ENGINE=Aria",
		"CREATE TABLE old_aria (id INT PRIMARY KEY) ENGINE=Aria WITH SYSTEM VERSIONING",
		"CREATE TABLE no_key (a INT, KEY (a))",
		"CREATE TABLE nullable (a INT, UNIQUE (a))",
		"CREATE TABLE half_nullable (a INT, b INT NOT NULL, UNIQUE (a, b))")
	got, err := s.Uncopyable(t.Context())
	must(t, err)
	no := "no primary or unique NOT NULL key"
	want := map[string]string{"d.isam": "engine MyISAM", "d.aria": "engine Aria", "d.old_aria": "engine Aria",
		"d.no_key": no, "d.nullable": no, "d.half_nullable": no}
	if !maps.Equal(got, want) {
		t.Errorf("uncopyable: %v\nwant %v", got, want)
	}
}

// TestLookAtOneSchemaOpensAllOfTheServers: to say how large a handful of databases
// are, a server opened every table and view of mysql and sys.
func TestLookAtOneSchemaOpensAllOfTheServers(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	opened := func() (n int) {
		t.Helper()
		_, err := fmt.Sscan(i.Value(t, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'OPENED_TABLE_DEFINITIONS'"), &n)
		must(t, err)
		return n
	}
	all, err := s.records(t.Context(), "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ('mysql', 'sys')")
	must(t, err)
	for name, ask := range map[string]func() error{
		"Shards":     func() error { return second(s.Shards(t.Context())) },
		"Uncopyable": func() error { return second(s.Uncopyable(t.Context())) },
	} {
		i.Exec(t, "FLUSH TABLES")
		before := opened()
		must(t, ask())
		if n := opened() - before; n > len(all)/4 {
			t.Errorf("%s opens %d tables; d has one, the server's own databases %d", name, n, len(all))
		}
	}
}

func TestUnfenced(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "DROP USER root@'127.%'", "CREATE USER plain@'%'", "GRANT ALL ON d.* TO plain@'%'",
		"CREATE USER dba@'10.%'", "GRANT ALL ON *.* TO dba@'10.%'",
		"CREATE USER cron", "GRANT READ ONLY ADMIN ON *.* TO cron",
		"CREATE USER stowage2", "GRANT READ ONLY ADMIN ON *.* TO stowage2")
	got, err := s.Unfenced(t.Context())
	must(t, err)
	if fmt.Sprint(got) != "['cron'@'%' 'dba'@'10.%' 'stowage2'@'%']" {
		t.Errorf("not stopped by read_only: %v; app, plain, root at the console and we are not among them", got)
	}
}

func TestFlavor(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, test := range []struct {
		text, want string
		domains    bool
	}{
		{"10.11.19-MariaDB-0+deb12u1-log", "{MariaDB 10.11.19 10 11}", true},
		{"11.8.2-MariaDB", "{MariaDB 11.8.2 11 8}", true},
		{"5.5.5-10.4.2-MariaDB", "", true},
		{"8.0.33", "{MySQL 8.0.33 8 0}", false},
		{"8.4.0-commercial", "{MySQL 8.4.0 8 4}", false},
		{"", "{MySQL  0 0}", false},
		{"x", "{MySQL x 0 0}", false},
	} {
		f := parseFlavor(test.text)
		type plain Flavor
		if got := fmt.Sprint(plain(f)); test.want != "" && got != test.want || f.HasGTIDDomains() != test.domains {
			t.Errorf("%q is %s, want %s", test.text, got, test.want)
		}
	}
	a, b, c := parseFlavor("10.11.19-MariaDB"), parseFlavor("10.11.6-MariaDB"), parseFlavor("11.4.2-MariaDB")
	if !a.CanSeedFrom(b) || a.CanSeedFrom(c) || parseFlavor("10.11.1").CanSeedFrom(a) {
		t.Error("a physical copy goes within one series of one vendor only")
	}
	for _, test := range []struct {
		from, to string
		can      bool
	}{{"8.0.33", "8.0.33", true}, {"8.0.33", "8.0.34", false}, {"8.0.36", "8.0.40", false}, {"8.0.37", "8.0.40", true}, {"8.4.0", "8.4.9", true}, {"8.4.0", "9.7.0", false}, {"9.7.4-2", "9.7.5", true}} {
		if got := parseFlavor(test.from).CanSeedFrom(parseFlavor(test.to)); got != test.can {
			t.Errorf("a clone from %s to %s: %v", test.from, test.to, got)
		}
	}
	for _, old := range []string{"10.5.9-MariaDB", "5.7.44", "8.0.25"} {
		if parseFlavor(old).TooOld() == "" {
			t.Errorf("%s is not too old", old)
		}
	}
	for _, fine := range []string{"10.6.1-MariaDB", "10.11.19-MariaDB", "11.8.9-MariaDB-4", "8.0.26", "8.4.3", "9.7.4-2"} {
		if why := parseFlavor(fine).TooOld(); why != "" {
			t.Errorf("%s: %s", fine, why)
		}
	}
}

// TestErrorsNameTheServer: with a hint that says what to do.
func TestErrorsNameTheServer(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	for _, test := range []struct {
		name   string
		server *Server
		says   string
		hint   string
	}{
		{"nobody listens", Open("gone", "127.0.77.254:1", admin, s.log), "gone (127.0.77.254:1)", "is the instance running"},
		{"wrong password", Open("a", i.Address, Account{User: "stowage", Password: "secret-word"}, s.log), "Access denied", "accounts file"},
	} {
		err := test.server.Ping(t.Context())
		test.server.Close()
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(farm.Hint(err), test.hint) || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%s: %v (hint %q)", test.name, err, farm.Hint(err))
		}
	}
	weak := Open("a", i.Address, Account{User: "app", Password: mariadbtest.App.Password()}, s.log)
	defer weak.Close()
	if err := weak.SetReadOnly(t.Context(), true); err == nil || !strings.Contains(farm.Hint(err), "privileges") || !strings.Contains(err.Error(), "SET GLOBAL read_only") {
		t.Errorf("a missing privilege: %v (hint %q)", err, farm.Hint(err))
	}
}
