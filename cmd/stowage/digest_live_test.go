package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/digest"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// remembering is a server that remembers statements; history also single ones.
func remembering(t *testing.T, name string, history bool) *mariadbtest.Instance {
	t.Helper()
	options := []string{"--log-output=TABLE", "--slow-query-log=1", "--long-query-time=0", "--performance-schema=ON", "--performance-schema-digests-size=1000"}
	if history {
		options = append(options, "--performance-schema-consumer-events-statements-current=ON", "--performance-schema-consumer-events-statements-history-long=ON")
	}
	i := mariadbtest.Start(t, name, options...)
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB")
	return i
}

// writeRows asks a server n times for the same two classes of statements, stays connected for a while, and waits until the
// server has written all that down.
func writeRows(t *testing.T, i *mariadbtest.Instance, n int, stay time.Duration) {
	t.Helper()
	db := i.DB(t, mariadbtest.App, "d")
	for k := range n {
		for _, q := range []string{"REPLACE INTO t VALUES (%d, 1)", "SELECT v FROM t WHERE id = %d"} {
			rows, err := db.QueryContext(t.Context(), fmt.Sprintf(q, k))
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	time.Sleep(stay)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for i.Value(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'") != "0" {
		time.Sleep(time.Millisecond)
	}
}

// loginFile is an option file for the account stowage of test servers.
func loginFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "my.cnf")
	text := "[client]\nuser=" + string(mariadbtest.Stowage) + "\npassword=" + mariadbtest.Stowage.Password() + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// digestJSON runs `stowage digest --json` with more arguments.
func digestJSON(t *testing.T, arguments ...string) (digest.Report, string) {
	t.Helper()
	var out, said bytes.Buffer
	code := run(t.Context(), append([]string{"digest", "--json", "-C", t.TempDir()}, arguments...), &out, &said, nil)
	var r digest.Report
	if err := json.Unmarshal(out.Bytes(), &r); code != exitFine || err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out.String(), said.String())
	}
	return r, said.String()
}

func classCounts(r digest.Report) map[string]uint64 {
	out := map[string]uint64{}
	for _, c := range r.Classes {
		out[c.Fingerprint] = c.Count
	}
	return out
}

const byAppOnly = "user = app and (verb = select or verb = replace)"

// Tables of two servers and a file of a third are one digest.
func TestDigestReadsServersAndFilesTogether(t *testing.T) {
	a, b := remembering(t, "a", false), remembering(t, "b", false)
	writeRows(t, a, 30, 0)
	writeRows(t, b, 20, 0)
	log := filepath.Join(t.TempDir(), "slow.log")
	text := "# User@Host: app[app] @ web []\n# Query_time: 0.5  Lock_time: 0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795306087;\nSELECT v FROM t WHERE id = 7;\n"
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, said := digestJSON(t, "--instance", a.Address, "--instance", b.Address, "--defaults-file", loginFile(t), "--filter", byAppOnly, log)
	if c := classCounts(r); c["select v from t where id = ?"] != 51 || c["replace into t values(?+)"] != 50 || len(r.Inputs) != 3 {
		t.Errorf("counted %v", c)
	}
	if !strings.Contains(said, "rows of mysql.slow_log (CSV, its times read in time zone SYSTEM") {
		t.Errorf("said %s", said)
	}

	// What performance_schema has added up counts the same statements.
	r, _ = digestJSON(t, "--instance", a.Address, "--instance", b.Address, "--defaults-file", loginFile(t), "--from", "performance_schema", "--filter", "db = d and table = t")
	for _, c := range r.Classes {
		if c.Count != 50 || c.QueryTime.Summed != 50 || !math.IsNaN(c.QueryTime.P95) || c.QueryTime.Min <= 0 || c.QueryTime.Max < c.QueryTime.Min {
			t.Errorf("%+v", c)
		}
	}
	if len(r.Classes) != 2 {
		t.Errorf("%v", classCounts(r))
	}
}

