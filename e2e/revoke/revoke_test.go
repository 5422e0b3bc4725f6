// Package revoke runs the built programs: what people see when a host is revoked.
package revoke

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/host"
	"stowage/internal/heard"
	"stowage/internal/turns"
)

const farmText = `agents: {engine: %q}
farm: small
next_server_id: 1003
accounts: accounts.cnf
host_types:
  box: {cores: 16, memory: 96GiB, disk: 2TB, iops: 1800, network: 1Gbit}
hosts:
  - {name: db001, type: box, address: 127.0.0.1}
  - {name: db002, type: box, address: 127.0.0.2}
pairs:
  - name: s1
    topology: active-active
    sides:
      A: {host: db001, port: 3306, datadir: /srv/s1a/data, config: /srv/s1a/my.cnf}
      B: {host: db002, port: 3306, datadir: /srv/s1b/data, config: /srv/s1b/my.cnf}
    shards:
      - {name: one, disk: 48GB, growth: 40MB/day, memory: 4GB, cpu: 0.07, iops: 55}
`

type site struct {
	t           *testing.T
	dir, engine string
}

func newSite(t *testing.T) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t, t.TempDir(), l.Addr().String()}
	l.Close()
	if err := os.Chmod(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"farm.yaml": fmt.Sprintf(farmText, s.engine), "accounts.cnf": "[client]\nuser=nobody\npassword=x\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/stowage")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + "-engine"} {
		if _, err := os.Stat(p); err != nil {
			t.Fatalf("%s is missing: make build makes it", p)
		}
	}
	return path
}

// run runs a verb and gives what it said and its exit code.
func (s *site) run(args ...string) (said string, code int) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), binary(s.t), append(args, "-C", s.dir)...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// want runs a verb that must end with a code and say these words.
func (s *site) want(code int, words []string, args ...string) string {
	s.t.Helper()
	said, got := s.run(args...)
	if got != code {
		s.t.Fatalf("%v: exit code %d, want %d\n%s", args, got, code, said)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			s.t.Errorf("%v does not say %q:\n%s", args, w, said)
		}
	}
	return said
}

// agent starts the agent of a host, until stop is called.
func (s *site) agent(name string) (stop func()) {
	s.t.Helper()
	log := &heard.Log{}
	cmd := exec.Command(binary(s.t), "agent", "--host", name, "--engine", s.engine, "--listen", "127.0.0.1:0",
		"--data", filepath.Join(s.dir, "data-"+name), "--certificates", filepath.Join(s.dir, ".stowage/certificates/hosts", name))
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
			ended = true
		}
	}
	s.t.Cleanup(func() {
		stop()
		if s.t.Failed() {
			s.t.Logf("agent of %s said:\n%s", name, log)
		}
	})
	return stop
}

// A host is revoked, shown as such wherever people look, and comes back only
// when somebody asks for it by its name.
func TestHostIsRevokedAndComesBack(t *testing.T) {
	turns.One(t, 6)
	if _, err := host.NewLocal(slog.New(slog.DiscardHandler)); err != nil {
		t.Skipf("NOT TESTED: agents: %v", err)
	}
	s := newSite(t)
	s.want(2, []string{"certs"}, "agent", "revoke", "db001") // nothing was made yet
	s.want(0, nil, "agent", "certs")
	s.want(2, []string{"no certificate was ever made"}, "agent", "revoke", "db003")
	s.want(2, nil, "agent", "revoke")
	s.agent("db001")
	stop := s.agent("db002")
	before := s.want(0, []string{"db001", "db002", "(729 days)"}, "agent", "status")
	if strings.Contains(before, "SOON") || strings.Contains(before, "REVOKED") {
		t.Errorf("before:\n%s", before)
	}

	s.want(0, []string{"db002: revoked", "made for it: 1 (", "disk sold"}, "agent", "revoke", "db002", "--reason", "disk sold")
	var said struct {
		Host         string
		Added        int
		Certificates []struct{ Serial, Reason string }
	}
	raw := s.want(0, nil, "agent", "revoke", "db002", "--json")
	if err := json.Unmarshal([]byte(raw), &said); err != nil || said.Host != "db002" || said.Added != 0 || len(said.Certificates) != 1 || said.Certificates[0].Reason != "disk sold" {
		t.Errorf("a second time: %v\n%s", err, raw)
	}
	began := time.Now()
	s.want(1, []string{"REVOKED since", "disk sold", "(729 days)"}, "agent", "status")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("status waited %v for a host that it does not ask", took)
	}
	ca := filepath.Join(s.dir, ".stowage/certificates/ca.key")
	if err := os.Rename(ca, ca+".away"); err != nil {
		t.Fatal(err)
	}
	s.want(0, []string{"nothing new to revoke"}, "agent", "revoke", "db002") // also where the authority's key is kept elsewhere
	if err := os.Rename(ca+".away", ca); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(s.dir, ".stowage/certificates/revoked"))
	if err != nil {
		t.Fatal(err)
	}
	if told, err := os.ReadFile(filepath.Join(s.dir, "data-db001/revoked")); err != nil || !bytes.Equal(told, list) {
		t.Errorf("the other agent was told %q, %v; the list is %q", told, err, list)
	}
	s.want(0, []string{"REVOKED: stowage agent certs --renew db002"}, "agent", "certs")
	s.want(0, []string{"REVOKED"}, "agent", "certs", "--renew")
	s.want(0, []string{"new"}, "agent", "certs", "--renew", "db002")
	stop()
	s.agent("db002")
	// db001 and this program have been renewed as well, by the one without a name; agents read at their start.
	if said := s.want(0, []string{"(729 days)"}, "agent", "status"); strings.Contains(said, "REVOKED") {
		t.Errorf("with a new certificate:\n%s", said)
	}
}

// Somebody looks for what may happen to him before it does.
func TestHelpOfRevoke(t *testing.T) {
	said := newSite(t).want(0, []string{"--reason", "Exit codes:", "Examples:"}, "agent", "revoke", "--help")
	if strings.Index(said, "Exit codes:") < strings.Index(said, "--reason") {
		t.Errorf("exit codes and examples come last:\n%s", said)
	}
}
