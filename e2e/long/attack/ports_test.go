// Package attack plays, beside moves with agents, somebody who is on a machine of the farm without rights there, and somebody who
// holds a host's certificate.
package attack

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/mysql"
)

// Every port that a process of a move with agents or of a recording has open at any time is known here, and gives nobody nothing:
// on the machine itself, and from any other.
func TestEveryPortOfAgentsAndRecordingsGivesNobodyNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: another user against the ports of agents (needs root)")
	}
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 1, 50)
	l := &lookout{t: t, f: f, dir: farmtest.OpenToNobody(t), met: map[string]farmtest.Socket{}, stop: make(chan struct{}), done: make(chan struct{})}
	go l.watch()
	// On a farm that nobody uses a window may catch nothing, which is a finding.
	ended(t, "recording", farmtest.RunProgram(t, "", "digest", "record", "-C", f.Dir, "--for", "2s", "--save", "alone", "--max-running", "0", "--max-lag", "0", "--reserve", "1MB"), farmtest.ExitFindings)
	ended(t, "move", f.During("seed", f.RecordBoth))
	close(l.stop)
	<-l.done
	for _, want := range []string{"agent", "stowage-engine", "mariadbd"} {
		if n := l.count(want); n < map[string]int{"agent": 4, "stowage-engine": 3, "mariadbd": 4}[want] {
			t.Errorf("only %d ports of %s were seen: %v", n, want, l.met)
		}
	}
	f.CheckWhole()
}

func ended(t *testing.T, what string, p farmtest.Program, also ...int) {
	t.Helper()
	if p.Code != farmtest.ExitFine && !slices.Contains(also, p.Code) {
		t.Errorf("%s: exit %d\n%s%s", what, p.Code, p.Stdout, p.Stderr)
	}
}

// lookout lists ports for as long as it is let, and has each attacked as soon as it is there.
type lookout struct {
	t          *testing.T
	f          *farmtest.NetFarm
	dir        string
	met        map[string]farmtest.Socket
	stop, done chan struct{}
}

func (l *lookout) watch() {
	defer close(l.done)
	for {
		all, err := farmtest.Sockets(l.f.Dir)
		if err != nil {
			l.t.Error(err)
		}
		for _, s := range all {
			key := fmt.Sprint(s.What, " ", s.Net, " ", s.Addr)
			if _, known := l.met[key]; known {
				continue
			}
			l.met[key] = s
			l.meet(s)
		}
		select {
		case <-l.stop:
			return
		case <-time.After(150 * time.Millisecond):
		}
	}
}

func (l *lookout) count(what string) (n int) {
	for _, s := range l.met {
		if s.What == what {
			n++
		}
	}
	return n
}

// meet attacks a port, or says that nobody knows it.
func (l *lookout) meet(s farmtest.Socket) {
	home, machine := l.machineOf(s.Addr.Addr())
	gateway, _, _ := strings.Cut(l.f.EngineAddress(), ":")
	mine := []string{"accounts.cnf", ".stowage/engine.db", ".stowage/engine.key", ".stowage/engine.db.key", ".stowage/certificates/ca.key", ".stowage/certificates/controller", ".stowage/record"}
	switch {
	case s.Net != "tcp":
	case s.What == "agent" && machine && s.Addr.Port() == 7234:
		data := filepath.Join(l.f.Dir, "agent-"+string(home))
		farmtest.AsNobody(l.t, l.dir, []string{s.Addr.String()}, []string{data + "/audit.jsonl", data + "/lock", fmt.Sprintf("/proc/%d/environ", s.PID)}, l.f.Hosts[home].Do)
		farmtest.AsNobody(l.t, l.dir, []string{s.Addr.String()}, nil, nil)
		return
	case s.What == "stowage-engine" && s.Addr.Addr().String() == gateway && s.Addr.Port() == 7233:
		farmtest.AsNobody(l.t, l.dir, []string{s.Addr.String()}, l.paths(mine), nil)
		farmtest.AsNobody(l.t, l.dir, []string{s.Addr.String()}, nil, l.f.Hosts["old1"].Do)
		return
	case s.What == "stowage-engine" && s.Addr.Addr().IsLoopback():
		farmtest.AsNobody(l.t, l.dir, []string{s.Addr.String()}, l.paths(mine), nil)
		return
	case s.What == "mariadbd" && machine:
		l.login(s.Addr)
		return
	}
	l.t.Errorf("%s (process %d) has %s %s open, which this test does not know", s.What, s.PID, s.Net, s.Addr)
}

func (l *lookout) machineOf(ip netip.Addr) (farm.HostName, bool) {
	for name, m := range l.f.Hosts {
		if m.Address == ip.String() {
			return name, true
		}
	}
	return "", false
}

func (l *lookout) paths(below []string) (out []string) {
	for _, p := range below {
		out = append(out, filepath.Join(l.f.Dir, p))
	}
	return out
}

// login: no account of a server is open.
func (l *lookout) login(a netip.AddrPort) {
	for _, name := range []string{"root", "", "stowage", "replication", "mysql"} {
		server := mysql.Open("attacked", a.String(), mysql.Account{User: name}, farmtest.QuietLog())
		_, err := server.Replication(l.t.Context())
		for end := time.Now().Add(time.Minute); err != nil && strings.Contains(err.Error(), syscall.ECONNREFUSED.Error()) && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			_, err = server.Replication(l.t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "denied") {
			l.t.Errorf("%s as %q without a password: %v", a, name, err)
		}
		server.Close()
	}
}
