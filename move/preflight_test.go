package move

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/session"
)

// everywhere is one machine that plays every host.
type everywhere struct{ it host.Host }

func (e everywhere) Greet(context.Context, farm.HostName) error { return nil }
func (e everywhere) Host(farm.HostName) (host.Host, error)      { return e.it, nil }

func peerOf(t *testing.T, i *mariadbtest.Instance) peer {
	t.Helper()
	p, err := askPeer(t.Context(), i.Name, mysqltest.Open(t, i))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// smallHost is the machine at hand with another size of disk.
type smallHost struct {
	host.Host
	free int64
}

func (h smallHost) FreeBytes(context.Context, string) (int64, error) { return h.free, nil }

// TestEachQuestionSpeaks makes every question about servers find what it is there to find, on real servers, and makes
// sure that it says nothing before.
func TestEachQuestionSpeaks(t *testing.T) {
	t.Parallel() // it mostly waits
	durable := []string{"--sync-binlog=1", "--table-open-cache=1000", "--innodb-flush-log-at-trx-commit=1"}
	a := mariadbtest.Start(t, "a", durable...)
	b := mariadbtest.Start(t, "b", durable...)
	odd := mariadbtest.Start(t, "odd", durable...)
	if err := os.WriteFile(filepath.Join(odd.Dir, "keys"), []byte("1;a7addd9adea9978fda19f21e6be987880e68ac92632ca052e5bb42b1a506939a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	odd.SetOptions("--lower-case-table-names=1", "--log-bin="+filepath.Join(odd.Dir, "elsewhere"),
		"--plugin-load-add=file_key_management", "--file-key-management-filename="+filepath.Join(odd.Dir, "keys"))
	odd.Restart(t)
	odd.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.secret (id INT PRIMARY KEY) ENCRYPTED=YES")
	a.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.parent (id INT PRIMARY KEY)",
		"CREATE USER copy@'10.%' IDENTIFIED BY 'c'", "GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR ON *.* TO copy@'10.%'",
		"CREATE USER whole@'%' IDENTIFIED BY 'w'", "GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR ON *.* TO whole@'%'")

	quiet := func(f ...farm.Finding) ([]farm.Finding, error) { return f, nil }
	repl := mysqltest.Account(mariadbtest.Repl)
	local, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	cases := []speech{
		{check: "privileges", want: "lacks SUPER, READ_ONLY ADMIN", severity: farm.Blocker,
			ask:   func(a, _ peer) ([]farm.Finding, error) { return askPrivileges(t.Context(), a) },
			spoil: func() { a.Exec(t, "REVOKE SUPER, READ_ONLY ADMIN ON *.* FROM stowage@'%'") },
			mend:  asRoot(t, a, "GRANT ALL ON *.* TO stowage@'%' WITH GRANT OPTION")},
		{check: "privileges", want: "lacks TRIGGER", severity: farm.Warning,
			ask:   func(a, _ peer) ([]farm.Finding, error) { return askPrivileges(t.Context(), a) },
			spoil: func() { a.Exec(t, "REVOKE TRIGGER ON *.* FROM stowage@'%'") },
			mend:  asRoot(t, a, "GRANT ALL ON *.* TO stowage@'%' WITH GRANT OPTION")},
		{check: "foreign-keys", want: "d/fk_parent: d/child -> d/parent (DELETE CASCADE)", severity: farm.Note,
			ask: func(a, _ peer) ([]farm.Finding, error) { return askCascades(t.Context(), a, farm.Note) },
			spoil: func() {
				a.Exec(t, "CREATE TABLE d.child (id INT PRIMARY KEY, p INT, CONSTRAINT fk_parent FOREIGN KEY (p) REFERENCES d.parent (id) ON DELETE CASCADE)")
			}, mend: func() { a.Exec(t, "DROP TABLE d.child") }},
		{check: "foreign-keys", want: "(UPDATE SET NULL)", severity: farm.Blocker,
			ask: func(a, _ peer) ([]farm.Finding, error) { return askCascades(t.Context(), a, farm.Blocker) },
			spoil: func() {
				a.Exec(t, "CREATE TABLE d.child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES d.parent (id) ON UPDATE SET NULL)")
			}, mend: func() { a.Exec(t, "DROP TABLE d.child") }},
		{check: "versioned-tables", want: "transaction numbers: d.hist", severity: farm.Blocker,
			ask: func(a, _ peer) ([]farm.Finding, error) { return askVersioned(t.Context(), a) },
			spoil: func() {
				a.Exec(t, "CREATE TABLE d.fine (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
					"CREATE TABLE d.hist (id INT PRIMARY KEY, s BIGINT UNSIGNED GENERATED ALWAYS AS ROW START, e BIGINT UNSIGNED GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING")
			}, mend: func() { a.Exec(t, "DROP TABLE d.hist, d.fine") }},
		{check: "definers", want: "view d.v of ghost@%", severity: farm.Warning,
			ask: func(a, b peer) ([]farm.Finding, error) {
				logins, err := b.server.Logins(t.Context())
				if err != nil {
					return nil, err
				}
				return askDefiners(t.Context(), a, logins)
			},
			spoil: func() {
				a.Exec(t, "CREATE DEFINER = 'ghost'@'%' VIEW d.v AS SELECT * FROM d.parent", "CREATE DEFINER = 'app'@'%' VIEW d.w AS SELECT * FROM d.parent",
					"CREATE DEFINER = 'ghost'@'%' SQL SECURITY INVOKER VIEW d.x AS SELECT * FROM d.parent")
			}, mend: func() { a.Exec(t, "DROP VIEW d.v, d.w, d.x") }},
		{check: "triggers", want: "slave_run_triggers_for_rbr is YES", severity: farm.Blocker,
			ask: func(a, _ peer) ([]farm.Finding, error) { return askTriggers(t.Context(), a) },
			spoil: func() {
				a.Exec(t, "CREATE TRIGGER d.tr BEFORE INSERT ON d.parent FOR EACH ROW SET NEW.id = NEW.id + 1", "SET GLOBAL slave_run_triggers_for_rbr = YES")
			}, mend: func() { a.Exec(t, "DROP TRIGGER d.tr", "SET GLOBAL slave_run_triggers_for_rbr = NO") }},
		{check: "triggers", want: "1 triggers come along: d.tr on parent", severity: farm.Note,
			ask: func(a, _ peer) ([]farm.Finding, error) { return askTriggers(t.Context(), a) },
			spoil: func() {
				a.Exec(t, "CREATE TRIGGER d.tr BEFORE INSERT ON d.parent FOR EACH ROW SET NEW.id = NEW.id + 1")
			}, mend: func() { a.Exec(t, "DROP TRIGGER d.tr") }},
		{check: "replication-account", want: "cannot log in", severity: farm.Blocker,
			ask: func(a, _ peer) ([]farm.Finding, error) {
				return askReplicationAccount(t.Context(), a, repl, "10.0.0.9")
			},
			spoil: func() { a.Exec(t, "SET PASSWORD FOR repl@'%' = PASSWORD('other')") },
			mend:  func() { a.Exec(t, "SET PASSWORD FOR repl@'%' = PASSWORD('"+repl.Password+"')") }},
		{check: "replication-account", want: "repl@% may not replicate", severity: farm.Blocker,
			ask: func(a, _ peer) ([]farm.Finding, error) {
				return askReplicationAccount(t.Context(), a, repl, "10.0.0.9")
			},
			spoil: func() { a.Exec(t, "REVOKE REPLICATION SLAVE ON *.* FROM repl@'%'") },
			mend:  func() { a.Exec(t, "GRANT REPLICATION SLAVE ON *.* TO repl@'%'") }},
		{check: "replication-account", want: "none of the accounts of repl ('127.%') admits the new address 10.0.0.9", severity: farm.Blocker,
			ask: func(a, _ peer) ([]farm.Finding, error) {
				return askReplicationAccount(t.Context(), a, repl, "10.0.0.9")
			},
			spoil: func() { a.Exec(t, "RENAME USER repl@'%' TO repl@'127.%'") },
			mend:  func() { a.Exec(t, "RENAME USER repl@'127.%' TO repl@'%'") }},
		{check: "tls", want: "repl@% requires TLS", severity: farm.Blocker,
			ask:   func(a, _ peer) ([]farm.Finding, error) { return askTLS(t.Context(), a, repl, "", nil) },
			spoil: func() { a.Exec(t, "ALTER USER repl@'%' REQUIRE SSL") },
			mend:  func() { a.Exec(t, "ALTER USER repl@'%' REQUIRE NONE") }},
		{check: "replication-tls", want: "repl@% requires TLS", severity: farm.Blocker, // of a single shard, by its target's own replication
			ask: func(a, b peer) ([]farm.Finding, error) {
				s := &shardMove{from: ends{main: a.server}, to: ends{main: b.server}, order: shardOrder{To: shardEnd{Side: farm.A}}}
				s.mover = &Mover{Accounts: session.Accounts{Replication: repl}, Machines: everywhere{local}}
				return nativeTLS(t.Context(), &nativeSurvey{s: s})
			},
			spoil: func() { a.Exec(t, "ALTER USER repl@'%' REQUIRE SSL") },
			mend:  func() { a.Exec(t, "ALTER USER repl@'%' REQUIRE NONE") }},
		{check: "replication-server-ids", want: "it would skip that server's changes", severity: farm.Blocker,
			ask: func(a, b peer) ([]farm.Finding, error) {
				return nativeServerIDs(t.Context(), &nativeSurvey{s: &shardMove{from: ends{main: a.server}, to: ends{main: b.server}}})
			},
			spoil: func() { a.Exec(t, fmt.Sprintf("SET GLOBAL server_id = %d", b.ServerID)) },
			mend:  func() { a.Exec(t, fmt.Sprintf("SET GLOBAL server_id = %d", a.ServerID)) }},
		{check: "tls", want: "repl@% requires TLS", severity: farm.Blocker, // of a new pair
			ask: func(a, _ peer) ([]farm.Finding, error) {
				p := &provision{models: []*mysql.Server{a.server}, sides: []*freshSide{{name: farm.A, host: local}, {name: farm.B, host: local}}}
				p.order.Topology, p.mover = farm.PrimaryReplica, &Mover{Accounts: session.Accounts{Replication: repl}}
				return provisionTLS(t.Context(), &provisionSurvey{p: p, model: a})
			},
			spoil: func() { a.Exec(t, "ALTER USER repl@'%' REQUIRE SSL") },
			mend:  func() { a.Exec(t, "ALTER USER repl@'%' REQUIRE NONE") }},
		{check: "backup-account", want: "the account copy of [backup] lacks BINLOG MONITOR, LOCK TABLES, PROCESS", severity: farm.Blocker,
			ask: func(a, _ peer) ([]farm.Finding, error) {
				return askBackup(t.Context(), a, &Mover{Accounts: session.Accounts{Admin: repl, Backup: mysql.Account{User: "copy"}}})
			},
			spoil: func() { a.Exec(t, "REVOKE PROCESS, LOCK TABLES, BINLOG MONITOR ON *.* FROM copy@'10.%'") },
			mend:  func() { a.Exec(t, "GRANT PROCESS, LOCK TABLES, BINLOG MONITOR ON *.* TO copy@'10.%'") }},
		{check: "backup-account", want: "the account whole of [backup] cannot log in", severity: farm.Blocker, // found at the copy, eight times, before
			ask: func(a, _ peer) ([]farm.Finding, error) {
				return askBackup(t.Context(), a, &Mover{Accounts: session.Accounts{Admin: mysql.Account{User: "other"}, Backup: mysql.Account{User: "whole", Password: "w"}}})
			},
			spoil: func() { a.Exec(t, "SET PASSWORD FOR whole@'%' = PASSWORD('other')") },
			mend:  func() { a.Exec(t, "SET PASSWORD FOR whole@'%' = PASSWORD('w')") }},
		{check: "accounts", want: "not the new one 10.2.0.9: cron@10.1.%", severity: farm.Warning,
			ask: func(a, _ peer) ([]farm.Finding, error) { return askAccounts(t.Context(), a, "10.1.0.5", "10.2.0.9") },
			spoil: func() {
				a.Exec(t, "CREATE USER cron@'10.1.%', twice@'10.1.%', twice@'10.2.0.0/255.255.0.0', far@'10.3.%'")
			},
			mend: func() {
				a.Exec(t, "DROP USER cron@'10.1.%', twice@'10.1.%', twice@'10.2.0.0/255.255.0.0', far@'10.3.%'")
			}},
		{check: "layout", want: `lower_case_table_names is "0" on a and "1" on odd`, severity: farm.Blocker,
			ask:  func(a, b peer) ([]farm.Finding, error) { return quiet(askLayout(a, b)...) },
			with: odd},
		{check: "files", want: "log_bin_basename", severity: farm.Blocker,
			ask:  func(_, b peer) ([]farm.Finding, error) { return askFiles(t.Context(), b) },
			with: odd},
		{check: "encryption", want: "tablespaces are encrypted", severity: farm.Warning,
			ask:  func(_, b peer) ([]farm.Finding, error) { return askEncryption(t.Context(), b) },
			with: odd},
		{check: "plugins", want: "file_key_management (file_key_management.so)", severity: farm.Warning,
			ask:  func(_, b peer) ([]farm.Finding, error) { return askPlugins(t.Context(), b) },
			with: odd},
		{check: "character-sets", want: `collation_server is "`, severity: farm.Warning,
			ask:   func(a, b peer) ([]farm.Finding, error) { return quiet(askCharsets(a, b)...) },
			spoil: func() { b.Exec(t, "SET GLOBAL collation_server = utf8mb4_bin") },
			mend:  func() { b.Exec(t, "SET GLOBAL collation_server = DEFAULT") }},
		{check: "sql-mode", want: "sql_mode is", severity: farm.Warning,
			ask:   func(a, b peer) ([]farm.Finding, error) { return quiet(askSQLMode(a, b)...) },
			spoil: func() { b.Exec(t, "SET GLOBAL sql_mode = 'ANSI_QUOTES'") },
			mend:  func() { b.Exec(t, "SET GLOBAL sql_mode = DEFAULT") }},
		{check: "time-zones", want: `time_zone is "SYSTEM" on a and "+05:00" on b`, severity: farm.Warning,
			ask:   func(a, b peer) ([]farm.Finding, error) { return askTimeZones(t.Context(), a, b) },
			spoil: func() { b.Exec(t, "SET GLOBAL time_zone = '+05:00'") },
			mend:  func() { b.Exec(t, "SET GLOBAL time_zone = SYSTEM") }},
		{check: "time-zones", want: "a knows 0 named time zones, b 1", severity: farm.Warning,
			ask:   func(a, b peer) ([]farm.Finding, error) { return askTimeZones(t.Context(), a, b) },
			spoil: func() { b.Exec(t, "INSERT INTO mysql.time_zone_name VALUES ('Europe/Nowhere', 1)") },
			mend:  func() { b.Exec(t, "DELETE FROM mysql.time_zone_name") }},
		{check: "clocks", want: "behind ours", severity: farm.Blocker, ask: clockOf(t, b), plain: true,
			spoil: func() { b.Exec(t, "SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() - 7200'") },
			mend:  func() { b.Exec(t, "SET GLOBAL init_connect = ''") }},
		{check: "clocks", want: "ahead of that of a", severity: farm.Warning, ask: clockOf(t, b), plain: true,
			spoil: func() { b.Exec(t, "SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + 20'") },
			mend:  func() { b.Exec(t, "SET GLOBAL init_connect = ''") }},
		{check: "durability", want: "sync_binlog is 0", severity: farm.Warning,
			ask:   func(a, _ peer) ([]farm.Finding, error) { return quiet(askDurability(a)...) },
			spoil: func() { a.Exec(t, "SET GLOBAL sync_binlog = 0") },
			mend:  func() { a.Exec(t, "SET GLOBAL sync_binlog = 1") }},
		{check: "semi-sync", want: "commits wait up to 10000 ms", severity: farm.Warning,
			ask:   func(a, _ peer) ([]farm.Finding, error) { return quiet(askSemiSync(a)...) },
			spoil: func() { a.Exec(t, "SET GLOBAL rpl_semi_sync_master_enabled = ON") },
			mend:  func() { a.Exec(t, "SET GLOBAL rpl_semi_sync_master_enabled = OFF") }},
		{check: "open-files", want: "table_open_cache is 10", severity: farm.Warning,
			ask: func(a, b peer) ([]farm.Finding, error) { return askOpenFiles(t.Context(), a, b) },
			spoil: func() {
				a.Exec(t, "SET GLOBAL table_open_cache = 10")
				for i := range 12 {
					a.Exec(t, fmt.Sprintf("CREATE TABLE d.many%d (id INT PRIMARY KEY)", i), fmt.Sprintf("SELECT * FROM d.many%d", i))
				}
			}, mend: func() { a.Exec(t, "SET GLOBAL table_open_cache = 400") }},
		{check: "open-files", want: "open_files_limit is 5", severity: farm.Warning, spoil: func() {}, mend: func() {}, always: true,
			ask: func(a, b peer) ([]farm.Finding, error) {
				a.facts.Variables = maps.Clone(a.facts.Variables)
				a.facts.Variables["open_files_limit"] = "5"
				return askOpenFiles(t.Context(), a, b)
			}},
		{check: "binlog-retention", want: "it keeps binary logs for 1m0s", severity: farm.Blocker,
			ask:   func(a, _ peer) ([]farm.Finding, error) { return quiet(askRetention(a, 1<<30, 0)...) },
			spoil: func() { a.Exec(t, "SET GLOBAL binlog_expire_logs_seconds = 60") },
			mend:  func() { a.Exec(t, "SET GLOBAL binlog_expire_logs_seconds = 0") }},
		{check: "binlog-retention", want: "it keeps binary logs for 24h0m0s", severity: farm.Warning,
			ask:   func(a, _ peer) ([]farm.Finding, error) { return quiet(askRetention(a, 0, 9*time.Hour)...) },
			spoil: func() { a.Exec(t, "SET GLOBAL expire_logs_days = 1") },
			mend:  func() { a.Exec(t, "SET GLOBAL expire_logs_days = 0") }},
		{check: "space", want: "1 MB are free; the copy needs", severity: farm.Blocker, spoil: func() {}, mend: func() {}, always: true,
			ask: func(a, _ peer) ([]farm.Finding, error) {
				return askSpace(t.Context(), a, smallHost{local, 1 << 20}, "ssd01", t.TempDir())
			}},
	}
	said := map[string]bool{}
	for _, c := range cases {
		said[c.check] = true
		t.Run(c.check, func(t *testing.T) { c.run(t, a, b) })
	}
	elsewhere := questionsAskedByTheProgram
	for _, name := range Checks() {
		if !said[name] && elsewhere[name] == "" {
			t.Errorf("nothing makes the question %q speak", name)
		}
	}
	for name := range elsewhere {
		if !slices.Contains(Checks(), name) {
			t.Errorf("there is no question %q any more", name)
		}
	}
}

// questionsAskedByTheProgram need a whole farm to be asked; these tests of cmd/stowage and mysql make them speak.
var questionsAskedByTheProgram = map[string]string{
	"topology": "TestPreflightBlockers", "routing": "TestClosedGateIsABlocker", "flavor": "TestFlavorQuestionSpeaks", "binary-log": "TestPreflightBlockers",
	"server-ids": "TestPreflightBlockers", "gtid-domains": "TestDomainQuestionSpeaks", "auto-increment": "TestPreflightBlockers", "replication": "TestPreflightBlockers",
	"tables": "TestPreflightBlockers", "fence": "TestUnfenced", "long-work": "TestQuiesce", "sessions": "TestPreflightBlockers",
	"events": "TestEventsMoveWithTheirSide", "memory": "TestCachesMustFit", "option-file": "TestOptionFileQuestionSpeaks", "way-back": "TestHostWithoutADirHasNoWayBack", "target": "TestPreflightBlockers",
}

func asRoot(t *testing.T, i *mariadbtest.Instance, statement string) func() {
	return func() {
		if _, err := i.DB(t, mariadbtest.Root, "").Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

// clockOf asks the clocks as an account that init_connect applies to.
func clockOf(t *testing.T, b *mariadbtest.Instance) func(a, b peer) ([]farm.Finding, error) {
	return func(a, p peer) ([]farm.Finding, error) {
		p.server = mysqltest.OpenAs(t, b, mariadbtest.App)
		return askClocks(t.Context(), a, p)
	}
}

// speech is one thing that a question must find.
type speech struct {
	check, want string
	severity    farm.Severity
	ask         func(a, b peer) ([]farm.Finding, error)
	spoil, mend func()
	with        *mariadbtest.Instance // ask this server in place of b, rather than spoil one
	always      bool                  // there is no quiet state to compare with
	plain       bool                  // several findings may say it
}

func (c speech) run(t *testing.T, a, b *mariadbtest.Instance) {
	ask := func(b *mariadbtest.Instance) []farm.Finding {
		t.Helper()
		found, err := c.ask(peerOf(t, a), peerOf(t, b))
		if err != nil {
			t.Fatal(err)
		}
		var loud []farm.Finding
		for _, f := range found {
			if f.Severity != farm.Note || c.severity == farm.Note {
				loud = append(loud, f)
			}
		}
		return loud
	}
	if !c.always {
		if found := ask(b); len(found) > 0 {
			t.Errorf("before anything is wrong: %v, want nothing", found)
		}
	}
	subject := b
	if c.with != nil {
		subject = c.with
	} else {
		c.spoil()
	}
	found := ask(subject)
	hit := slices.IndexFunc(found, func(f farm.Finding) bool {
		return strings.Contains(f.Text, c.want) && f.Severity == c.severity && f.Remedy != "" && f.Subject != ""
	})
	if hit < 0 || len(found) > 2 && !c.plain {
		t.Errorf("found %v, want a %s that says %q", found, c.severity, c.want)
	}
	if c.with == nil {
		c.mend()
	}
}

// The sides of a pair that nothing is wrong with: what a whole survey asks of two servers alone.
func TestDomainQuestionSpeaks(t *testing.T) {
	t.Parallel() // it mostly waits
	a := mariadbtest.Start(t, "a", "--gtid-domain-id=7")
	b := mariadbtest.Start(t, "b", "--gtid-domain-id=7")
	s := &survey{r: &replacement{}, old: peerOf(t, a).facts, twin: peerOf(t, b).facts}
	found, err := checkDomains(t.Context(), s)
	if err != nil || len(found) != 1 || found[0].Severity != farm.Blocker || !strings.Contains(found[0].Text, "GTID domain 7, as ") {
		t.Errorf("found %v %v", found, err)
	}
}

// Servers of two series, as their versions say: no second series is at hand.
func TestFlavorQuestionSpeaks(t *testing.T) {
	t.Parallel() // it mostly waits
	a := mariadbtest.Start(t, "a")
	s := &survey{r: &replacement{}, old: peerOf(t, a).facts, twin: peerOf(t, a).facts}
	if found, err := checkFlavor(t.Context(), s); err != nil || len(found) > 0 {
		t.Errorf("of one series: %v %v", found, err)
	}
	s.old.Flavor.Minor++
	if found, err := checkFlavor(t.Context(), s); err != nil || len(found) != 1 || !strings.Contains(found[0].Remedy, "one series") {
		t.Errorf("of two series: %v %v", found, err)
	}
}

// TestSixCascadesAreAllNamed: a list of six was cut to three, in --json too.
func TestSixCascadesAreAllNamed(t *testing.T) {
	t.Parallel() // it mostly waits
	a := mariadbtest.Start(t, "a")
	a.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.p (id INT PRIMARY KEY)")
	for n := range 6 {
		a.Exec(t, fmt.Sprintf("CREATE TABLE d.c%d (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES d.p (id) ON DELETE CASCADE)", n))
	}
	found, err := askCascades(t.Context(), peerOf(t, a), farm.Note)
	if err != nil || len(found) != 1 || len(found[0].Names) != 6 || !strings.Contains(found[0].Text, "and 3 more") {
		t.Errorf("found %+v %v", found, err)
	}
	raw, err := json.Marshal(found)
	if err != nil || strings.Count(string(raw), "d/c5 ") != 1 {
		t.Errorf("%s %v", raw, err)
	}
}
