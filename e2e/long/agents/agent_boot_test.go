package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/netlab"
	"stowage/mysql"
)

// bootedFarm is a farm whose machines have booted a systemd each: the agent is
// the unit of packaging/, and every instance one of mariadb@.
type bootedFarm struct {
	*farmtest.NetFarm
	boots map[farm.HostName]*netlab.Boot
}

// bootNetFarm boots the machines, installs what packaging/ ships and founds the
// farm.
func bootNetFarm(t *testing.T, shards, rows int) *bootedFarm {
	t.Helper()
	f := bootMachines(t, shards)
	f.Serve(shards, rows)
	return f
}

// bootMachines is bootNetFarm up to the servers.
func bootMachines(t *testing.T, shards int) *bootedFarm {
	t.Helper()
	if missing := netlab.MissingToBoot(); missing != "" {
		t.Skip("NOT TESTED: agents and instances as units of systemd: " + missing)
	}
	f := &bootedFarm{NetFarm: farmtest.NewNetFarm(t, farm.ActiveActive, shards), boots: map[farm.HostName]*netlab.Boot{}}
	program, err := filepath.Abs(farmtest.LiveProgram(t))
	f.Did(err)
	disks := t.TempDir()
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, h := range farmtest.NetHosts {
		all.Go(func() {
			b, err := f.Hosts[h].Boot(filepath.Join(disks, string(h)), f.Dir, filepath.Dir(program))
			mu.Lock()
			defer mu.Unlock()
			if f.boots[h] = b; err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, h := range farmtest.NetHosts {
		f.install(h, program)
	}
	t.Cleanup(f.tell)
	return f
}

// install does what docs/guide/agents.md tells a person to.
func (f *bootedFarm) install(h farm.HostName, program string) {
	f.T.Helper()
	put := func(path, from string, mode os.FileMode) {
		f.T.Helper()
		raw, err := os.ReadFile(from)
		f.Did(err)
		f.Did(f.boots[h].Write(path, raw, mode))
	}
	put("/etc/systemd/system/stowage-agent.service", "../../../packaging/stowage-agent.service", 0o644)
	put("/etc/systemd/system/mariadb@.service.d/stowage.conf", "../../../packaging/mariadb@.service.d/stowage.conf", 0o644)
	certificates := filepath.Join(f.Dir, ".stowage/certificates/hosts", string(h))
	files, err := os.ReadDir(certificates)
	f.Did(err)
	for _, c := range files {
		put("/etc/stowage/certificates/"+c.Name(), filepath.Join(certificates, c.Name()), 0o600)
	}
	env := fmt.Sprintf("STOWAGE_HOST=%s\nSTOWAGE_ENGINE=%s\nSTOWAGE_LISTEN=%s:7234\nSTOWAGE_FLAGS=--units --allow /etc/stowage/allowed\nSTOWAGE_BOOT_ID_FILE=%s\n", h, f.EngineAddress(), f.Hosts[h].Address, f.bootID(h))
	f.Did(f.boots[h].Write("/etc/stowage/allowed", []byte("/usr/bin/systemctl reboot\n/usr/bin/stowage agent packages ...\n"), 0o644))
	f.startsAs(h, 1)
	f.Did(f.boots[h].Write("/etc/stowage/agent.env", []byte(env), 0o600))
	f.on(h, "ln", "-s", program, "/usr/bin/stowage")
	f.on(h, "systemctl", "daemon-reload")
	f.on(h, "systemctl", "enable", "--now", "stowage-agent")
}

// on runs a program on a machine.
func (f *bootedFarm) on(h farm.HostName, name string, args ...string) string {
	f.T.Helper()
	out, err := f.boots[h].Run(name, args...)
	f.Did(err)
	return out
}

// tell shows the journals of a test that failed.
func (f *bootedFarm) tell() {
	if !f.T.Failed() {
		return
	}
	for _, h := range farmtest.NetHosts {
		said, _ := f.boots[h].Run("journalctl", "--no-pager", "-q", "-o", "short-precise", "-n", "60", "-u", "stowage-agent", "-u", "mariadb@*")
		f.T.Logf("journal of %s:\n%s", h, said)
	}
}

// checkUnit wants an instance's unit to be active and to come up with its
// machine, or neither.
func (f *bootedFarm) checkUnit(h farm.HostName, i farm.InstanceName, want bool) {
	f.T.Helper()
	unit := "mariadb@" + string(i)
	active, _ := f.boots[h].Run("systemctl", "is-active", unit)
	enabled, _ := f.boots[h].Run("systemctl", "is-enabled", unit)
	if (active == "active") != want || (enabled == "enabled") != want {
		f.T.Errorf("%s on %s is %s and %s, want running and coming up with the machine: %v", unit, h, active, enabled, want)
	}
}

// powerCut takes the power off a machine and boots it again.
func (f *bootedFarm) powerCut(h farm.HostName) {
	f.T.Helper()
	f.Did(f.boots[h].Cut())
	f.Did(f.boots[h].Up())
}

// TestMoveAcrossBootedMachines: agents and servers are units of the systemd of
// their machines. An agent is restarted and both new machines lose their power
// in the middle of the move, one while it is seeded and one while its rows are
// compared; and when all is done each machine loses it once: what serves comes
// up with its machine, as it was, and what was left does not.
func TestMoveAcrossBootedMachines(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: a move between machines that boot systemd")
	}
	f := bootNetFarm(t, 2, 50)
	for i, side := range farm.SideNames {
		f.checkUnit(farmtest.NetHosts[i], farmtest.Net001(side), true)
	}
	p := f.During("seed", func() {
		f.on("old1", "systemctl", "restart", "stowage-agent")
		f.powerCut("new1")
		f.AwaitStep("compare", farm.B)
		f.powerCut("new2")
	})
	if p.Code != farmtest.ExitFine {
		t.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckWhole()
	for i, side := range farm.SideNames {
		f.checkUnit(farmtest.NetHosts[i], farmtest.Net001(side), false)
		f.checkUnit(farmtest.NetHosts[i+2], farmtest.Net001(side), true)
	}
	for _, h := range farmtest.NetHosts {
		f.powerCut(h)
	}
	f.awaitServing()
	f.CheckNow()
	for i, side := range farm.SideNames {
		f.checkUnit(farmtest.NetHosts[i], farmtest.Net001(side), false)
		f.checkUnit(farmtest.NetHosts[i+2], farmtest.Net001(side), true)
	}
}

// awaitServing waits until both sides follow each other again.
func (f *bootedFarm) awaitServing() {
	f.T.Helper()
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	f.Did(err)
	admin, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "stowage")
	f.Did(err)
	for _, side := range farm.SideNames {
		s := mysql.Open(farmtest.Net001(side), fm.Address(fm.Pairs[0].Sides[side]), admin, farmtest.QuietLog())
		defer s.Close()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			repl, err := s.Replication(f.T.Context())
			if err == nil && repl.Running() {
				break
			}
			if time.Now().After(deadline) {
				f.T.Fatalf("%s does not come back with its machine: %+v %v", farmtest.Net001(side), repl, err)
			}
		}
	}
}

// bootID is the file that says which start of a machine this is: of namespaces the kernel's is that of the machine around them.
func (f *bootedFarm) bootID(h farm.HostName) string {
	return filepath.Join(f.Dir, "boot-id-"+string(h))
}

func (f *bootedFarm) startsAs(h farm.HostName, n int) {
	f.Did(os.WriteFile(f.bootID(h), fmt.Appendf(nil, "start-%d\n", n), 0o644))
}

// TestBootedMachinesAreRolled: servers that are units are restarted as units, and come up with their machine as before; then the machines are rebooted, for real, by their
// own systemd, under load, one after the other.
func TestBootedMachinesAreRolled(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: a roll of machines that boot systemd")
	}
	f := bootNetFarm(t, 2, 50)
	serving := map[farm.HostName]farm.InstanceName{"old1": farmtest.Net001(farm.A), "old2": farmtest.Net001(farm.B)}
	mainPID := func(h farm.HostName) string {
		return f.on(h, "systemctl", "show", "--property=MainPID", "--value", "mariadb@"+string(serving[h]))
	}
	was := map[farm.HostName]string{}
	for h := range serving {
		was[h] = mainPID(h)
	}
	f.Must("roll", "--hosts", "old*", "--restart", "--name", "restart")
	f.Must("roll", "restart")
	for h, i := range serving {
		f.checkUnit(h, i, true)
		if is := mainPID(h); is == was[h] || is == "0" {
			t.Errorf("%s on %s is process %s of its unit, was %s", i, h, is, was[h])
		}
	}
	for h := range serving { // a carrier has no environment of ours
		f.on(h, "ln", "-sf", f.bootID(h), "/var/lib/stowage-agent/boot_id")
	}
	var boots sync.WaitGroup
	for h := range serving {
		boots.Go(func() {
			select {
			case <-f.boots[h].Down():
				f.startsAs(h, 2)
				if err := f.boots[h].Up(); err != nil {
					t.Error(err)
				}
			case <-t.Context().Done():
			}
		})
	}
	f.Must("roll", "--hosts", "old*", "--reboot", "--name", "reboot")
	f.Must("roll", "reboot")
	boots.Wait()
	for h, i := range serving {
		f.checkUnit(h, i, true)
	}
	f.awaitServing()
	f.CheckLedger()
}
