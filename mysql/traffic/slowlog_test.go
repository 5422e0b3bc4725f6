package traffic

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

func slowLog(t *testing.T, s *mysql.Server) *SlowLog {
	t.Helper()
	l, err := OpenSlowLog(t.Context(), s)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// The settings that a plan makes let every statement of a new client into the
// log, once, and nothing of ours; set back, everything is as it was. None of
// it is in the binary log.
func TestSlowLogPlanIsWholeAndReversible(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "slow", "--log-slow-filter=full_scan,not_using_index", "--log-slow-rate-limit=7", "--long-query-time=3.5",
		"--min-examined-row-limit=9", "--log-output=TABLE", "--log-slow-disabled-statements=admin", "--log-slow-verbosity=full")
	before := allVariables(t, i)
	log := filepath.Join(i.Datadir, "ours.log")
	l := slowLog(t, s)
	written := mysqltest.Position(t, s).String()
	plan, err := l.Plan(t.Context(), log, 1)
	must(t, err)
	for _, p := range plan {
		must(t, l.Set(t.Context(), p.Name, p.Ours))
	}
	again, err := l.Plan(t.Context(), log, 1)
	must(t, err)
	if len(again) > 0 {
		t.Errorf("after setting everything there is still to set: %+v", again)
	}
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)", "SELECT * FROM d.t WHERE id = 1", "ALTER TABLE d.t ADD v INT")
	_, err = l.Running(t.Context())
	must(t, err)
	text := logWith(t, log, "ALTER TABLE d.t ADD v INT")
	for _, want := range []string{"CREATE DATABASE d", "INSERT d.t VALUES (1)", "SELECT * FROM d.t WHERE id = 1", "ALTER TABLE d.t ADD v INT"} {
		if n := strings.Count(text, want); n != 1 {
			t.Errorf("%q is in the log %d times, want once\n%s", want, n, text)
		}
	}
	for _, ours := range []string{"SET GLOBAL", "SHOW GLOBAL", "long_query_time"} {
		if strings.Contains(text, ours) {
			t.Errorf("a statement of our own is in the log: %s", text)
		}
	}
	i.Exec(t, "DROP DATABASE d")
	for n := len(plan) - 1; n >= 0; n-- {
		must(t, l.Set(t.Context(), plan[n].Name, plan[n].Old))
	}
	for name, now := range allVariables(t, i) {
		if now != before[name] {
			t.Errorf("%s was %q, is %q", name, before[name], now)
		}
	}
	if raw, err := os.ReadFile(lastBinlog(t, i)); err != nil || strings.Contains(string(raw), "slow_query_log") || written == mysqltest.Position(t, s).String() {
		t.Errorf("the binary log holds our settings, or this test looked at the wrong one: %v", err)
	}
}

// logWith reads a log once it has the statement: a server writes it after it
// has answered.
func logWith(t *testing.T, path, statement string) string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(path)
		must(t, err)
		if strings.Contains(string(text), statement) {
			return string(text)
		}
		if time.Now().After(end) {
			t.Fatalf("%s never came to hold %q:\n%s", path, statement, text)
		}
	}
}

// allVariables are the global variables but for those that run.
func allVariables(t *testing.T, i *mariadbtest.Instance) map[string]string {
	t.Helper()
	conn, err := i.DB(t, mariadbtest.Stowage, "").Conn(t.Context())
	must(t, err)
	defer conn.Close()
	records, err := mysql.RecordsOn(t.Context(), conn, "SHOW GLOBAL VARIABLES WHERE Variable_name NOT LIKE 'gtid%' AND Variable_name NOT LIKE '%timestamp%'")
	must(t, err)
	out := map[string]string{}
	for _, r := range records {
		out[r["Variable_name"]] = r["Value"]
	}
	if out["long_query_time"] == "" {
		t.Fatal("no variables were read")
	}
	return out
}

func lastBinlog(t *testing.T, i *mariadbtest.Instance) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(i.Datadir, "bl.0*"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no binary log: %v", err)
	}
	return all[len(all)-1]
}

