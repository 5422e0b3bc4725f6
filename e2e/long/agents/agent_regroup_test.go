package agents

import (
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// A plan of single shards is carried out through agents, on machines that share
// nothing but the network: its pair is made there, the shards go into it under
// load, the old pair is retired; and no password is in any file that the engine
// or an agent keeps.
func TestRegroupAcrossMachines(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startNetRegrouping(t)
	p := farmtest.RunProgram(t, "", "move", "regroup", "-C", f.Dir)
	if p.Code != farmtest.ExitFine || !strings.Contains(p.Stdout, "2 of 2 shards moved") {
		t.Fatalf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.CheckRegrouped(farm.ActiveActive)
	f.NoPasswordIn("agent-old1", "agent-old2", "agent-new1", "agent-new2", ".stowage")
}

// startNetRegrouping is a pair of two shards across machines, and a plan that
// puts them into a new pair on others.
func startNetRegrouping(t *testing.T) *farmtest.NetFarm {
	t.Helper()
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 50)
	f.Goals("unit: shard\nshards_per_instance: 2\nsoak: 50ms\n")
	f.Must("plan", "--name", "regroup")
	return f
}

// Every agent is killed with kill -9 at the beginning of every step of such a
// plan, and started again a moment later.
func TestAgentsKilledWhileRegrouping(t *testing.T) {
	long(t)
	f := startNetRegrouping(t)
	killed := 0
	p := f.Steps("regroup", func(farm.Event) {
		for _, h := range farmtest.NetHosts {
			f.KillAgent(h, 50*time.Millisecond)
		}
		killed++
	})
	if p.Code != farmtest.ExitFine {
		t.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckRegrouped(farm.ActiveActive)
	if killed < 20 {
		t.Errorf("killed at %d steps only", killed)
	}
	t.Logf("all four agents were killed at %d steps", killed)
}
