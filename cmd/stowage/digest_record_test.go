package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/mysql"
	"stowage/record"
)

// recorded is a workspace of two servers with odd settings of the slow log.
type recorded struct {
	t    *testing.T
	dir  string
	a, b *mariadbtest.Instance
}

func startRecorded(t *testing.T) *recorded {
	t.Helper()
	options := []string{"--slow-query-log=0", "--slow-query-log-file=theirs.log", "--long-query-time=3.5", "--log-slow-rate-limit=7", "--min-examined-row-limit=9"}
	r := &recorded{t: t, dir: t.TempDir(), a: mariadbtest.Start(t, "p1a", options...), b: mariadbtest.Start(t, "p1b", options...)}
	file := fmt.Sprintf(`farm: recorded
next_server_id: 1000000
accounts: accounts.cnf
host_types:
  t: {cores: 2}
hosts:
  - {name: h1, type: t, address: %s}
  - {name: h2, type: t, address: %s}
pairs:
  - name: p1
    topology: active-active
    sides:
      A: {host: h1, port: %d, datadir: %s}
      B: {host: h2, port: %d, datadir: %s}
    shards:
      - {name: d}
`, r.a.Host, r.b.Host, r.a.Port, r.a.Datadir, r.b.Port, r.b.Datadir)
	accounts := fmt.Sprintf("[stowage]\nuser=%s\npassword=%s\n[replication]\nuser=%s\npassword=%s\n", mariadbtest.Stowage, mariadbtest.Stowage.Password(), mariadbtest.Repl, mariadbtest.Repl.Password())
	for name, text := range map[string]string{"farm.yaml": file, "accounts.cnf": accounts} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

const slowSettings = `SELECT GROUP_CONCAT(VARIABLE_NAME, '=', VARIABLE_VALUE ORDER BY 1) FROM information_schema.GLOBAL_VARIABLES
	WHERE VARIABLE_NAME LIKE '%SLOW%' OR VARIABLE_NAME IN ('LOG_OUTPUT', 'LONG_QUERY_TIME', 'MIN_EXAMINED_ROW_LIMIT', 'LOG_QUERIES_NOT_USING_INDEXES')`

// asBefore holds settings, files and journals against those of before.
func (r *recorded) asBefore(i *mariadbtest.Instance, before, when string) {
	r.t.Helper()
	if now := i.Value(r.t, slowSettings); now != before {
		r.t.Errorf("%s: the settings of %s were\n%s\nand are\n%s", when, i.Name, before, now)
	}
	if left, _ := filepath.Glob(filepath.Join(i.Datadir, "stowage-record-*")); len(left) > 0 {
		r.t.Errorf("%s: left in the datadir: %v", when, left)
	}
	if left, _ := filepath.Glob(filepath.Join(r.dir, ".stowage/record/*.json")); len(left) > 0 {
		r.t.Errorf("%s: journals are left: %v", when, left)
	}
}

// load sends statements over ever new connections until stopped.
func (r *recorded) load(i *mariadbtest.Instance) (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			db, err := sql.Open("mysql", i.DSN(mariadbtest.App, ""))
			if err != nil {
				return
			}
			for n := 0; n < 20 && err == nil; n++ {
				_, err = db.ExecContext(ctx, fmt.Sprintf("SELECT %d, '%s'", n, strings.Repeat("x", 300)))
			}
			db.Close()
			time.Sleep(time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

// The program is killed with kill -9 before and after every step, as
// record.Points lists them for this server. Then, in turns, --restore or the
// next recording puts everything back.
func TestRecordKilledAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a recording")
	}
	r := startRecorded(t)
	defer r.load(r.a)()
	before := r.a.Value(t, slowSettings)
	for n, point := range record.Points(r.plan()) {
		args := []string{"digest", "record", "p1a", "-C", r.dir, "--save", "x", "--reserve", "1MB", "--max-running", "0"}
		long := append(args, "--for", "20s", "--piece", "10kB")
		if !strings.HasSuffix(point, " rotate") {
			long = append(args, "--for", "1ms")
		}
		p := runProgram(t, "stowage @ "+point, long...)
		if p.code != -1 || !strings.Contains(p.stderr, markOfKill+point) {
			t.Fatalf("never killed at %q: exit %d\n%s", point, p.code, p.stderr)
		}
		if n%2 == 0 {
			p = runProgram(t, "", "digest", "record", "--restore", "-C", r.dir, "--json")
		} else {
			p = runProgram(t, "", append(args, "--for", "1ms")...)
		}
		if p.code != 0 {
			t.Fatalf("after a kill at %q: exit %d\n%s%s", point, p.code, p.stdout, p.stderr)
		}
		r.asBefore(r.a, before, "after a kill at "+point)
		if t.Failed() {
			return
		}
	}
}

// plan is what a recording changes on these servers.
func (r *recorded) plan() []mysql.SlowLogSetting {
	r.t.Helper()
	s := mysql.Open("plan", r.a.Address, mysql.Account{User: string(mariadbtest.Stowage), Password: mariadbtest.Stowage.Password()}, slog.New(slog.DiscardHandler))
	defer s.Close()
	l, err := s.SlowLog(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	defer l.Close()
	plan, err := l.Plan(r.t.Context(), "x", 1)
	if err != nil || len(plan) < 5 {
		r.t.Fatalf("plan %+v: %v", plan, err)
	}
	return plan
}

// A recording that was killed is spoken of by every digest of the workspace
// until it is put back, and a change made by a person in between stays.
func TestRecordLeftBehindIsSaid(t *testing.T) {
	r := startRecorded(t)
	before := r.a.Value(t, slowSettings)
	log := filepath.Join(r.dir, "some.log")
	if err := os.WriteFile(log, []byte("# Time: 261121 10:00:00\n# User@Host: app[app] @ h []\n# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795000000;\nSELECT 1;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	digest := func() string { return runProgram(t, "", "digest", log, "-C", r.dir).stderr }
	if said := digest(); strings.Contains(said, "warning") {
		t.Errorf("nothing is left, and yet: %s", said)
	}
	p := runProgram(t, "stowage @ after open", "digest", "record", "p1a", "-C", r.dir, "--save", "x", "--for", "1ms", "--reserve", "1MB")
	if p.code != -1 {
		t.Fatalf("exit %d\n%s", p.code, p.stderr)
	}
	if said := digest(); !strings.Contains(said, "p1a") || !strings.Contains(said, "--restore") {
		t.Errorf("it is not said: %s", said)
	}
	r.a.Exec(t, "SET GLOBAL long_query_time = 1.25")
	p = runProgram(t, "", "digest", "record", "--restore", "-C", r.dir)
	if p.code != 0 || !strings.Contains(p.stdout, "long_query_time was changed by somebody") {
		t.Errorf("exit %d\n%s%s", p.code, p.stdout, p.stderr)
	}
	if got := r.a.Value(t, "SELECT FORMAT(@@GLOBAL.long_query_time, 2)"); got != "1.25" {
		t.Errorf("long_query_time is %s", got)
	}
	r.a.Exec(t, "SET GLOBAL long_query_time = 3.5")
	r.asBefore(r.a, before, "restored")
	if said := digest(); strings.Contains(said, "warning") {
		t.Errorf("all is put back, and yet: %s", said)
	}
}

// Ctrl-C ends the window of both servers, puts everything back, and what was
// recorded is kept.
func TestRecordInterrupted(t *testing.T) {
	r := startRecorded(t)
	before := [2]string{r.a.Value(t, slowSettings), r.b.Value(t, slowSettings)}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "digest", "record", "-C", r.dir, "--save", "x", "--for", "1h", "--reserve", "1MB", "--filter", "user = app", "--json")
	cmd.Env = append(os.Environ(), playsProgram+"=1")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, i := range []*mariadbtest.Instance{r.a, r.b} {
		for end := time.Now().Add(30 * time.Second); i.Value(t, "SELECT @@GLOBAL.slow_query_log") != "1"; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				_ = cmd.Process.Kill()
				t.Fatalf("never began\n%s", errOut.String())
			}
		}
	}
	for n, i := range []*mariadbtest.Instance{r.a, r.b} {
		db := i.DB(t, mariadbtest.App, "")
		for range 5 * (n + 1) {
			if _, err := db.Exec("SELECT 'seen'"); err != nil {
				t.Fatal(err)
			}
		}
		db.Close()
	}
	for n, i := range []*mariadbtest.Instance{r.a, r.b} { // a server writes its line after its answer
		log := i.Value(t, "SELECT IF(@@slow_query_log_file LIKE '/%', @@slow_query_log_file, CONCAT(@@datadir, @@slow_query_log_file))")
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if raw, err := os.ReadFile(log); err == nil && bytes.Count(raw, []byte("SELECT 'seen'")) >= 5*(n+1) {
				break
			}
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, errOut.String())
	}
	var s recordSummary
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(s.Instances) != 2 || s.Instances[0].Stopped != record.StopInterrupted || s.Instances[1].Events <= s.Instances[0].Events || s.Events != s.Instances[0].Events+s.Instances[1].Events {
		t.Errorf("summary %s", out.String())
	}
	p := runProgram(t, "", "digest", "x", "-C", r.dir, "--json")
	var kept struct {
		Classes []struct {
			Fingerprint string `json:"fingerprint"`
			Count       int    `json:"count"`
		} `json:"classes"`
	}
	if err := json.Unmarshal([]byte(p.stdout), &kept); err != nil {
		t.Fatalf("%v\n%s%s", err, p.stdout, p.stderr)
	}
	found := false
	for _, c := range kept.Classes {
		found = found || c.Fingerprint == "select ?" && c.Count == 15
	}
	if !found {
		t.Errorf("what was recorded is not kept: %+v", kept)
	}
	r.asBefore(r.a, before[0], "interrupted")
	r.asBefore(r.b, before[1], "interrupted")
}

// One of two that cannot be reached does not lose the other.
func TestRecordOneOfTwoFails(t *testing.T) {
	r := startRecorded(t)
	before := r.a.Value(t, slowSettings)
	r.b.Stop(t)
	p := runProgram(t, "", "digest", "record", "-C", r.dir, "--save", filepath.Join(r.dir, "x.digest"), "--for", "50ms", "--reserve", "1MB", "--json")
	var s recordSummary
	if err := json.Unmarshal([]byte(p.stdout), &s); err != nil {
		t.Fatalf("%v\n%s%s", err, p.stdout, p.stderr)
	}
	if p.code != exitFailed || s.Instances[0].Error != "" || !strings.Contains(s.Instances[1].Error, "p1b") || !strings.Contains(p.stderr, "1 of 2 instances") {
		t.Errorf("exit %d\n%s%s", p.code, p.stdout, p.stderr)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "x.digest")); err != nil {
		t.Error(err)
	}
	r.asBefore(r.a, before, "beside one that failed")
}