func TestSlowLogNamesThePrivilege(t *testing.T) {
	t.Parallel() // it mostly waits
	i, _ := start(t, "poor")
	for _, tt := range []struct{ grants, want string }{
		{"PROCESS", "lacks the privilege SUPER"},
		{"SUPER", "lacks the privilege PROCESS"},
		{"SUPER, PROCESS", ""},
	} {
		i.Exec(t, "CREATE OR REPLACE USER poor@'%' IDENTIFIED BY 'p'", "GRANT "+tt.grants+" ON *.* TO poor@'%'")
		s := mysql.Open("poor", i.Address, mysql.Account{User: "poor", Password: "p"}, quiet)
		t.Cleanup(func() { s.Close() })
		err := slowLog(t, s).MayRecord(t.Context())
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("with %s: %v", tt.grants, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, farm.ErrInput)):
			t.Errorf("with %s: %v, want %q", tt.grants, err, tt.want)
		}
	}
}

// A session that was cut off connects again, and is as quiet as before.
func TestSlowLogComesBack(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "cut", "--slow-query-log=1", "--long-query-time=0", "--slow-query-log-file=slow.log")
	l := slowLog(t, s)
	was := l.Thread()
	i.Exec(t, "KILL "+i.Value(t, "SELECT ID FROM information_schema.PROCESSLIST WHERE ID = ?", was))
	if _, err := l.Running(t.Context()); err != nil || l.Thread() == was {
		t.Fatalf("thread %d, then %d: %v", was, l.Thread(), err)
	}
	_, err := l.Uptime(t.Context())
	must(t, err)
	text := logWith(t, filepath.Join(i.Datadir, "slow.log"), "KILL")
	if strings.Contains(text, "SHOW GLOBAL STATUS") {
		t.Errorf("the log should hold the test's statements and none of ours:\n%s", text)
	}
}

func TestSlowLogCounts(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "count")
	source := mariadbtest.Start(t, "source")
	must(t, s.Follow(t.Context(), source.Address, mysqltest.Account(mariadbtest.Repl), patience))
	l := slowLog(t, s)
	db := i.DB(t, mariadbtest.App, "")
	must(t, db.Ping())
	sessions, err := l.ClientSessions(t.Context())
	must(t, err)
	self, err := l.Self(t.Context())
	must(t, err)
	from := 0
	for _, x := range sessions {
		if strings.HasPrefix(x.Host, "127.") && x.Host != self {
			from++
		}
	}
	if from != 1 || len(sessions) != 1 {
		t.Errorf("sessions %+v, self %s; want the app's and neither our own nor replication's", sessions, self)
	}
	n, err := l.Running(t.Context())
	must(t, err)
	up, err := l.Uptime(t.Context())
	must(t, err)
	lag, err := l.Lag(t.Context())
	must(t, err)
	if n < 1 || up < 0 || lag != 0 {
		t.Errorf("running %d, up %v, lag %v", n, up, lag)
	}
}

func TestSameSetting(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"0", "0.000000", true}, {"10.000000", "10", true}, {"0", "0.5", false}, {"ON", "on", true},
		{"slave,sp", "sp,slave", true}, {"", "sp", false}, {"", "", true}, {"FILE", "FILE,TABLE", false}, {"a.log", "b.log", false},
	} {
		if got := SameSetting(tt.a, tt.b); got != tt.same {
			t.Errorf("SameSetting(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

// Who is connected already keeps the values of before, unless there is nothing
// to change but the file.
func TestSlowLogMisses(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, tt := range []struct {
		options []string
		want    bool
	}{
		{[]string{"--slow-query-log=0"}, true},
		{[]string{"--slow-query-log=1", "--long-query-time=2"}, true},
		{[]string{"--slow-query-log=1", "--long-query-time=0", "--log-slow-disabled-statements=sp"}, false},
		{[]string{"--slow-query-log=1", "--long-query-time=0", "--log-slow-disabled-statements=admin,sp"}, true},
	} {
		_, s := start(t, "misses", tt.options...)
		l := slowLog(t, s)
		plan, err := l.Plan(t.Context(), "x", 1)
		must(t, err)
		if got := l.Misses(plan); got != tt.want {
			t.Errorf("%v: misses %v, want %v (plan %+v)", tt.options, got, tt.want, plan)
		}
	}
}

func TestSlowLogSetsNothingElse(t *testing.T) {
	t.Parallel() // it mostly waits
	_, s := start(t, "else")
	if err := slowLog(t, s).Set(t.Context(), "max_connections", "1"); !errors.Is(err, farm.ErrInput) {
		t.Errorf("got %v, want a refusal", err)
	}
}
