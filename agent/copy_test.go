package agent_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stowage/agent"
	"stowage/farm"
	"stowage/host"
	"stowage/host/hosttest"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

const copyOwner = "copytest"

// pairOfHosts is a running source with some rows at one agent, and a claimed place
// with its option file at another.
type pairOfHosts struct {
	*rig
	from, to *agent.Remote
	source   *mariadbtest.Instance
	copy     host.Copy
}

func newPair(t *testing.T) *pairOfHosts {
	t.Helper()
	needsMariaDB(t)
	p := &pairOfHosts{rig: newRig(t)}
	p.source = mariadbtest.Start(t, "source")
	p.source.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(1000)) ENGINE=InnoDB",
		"INSERT INTO d.t SELECT seq, REPEAT(MD5(seq), 20) FROM d.seq_1_to_20000")
	p.from, p.to = p.agent("db001"), p.agent("db002")
	target := hosttest.Place(t, here(t), "target")
	must(t, p.to.Claim(t.Context(), target, copyOwner))
	hosttest.Config(t, p.to, target, p.source, map[string]string{"server_id": "4711", "port": "23306"})
	p.copy = host.Copy{From: p.from, To: p.to, Target: host.Destination{Instance: target},
		Origin: host.Origin{Instance: host.Instance{Name: "source", Address: p.source.Host, Port: p.source.Port, Datadir: p.source.Datadir, Config: p.source.Config},
			Login: host.Login{User: string(mariadbtest.Stowage), Password: mariadbtest.Stowage.Password(), Address: p.source.Address}}}
	return p
}

// finish prepares and starts what was copied, and looks at it.
func (p *pairOfHosts) finish(t *testing.T) {
	t.Helper()
	_, err := p.to.Prepare(t.Context(), p.copy.Target.Instance)
	must(t, err)
	must(t, p.to.Start(t.Context(), p.copy.Target.Instance, hosttest.Patience))
	if got := hosttest.Value(t, p.copy.Target.Instance, "SELECT COUNT(*) FROM d.t"); got != "20000" {
		t.Errorf("the copy has %s rows", got)
	}
}

// A copy goes from agent to agent, with progress and a rate that is changed
// under way, and is as good as one that a pipe made.
func TestCopyFromAgentToAgent(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	p := newPair(t)
	var rate, moved atomic.Int64
	rate.Store(0)
	p.copy.Rate, p.copy.Moved = rate.Load, func(n int64) { moved.Store(n) }
	var total int64
	done := make(chan error, 1)
	go func() {
		out, err := p.copy.Run(t.Context())
		total = out.Bytes
		done <- err
	}()
	time.Sleep(3 * time.Second)
	if n := moved.Load(); n != 0 {
		t.Errorf("held at 0, and %d bytes have gone", n)
	}
	rate.Store(4 << 20)
	start := time.Now()
	for moved.Load() == 0 && time.Since(start) < 3*time.Minute {
		time.Sleep(50 * time.Millisecond)
	}
	if moved.Load() == 0 {
		t.Fatal("let go, and nothing goes")
	}
	rate.Store(-1)
	must(t, <-done)
	if total < 10<<20 || moved.Load() != total {
		t.Errorf("copied %d bytes, told %d", total, moved.Load())
	}
	p.finish(t)
	must(t, p.to.Stop(t.Context(), p.copy.Target.Instance, hosttest.Patience))
	sent := false
	for _, l := range p.auditOf("db001") {
		sent = sent || l["call"] == "send" && l["event"] == "done" && l["peer"] == "db002" && l["bytes"] == float64(total)
	}
	if !sent {
		t.Errorf("the sender's audit log does not tell of the copy: %v", p.auditOf("db001"))
	}
	// The agents' death stops no database.
	must(t, p.to.Start(t.Context(), p.copy.Target.Instance, hosttest.Patience))
	p.again("db002")
	if got := hosttest.Value(t, p.copy.Target.Instance, "SELECT COUNT(*) FROM d.t"); got != "20000" {
		t.Errorf("the copy has %s rows", got)
	}
}

// Whichever end dies in the middle of a copy, it ends with an error and is
// begun again cleanly, with a wipe in between.
func TestCopyIsCut(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	for _, victim := range []farm.HostName{"db001", "db002"} {
		t.Run(string(victim), func(t *testing.T) {
			p := newPair(t)
			var moved atomic.Int64
			p.copy.Rate, p.copy.Moved = func() int64 { return 2 << 20 }, func(n int64) { moved.Store(n) }
			done := make(chan error, 1)
			go func() {
				_, err := p.copy.Run(t.Context())
				done <- err
			}()
			for start := time.Now(); moved.Load() == 0 && time.Since(start) < 30*time.Second; {
				time.Sleep(20 * time.Millisecond)
			}
			p.rig.again(victim)
			err := <-done
			if !errors.Is(err, agent.ErrCut) {
				t.Fatalf("cut, and it says %v", err)
			}
			p.copy.Rate = nil
			must(t, p.to.Wipe(t.Context(), p.copy.Target.Instance, copyOwner))
			_, err = p.copy.Run(t.Context())
			must(t, err)
			p.finish(t)
			must(t, p.to.Stop(t.Context(), p.copy.Target.Instance, hosttest.Patience))
		})
	}
}

// A sender that cannot back up says why, through both agents.
func TestCopySaysWhatTheSenderSays(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	p := newPair(t)
	p.copy.Origin.Login.Password = "wrong"
	_, err := p.copy.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Access denied") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("%v", err)
	}
}

// A program that was killed in the middle of a copy: its successor ends that
// copy before it wipes.
func TestSuccessorEndsTheCopy(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	p := newPair(t)
	var moved atomic.Int64
	p.copy.Rate, p.copy.Moved = func() int64 { return 1 << 20 }, func(n int64) { moved.Store(n) }
	done := make(chan error, 1)
	go func() {
		_, err := p.copy.Run(t.Context())
		done <- err
	}()
	for start := time.Now(); moved.Load() == 0 && time.Since(start) < 30*time.Second; {
		time.Sleep(20 * time.Millisecond)
	}
	next := p.program(2)
	must(t, next.Host("db002").Wipe(t.Context(), p.copy.Target.Instance, copyOwner))
	if err := <-done; err == nil {
		t.Error("the copy was wiped away, and says it is whole")
	}
	left, err := filepath.Glob(filepath.Join(p.copy.Target.Instance.Datadir, "*"))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("wiped, and there is %v", left)
	}
	again := p.copy
	again.From, again.To, again.Rate = next.Host("db001"), next.Host("db002"), nil
	_, err = again.Run(t.Context())
	must(t, err)
	must(t, next.Host("db002").Remove(t.Context(), p.copy.Target.Instance, copyOwner))
}
