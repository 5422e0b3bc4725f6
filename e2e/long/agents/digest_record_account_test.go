package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/internal/mariadbtest"
)

// A host that records its servers learns the account of [record], or the one for this host alone, which may record and nothing
// else. (It learned [stowage], which is the farm.)
func TestAgentsThatRecordDoNotLearnStowagesAccount(t *testing.T) {
	r := startFarRecorded(t)
	groups := "[record]\nuser=record\npassword=record-canary\n[record@h2]\nuser=record_h2\npassword=h2-canary\n"
	f, err := os.OpenFile(filepath.Join(r.Dir, "accounts.cnf"), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(groups)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []*mariadbtest.Instance{r.A, r.B} {
		user, password := "record", "record-canary"
		if i == r.B {
			user, password = "record_h2", "h2-canary"
		}
		i.Exec(t, "SET SESSION sql_log_bin=0", "CREATE USER "+user+"@'%' IDENTIFIED BY '"+password+"'", "GRANT SUPER, PROCESS, REPLICA MONITOR ON *.* TO "+user+"@'%'")
	}
	x := r.record("--for", "3s", "--save", "own")
	for h, want := range map[string]string{"h1": "record-canary", "h2": "h2-canary"} {
		texts := r.within("agent-" + h)
		if !strings.Contains(texts, want) {
			t.Errorf("%s does not keep the login %s while settings are changed", h, want)
		}
		if strings.Contains(texts, mariadbtest.Stowage.Password()) || want == "record-canary" && strings.Contains(texts, "h2-canary") || want == "h2-canary" && strings.Contains(texts, "record-canary") {
			t.Errorf("%s has learned another account than its own", h)
		}
	}
	r.ask(r.A, 3, "counted")
	r.ask(r.B, 3, "counted")
	if code, s := x.end(); code != farmtest.ExitFine || len(s.Instances) != 2 {
		t.Errorf("exit %d, %+v\n%s", code, s, &x.err)
	}
	if n := r.kept("own", "counted"); n != 6 {
		t.Errorf("%d of 6 statements were recorded", n)
	}
	r.asBeforeSoon("after a recording with an account of its own")
	if strings.Contains(x.err.String(), "learn the password") {
		t.Errorf("it warns of the account that it has not used:\n%s", &x.err)
	}
}

// Without [record] people are told what the hosts learn, and from the network hosts learn nothing.
func TestRecordingFromTheNetworkGivesHostsNoLogin(t *testing.T) {
	r := startFarRecorded(t)
	x := r.begin("--for", "1s", "--save", "log")
	if code, _ := x.end(); code != farmtest.ExitFine || !strings.Contains(x.err.String(), "learn the password of "+string(mariadbtest.Stowage)) {
		t.Errorf("exit %d\n%s", code, &x.err)
	}
	for _, i := range []*mariadbtest.Instance{r.A, r.B} {
		i.Exec(t, "SET GLOBAL log_output = 'FILE', GLOBAL general_log = 1")
	}
	x = r.begin("--for", "2s", "--save", "wire", "--from", "network")
	if code, s := x.end(); code != farmtest.ExitFine || len(s.Instances) != 2 {
		t.Errorf("exit %d, %+v\n%s", code, s, &x.err)
	}
	for _, i := range []*mariadbtest.Instance{r.A, r.B} {
		raw, err := os.ReadFile(filepath.Join(i.Datadir, i.Value(t, "SELECT @@GLOBAL.general_log_file")))
		i.Exec(t, "SET GLOBAL general_log = 0")
		if err != nil || strings.Contains(string(raw), "PROCESSLIST") {
			t.Errorf("%s: a host logged in with an account of its controller: %v\n%s", i.Name, err, raw)
		}
	}
}

// within is all that is below a directory of the workspace just now.
func (r *farRecorded) within(dir string) string {
	var all strings.Builder
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && !strings.Contains(all.String(), "canary"); time.Sleep(20 * time.Millisecond) {
		all.Reset()
		_ = filepath.WalkDir(filepath.Join(r.Dir, dir), func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				raw, _ := os.ReadFile(path)
				all.Write(raw)
			}
			return nil
		})
	}
	return all.String()
}