// A window of two servers, one with a history and one with sums only: every statement is counted, and none twice. The
// second is then compared with itself.
func TestDigestReadsAWindow(t *testing.T) {
	turns.One(t, 6)
	single, summed := remembering(t, "single", true), remembering(t, "summed", false)
	writeRows(t, single, 50, 0) // before the window
	writeRows(t, summed, 50, 0)
	saved := filepath.Join(t.TempDir(), "summed.digest")
	began := time.Now()
	var running sync.WaitGroup
	var r digest.Report
	var said string
	window := []string{"--defaults-file", loginFile(t), "--from", "performance_schema", "--for", "6s", "--every", "1s"}
	running.Go(func() { r, said = digestJSON(t, append(window, "--instance", single.Address, "--group-by", "user")...) })
	running.Go(func() { digestJSON(t, append(window, "--instance", summed.Address, "--save", saved)...) })
	time.Sleep(2500 * time.Millisecond) // the windows begin within a second of their connection
	writeRows(t, summed, 40, 0)
	writeRows(t, single, 40, 1200*time.Millisecond) // the history is read every second at least, and asks who it was
	worked := time.Since(began)
	running.Wait()
	if worked > 6*time.Second {
		t.Skipf("NOT TESTED: this machine took %s for work of a moment, which the window may have missed", worked)
	}
	if c := classCounts(r); c["app"] != 80 || len(r.Inputs[0].Skipped) != 0 || r.Inputs[0].Type != "performance_schema.events_statements_history_long" {
		t.Errorf("counted %v, input %+v\n%s", c, r.Inputs, said)
	}
	for _, c := range r.Classes {
		if c.Fingerprint == "app" && (math.IsNaN(c.QueryTime.P95) || c.FirstSeen.Before(began) || c.LastSeen.After(time.Now())) {
			t.Errorf("%+v", c)
		}
	}
	r, _ = digestJSON(t, saved)
	if c := classCounts(r); c["replace into `t` values (...)"] != 40 || r.Classes[0].QueryTime.Summed != r.Classes[0].Count || !math.IsNaN(r.QueryTime.P99) {
		t.Errorf("counted %v, %+v", c, r.QueryTime)
	}
	if r.BlockSeconds != 1 || r.FirstSeen.Before(began) {
		t.Errorf("blocks of %d s from %s", r.BlockSeconds, r.FirstSeen)
	}
	var out, faults bytes.Buffer
	if code := run(t.Context(), []string{"digest", "compare", "-C", t.TempDir(), saved, saved}, &out, &faults, nil); code != exitFine || !strings.Contains(out.String(), "inconclusive") {
		t.Errorf("exit code %d\n%s%s", code, out.String(), faults.String())
	}
}

func TestLiveDigestSaysWhatItCannot(t *testing.T) {
	i := remembering(t, "a", false)
	off := mariadbtest.Start(t, "off")
	login := loginFile(t)
	for _, tt := range []struct{ arguments, says string }{
		{"--from performance_schema --group-by user --instance " + i.Address, "do not say which user"},
		{"--from performance_schema --since 2026-01-01 --instance " + i.Address, "cannot be cut by since or until"},
		{"--from performance_schema --for 1s --every 1s --group-by user --instance " + i.Address, "events_statements_current is off"},
		{"--from performance_schema --instance " + off.Address, "set performance_schema=ON"},
		{"--from slow_log --for 5s --instance " + i.Address, "--for needs --from performance_schema"},
		{"--from elsewhere --instance " + i.Address, "give slow_log, general_log, performance_schema or processlist"},
		{"--instance dbshard001a", "it is not a host:port"},
		{"--instance 127.0.77.255:1", "is the instance running"},
	} {
		var out, said bytes.Buffer
		arguments := append([]string{"digest", "-C", t.TempDir(), "--defaults-file", login}, strings.Fields(tt.arguments)...)
		if code := run(context.Background(), arguments, &out, &said, nil); code == exitFine || !strings.Contains(said.String(), tt.says) {
			t.Errorf("%s: exit code %d\n%s", tt.arguments, code, said.String())
		}
	}
	var out, said bytes.Buffer
	if code := run(t.Context(), []string{"digest", "-C", t.TempDir(), "--defaults-file", login, "--instance", off.Address}, &out, &said, nil); code != exitFine ||
		!strings.Contains(said.String(), "nothing is being written to mysql.slow_log: log_output is FILE") {
		t.Errorf("an empty table: exit code %d\n%s", code, said.String())
	}
}

// Executions of prepared statements are in no row of performance_schema's sums on MariaDB 10.11, and nothing said so.
func TestDigestSaysThatPreparedStatementsAreNotSeen(t *testing.T) {
	i := remembering(t, "prepared", false)
	db := i.DB(t, mariadbtest.App, "d")
	prepared, err := db.Prepare("SELECT v FROM t WHERE id = ?")
	if err != nil {
		t.Fatal(err)
	}
	for k := range 50 {
		rows, err := prepared.Query(k)
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r, said := digestJSON(t, "--instance", i.Address, "--defaults-file", loginFile(t), "--from", "performance_schema")
	if !strings.Contains(said, "50 of ") || !strings.Contains(said, "--from slow_log") {
		t.Errorf("said %s", said)
	}
	for _, s := range r.Inputs[0].Skipped {
		if s.Reason == skipPrepared && s.Count == 50 {
			return
		}
	}
	t.Errorf("skipped %+v", r.Inputs[0].Skipped)
}

// Statements that take long are seen in the list of processes, on a server that logs nothing, with about the time they took.
func TestDigestReadsTheListOfProcesses(t *testing.T) {
	i := mariadbtest.Start(t, "processes")
	db := i.DB(t, mariadbtest.App, "")
	done := make(chan error, 2)
	go func() {
		time.Sleep(300 * time.Millisecond)
		for range 2 {
			_, err := db.ExecContext(t.Context(), "SELECT SLEEP(0.7)")
			done <- err
		}
	}()
	r, said := digestJSON(t, "--instance", i.Address, "--defaults-file", loginFile(t), "--from", "processlist", "--for", "2500ms", "--filter", "user = app")
	if err := errors.Join(<-done, <-done); err != nil {
		t.Fatal(err)
	}
	if len(r.Classes) != 1 || r.Classes[0].Count != 2 || r.Classes[0].Fingerprint != "select sleep(?)" || r.Classes[0].QueryTime.Sum < 0.9 || r.Classes[0].QueryTime.Sum > 1.5 || !strings.Contains(said, "too low") {
		t.Errorf("%+v\n%s", r.Classes, said)
	}
}
