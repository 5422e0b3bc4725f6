package record

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/internal/mariadbtest"
	"stowage/record"
)

// The program is killed with kill -9 before and after every step, as
// record.Points lists them for this server. Then, in turns, --restore or the
// next recording puts everything back.
func TestRecordKilledAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a recording")
	}
	r := farmtest.StartRecorded(t)
	defer r.Load(r.A)()
	before := r.A.Value(t, farmtest.SlowSettings)
	for n, point := range record.Points(r.Plan()) {
		args := []string{"digest", "record", "p1a", "-C", r.Dir, "--save", "x", "--reserve", "1MB", "--max-running", "0"}
		long := append(args, "--for", "20s", "--piece", "10kB")
		if !strings.HasSuffix(point, " rotate") {
			long = append(args, "--for", "1ms")
		}
		p := farmtest.RunProgram(t, "stowage @ "+point, long...)
		if p.Code != -1 || !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
			t.Fatalf("never killed at %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
		if n%2 == 0 {
			p = farmtest.RunProgram(t, "", "digest", "record", "--restore", "-C", r.Dir, "--json")
		} else {
			p = farmtest.RunProgram(t, "", append(args, "--for", "1ms")...)
		}
		// In a millisecond the pool, connected before the window, may have logged nothing.
		if idle := p.Code == 1 && strings.Contains(p.Stdout, "nothing was recorded"); p.Code != 0 && !idle {
			t.Fatalf("after a kill at %q: exit %d\n%s%s", point, p.Code, p.Stdout, p.Stderr)
		}
		r.AsBefore(r.A, before, "after a kill at "+point)
		if t.Failed() {
			return
		}
	}
}

// A recording that was killed is spoken of by every digest of the workspace
// until it is put back, and a change made by a person in between stays.
func TestRecordLeftBehindIsSaid(t *testing.T) {
	r := farmtest.StartRecorded(t)
	before := r.A.Value(t, farmtest.SlowSettings)
	log := filepath.Join(r.Dir, "some.log")
	if err := os.WriteFile(log, []byte("# Time: 261121 10:00:00\n# User@Host: app[app] @ h []\n# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795000000;\nSELECT 1;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	digest := func() string { return farmtest.RunProgram(t, "", "digest", log, "-C", r.Dir).Stderr }
	if said := digest(); strings.Contains(said, "warning") {
		t.Errorf("nothing is left, and yet: %s", said)
	}
	p := farmtest.RunProgram(t, "stowage @ after open", "digest", "record", "p1a", "-C", r.Dir, "--save", "x", "--for", "1ms", "--reserve", "1MB")
	if p.Code != -1 {
		t.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
	if said := digest(); !strings.Contains(said, "p1a") || !strings.Contains(said, "--restore") {
		t.Errorf("it is not said: %s", said)
	}
	r.A.Exec(t, "SET GLOBAL long_query_time = 1.25")
	p = farmtest.RunProgram(t, "", "digest", "record", "--restore", "-C", r.Dir)
	if p.Code != 0 || !strings.Contains(p.Stdout, "long_query_time was changed by someone") {
		t.Errorf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	if got := r.A.Value(t, "SELECT FORMAT(@@GLOBAL.long_query_time, 2)"); got != "1.25" {
		t.Errorf("long_query_time is %s", got)
	}
	r.A.Exec(t, "SET GLOBAL long_query_time = 3.5")
	r.AsBefore(r.A, before, "restored")
	if said := digest(); strings.Contains(said, "warning") {
		t.Errorf("all is put back, and yet: %s", said)
	}
}

// Ctrl-C ends the window of both servers, puts everything back, and what was
// recorded is kept.
func TestRecordInterrupted(t *testing.T) {
	r := farmtest.StartRecorded(t)
	before := [2]string{r.A.Value(t, farmtest.SlowSettings), r.B.Value(t, farmtest.SlowSettings)}
	cmd := exec.CommandContext(t.Context(), farmtest.LiveProgram(t), "digest", "record", "-C", r.Dir, "--save", "x", "--for", "1h", "--reserve", "1MB", "--filter", "user = app", "--json")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, i := range []*mariadbtest.Instance{r.A, r.B} {
		for end := time.Now().Add(30 * time.Second); i.Value(t, "SELECT @@GLOBAL.slow_query_log") != "1"; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				_ = cmd.Process.Kill()
				t.Fatalf("never began\n%s", errOut.String())
			}
		}
	}
	for n, i := range []*mariadbtest.Instance{r.A, r.B} {
		db := i.DB(t, mariadbtest.App, "")
		for range 5 * (n + 1) {
			if _, err := db.Exec("SELECT 'seen'"); err != nil {
				t.Fatal(err)
			}
		}
		db.Close()
	}
	for n, i := range []*mariadbtest.Instance{r.A, r.B} { // a server writes its line after its answer
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
	var s farmtest.RecordAnswer
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(s.Instances) != 2 || s.Instances[0].Stopped != record.StopInterrupted || s.Instances[1].Events <= s.Instances[0].Events || s.Events != s.Instances[0].Events+s.Instances[1].Events {
		t.Errorf("summary %s", out.String())
	}
	p := farmtest.RunProgram(t, "", "digest", "x", "-C", r.Dir, "--json")
	var kept struct {
		Classes []struct {
			Fingerprint string `json:"fingerprint"`
			Count       int    `json:"count"`
		} `json:"classes"`
	}
	if err := json.Unmarshal([]byte(p.Stdout), &kept); err != nil {
		t.Fatalf("%v\n%s%s", err, p.Stdout, p.Stderr)
	}
	found := false
	for _, c := range kept.Classes {
		found = found || c.Fingerprint == "select ?" && c.Count == 15
	}
	if !found {
		t.Errorf("what was recorded is not kept: %+v", kept)
	}
	r.AsBefore(r.A, before[0], "interrupted")
	r.AsBefore(r.B, before[1], "interrupted")
}

// One of two that cannot be reached does not lose the other.
func TestRecordOneOfTwoFails(t *testing.T) {
	r := farmtest.StartRecorded(t)
	before := r.A.Value(t, farmtest.SlowSettings)
	r.B.Stop(t)
	p := farmtest.RunProgram(t, "", "digest", "record", "-C", r.Dir, "--save", filepath.Join(r.Dir, "x.digest"), "--for", "50ms", "--reserve", "1MB", "--json")
	var s farmtest.RecordAnswer
	if err := json.Unmarshal([]byte(p.Stdout), &s); err != nil {
		t.Fatalf("%v\n%s%s", err, p.Stdout, p.Stderr)
	}
	if p.Code != farmtest.ExitFailed || s.Instances[0].Error != "" || !strings.Contains(s.Instances[1].Error, "p1b") || !strings.Contains(p.Stderr, "1 of 2 instances") {
		t.Errorf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "x.digest")); err != nil {
		t.Error(err)
	}
	r.AsBefore(r.A, before, "beside one that failed")
}
