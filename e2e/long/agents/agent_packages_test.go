package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/packages/pin"
	"stowage/roll"
)

var rolledHosts = []farm.HostName{"old1", "old2"}

// upgradedFarm is a farm of booted machines that have a source of packages of their own, and serve with the older build.
func upgradedFarm(t *testing.T) *bootedFarm {
	t.Helper()
	f := bootMachines(t, 2)
	source := filepath.Join(f.Dir, "source") // the machines see it
	farmtest.Builds(t, source)
	var all sync.WaitGroup
	for _, h := range rolledHosts {
		all.Go(func() {
			f.on(h, "sh", "-c", "rm -rf /etc/apt/sources.list.d/*; echo 'deb [trusted=yes] file:"+source+" ./' > /etc/apt/sources.list; apt-get -q update")
			f.on(h, "sh", "-c", "/usr/bin/stowage agent packages install $(dpkg-query -W -f '${source:Package} ${Package}="+farmtest.OlderBuild+"\n' | sed -n 's/^mariadb //p')")
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	f.Serve(2, 50)
	if err := os.MkdirAll(f.Dir+"/rolls", 0o755); err != nil {
		t.Fatal(err)
	}
	return f
}

// upgradeTo writes a playbook that brings hosts to a build, and plans it.
func (f *bootedFarm) upgradeTo(build, hosts, name, more string) string {
	f.T.Helper()
	text := fmt.Sprintf("hosts: %q\nsteps:\n  - {packages: {mariadb-server: %q}%s}\n", hosts, build, more)
	f.Did(os.WriteFile(filepath.Join(f.Dir, "rolls", name+".yaml"), []byte(text), 0o644))
	f.Must("roll", name, "--name", name+"-plan")
	return name + "-plan"
}

// runs wants the server of a host to run a build, and its unit to come up with the machine.
func (f *bootedFarm) runs(h farm.HostName, build string) {
	f.T.Helper()
	i := farmtest.Net001(map[farm.HostName]farm.SideName{"old1": farm.A, "old2": farm.B}[h])
	pid := f.on(h, "systemctl", "show", "--property=MainPID", "--value", "mariadb@"+string(i))
	file := f.on(h, "readlink", "/proc/"+pid+"/exe")
	is := f.on(h, "dpkg-query", "-W", "-f", "${Version}", "mariadb-server-core")
	version := f.on(h, "mariadb", "--socket="+filepath.Join(f.Dir, "hosts", string(h), string(i), "data/mysqld.sock"), "-NBe", "SELECT VERSION()")
	if !strings.HasSuffix(file, "/usr/sbin/mariadbd") || is != build || !strings.HasPrefix(version, pin.Upstream(build)+"-") {
		f.T.Errorf("%s runs %s of %s (package %s), want %s", h, version, file, is, build)
	}
	f.checkUnit(h, i, true)
}

// policyOf says which file policy-rc.d of a machine is: its inode, mode, time and content.
func (f *bootedFarm) policyOf(h farm.HostName) string {
	f.T.Helper()
	return f.on(h, "sh", "-c", "ls /usr/sbin/policy-rc.d*; stat -c '%i %a %Y %N' /usr/sbin/policy-rc.d; cat /usr/sbin/policy-rc.d")
}

// TestBootedMachinesAreUpgraded: two machines with a package manager each are brought to another build of MariaDB under load, one after the other; what keeps a host from that is
// found while it serves; a build that does not start is taken back.
func TestBootedMachinesAreUpgraded(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: a minor upgrade of machines that boot systemd")
	}
	f := upgradedFarm(t)
	f.on("old1", "sh", "-c", "printf '#!/bin/sh\\nexit 0\\n' > /etc/policy && chmod 755 /etc/policy && ln -sf /etc/policy /usr/sbin/policy-rc.d")
	f.on("old2", "sh", "-c", "rm -f /usr/sbin/policy-rc.d; printf '#!/bin/sh\\n# of somebody else\\nexit 0' > /usr/sbin/policy-rc.d && chmod 750 /usr/sbin/policy-rc.d")
	was := map[farm.HostName]string{"old1": f.policyOf("old1"), "old2": f.policyOf("old2")}
	info := filepath.Join(f.Dir, "hosts/old2", string(farmtest.Net001(farm.B)), "data/mysql_upgrade_info")
	f.Did(os.Remove(info)) // as a copy is
	f.refuses()
	plan := f.upgradeTo(farmtest.NewerBuild, "old*", "minor", ", way_back: packages")
	p := farmtest.RunProgram(t, "", "-C", f.Dir, "roll", plan, "--json")
	if p.Code != farmtest.ExitFine {
		t.Fatalf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	var out farmtest.Rolled
	f.Did(json.Unmarshal([]byte(p.Stdout), &out))
	for _, h := range out.Hosts {
		if h.Runs != 1 || h.End != "done" || h.CommandRC == nil || *h.CommandRC != 0 {
			t.Errorf("%+v", h)
		}
	}
	f.settled("`stowage roll PLAYBOOK`, MariaDB 10.11.18 to 10.11.19 by packages, two hosts", out)
	for _, h := range rolledHosts {
		f.runs(h, farmtest.NewerBuild)
	}
	if raw, err := os.ReadFile(info); err != nil || !strings.Contains(string(raw), pin.Upstream(farmtest.NewerBuild)) {
		t.Errorf("the server without mysql_upgrade_info was not upgraded: %q %v", raw, err)
	}
	plan = f.upgradeTo(farmtest.BrokenBuild, "old*", "broken", ", way_back: packages")
	p = farmtest.RunProgram(t, "", "-C", f.Dir, "roll", plan)
	if said := p.Stdout + p.Stderr; p.Code != farmtest.ExitUnknown || !strings.Contains(said, "the old packages are installed again, and its servers run with them") || !strings.Contains(said, "stowage roll in old1") {
		t.Errorf("exit %d\n%s", p.Code, said)
	}
	for _, h := range rolledHosts {
		f.runs(h, farmtest.NewerBuild)
		if is := f.policyOf(h); is != was[h] {
			t.Errorf("policy-rc.d of %s is\n%s\nwas\n%s", h, is, was[h])
		}
	}
	f.Must("roll", "in", "old1")
	f.awaitServing()
	f.CheckLedger()
}

// settled compares the ledger with the servers, prints what the clients met, and lets them go on.
func (f *bootedFarm) settled(what string, out farmtest.Rolled) {
	f.T.Helper()
	s, v, wrong := f.Settle()
	if len(wrong) > 0 || s.Failed != 0 {
		f.T.Errorf("%s: %v", what, wrong)
	}
	farmtest.Figure(f.T, what, s, map[bool]string{true: "whole", false: "**not whole**"}[v.Whole()], fmt.Sprintf("%.1f", out.LongestOut()))
	f.Did(f.StartClients())
}

// refuses: what keeps packages from being installed is found before a host is out.
func (f *bootedFarm) refuses() {
	f.T.Helper()
	for n, x := range []struct{ spoil, mend, build, want string }{
		{"sed -i /packages/d /etc/stowage/allowed", "echo '/usr/bin/stowage agent packages ...' >> /etc/stowage/allowed", farmtest.NewerBuild, "is not in the list of commands of this host's owner"},
		{"true", "true", "1:10.11.99-1", "apt has no mariadb-server of version 1:10.11.99-1; it has: " + farmtest.BrokenBuild},
		{"apt-mark hold mariadb-client", "apt-mark unhold mariadb-client", farmtest.NewerBuild, "package mariadb-client is on hold"},
		{"sed -i '/^Package: mariadb-common$/,/^$/s/^Status: .*/Status: install ok half-configured/' /var/lib/dpkg/status", "dpkg --configure -a", farmtest.NewerBuild, "packages of this host are half installed"},
		{"true", "true", "1:10.6.22-1", "a server does not start on files of a newer series"},
	} {
		f.on("old2", "sh", "-c", x.spoil)
		plan := f.upgradeTo(x.build, "old2", fmt.Sprintf("refused%d", n), "")
		p := farmtest.RunProgram(f.T, "", "-C", f.Dir, "roll", plan)
		if said := p.Stdout + p.Stderr; p.Code != farmtest.ExitRefused || !strings.Contains(said, x.want) {
			f.T.Errorf("%s: exit %d, want %q\n%s", x.spoil, p.Code, x.want, said)
		}
		f.on("old2", "sh", "-c", x.mend)
	}
	f.runs("old2", farmtest.OlderBuild)
	if _, err := f.boots["old2"].Run("sh", "-c", "ls /usr/sbin/policy-rc.d.before-stowage"); err == nil {
		f.T.Error("a refused roll has touched policy-rc.d")
	}
}

// TestUpgradesAreKilled: the program is killed at every border of an upgrade and of its way back: each installation runs once, and the servers end as planned.
func TestUpgradesAreKilled(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: upgrades of a machine that boots systemd, killed")
	}
	f := upgradedFarm(t)
	is, other := farmtest.OlderBuild, farmtest.NewerBuild
	installed := 0 // by orders whose number ends as installations do
	count := func() int {
		n := f.on("old1", "sh", "-c", "ls -d /var/lib/stowage-agent/commands/*.install /var/lib/stowage-agent/commands/*.back 2>/dev/null | wc -l; cat /var/lib/stowage-agent/commands/*.install/begin*.json /var/lib/stowage-agent/commands/*.back/begin*.json 2>/dev/null | grep -o boot_id | wc -l")
		var orders, begun int
		if _, err := fmt.Sscan(n, &orders, &begun); err != nil || orders != begun {
			t.Errorf("%d installations were ordered and %d begun (%v)", orders, begun, err)
		}
		return orders
	}
	book, _ := roll.RollKind(nil).Runbook(roll.ByPackages)
	for n, at := range book.Points() {
		if !strings.Contains(at, roll.StepWork+"/") {
			continue
		}
		plan := f.upgradeTo(other, "old1", fmt.Sprintf("kill%d", n), ", way_back: packages")
		p := farmtest.RunProgram(t, []string{"both", "stowage"}[n%2]+" @ "+at, "-C", f.Dir, "roll", plan)
		if !strings.Contains(p.Stdout+p.Stderr, farmtest.MarkOfKill+at) {
			t.Fatalf("never met %q: exit %d\n%s%s", at, p.Code, p.Stdout, p.Stderr)
		}
		f.Must("resume")
		f.runs("old1", other)
		is, other = other, is
		installed++
		if got := count(); got != installed {
			t.Errorf("killed at %q: %d installations, want %d", at, got, installed)
		}
	}
	for n, phase := range roll.WayBackPhases {
		at := []string{"before ", "after "}[n%2] + roll.StepWork + "/" + phase
		plan := f.upgradeTo(farmtest.BrokenBuild, "old1", "back-"+phase, ", way_back: packages")
		p := farmtest.RunProgram(t, "stowage @ "+at, "-C", f.Dir, "roll", plan)
		if !strings.Contains(p.Stdout+p.Stderr, farmtest.MarkOfKill+at) {
			t.Fatalf("never met %q: exit %d\n%s%s", at, p.Code, p.Stdout, p.Stderr)
		}
		if p := farmtest.RunProgram(t, "", "-C", f.Dir, "resume"); p.Code != farmtest.ExitUnknown || !strings.Contains(p.Stdout+p.Stderr, "the old packages are installed again") {
			t.Errorf("killed at %q, resumed: exit %d\n%s%s", at, p.Code, p.Stdout, p.Stderr)
		}
		f.runs("old1", is)
		f.Must("roll", "in", "old1")
		installed += 2
		if got := count(); got != installed {
			t.Errorf("killed at %q: %d installations, want %d", at, got, installed)
		}
	}
	f.awaitServing()
	f.CheckLedger()
}

// TestUpgradeIsCutShort: what carries the order and what installs are killed while dpkg unpacks. dpkg goes on, and says afterwards that all is there: nothing runs twice, and no policy-rc.d is left.
func TestUpgradeIsCutShort(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: an upgrade of a machine that boots systemd, cut short")
	}
	f := upgradedFarm(t)
	f.on("old1", "rm", "-f", "/usr/sbin/policy-rc.d")
	plan := f.upgradeTo(farmtest.NewerBuild, "old1", "cut", "")
	ended := make(chan farmtest.Program, 1)
	go func() { ended <- farmtest.RunProgram(t, "", "-C", f.Dir, "roll", plan, "--json") }()
	cut := 0
	var p farmtest.Program
	for running := true; running; {
		select {
		case p = <-ended:
			running = false
		case <-time.After(5 * time.Millisecond):
			if cut > 0 {
				continue
			}
			const strike = "pgrep -f '^/usr/bin/dpkg .*--unpac[k]' >/dev/null && pkill -9 -f 'agent carr[y] .*[.]install$' && pkill -9 -f 'agent packages instal[l] '"
			if _, err := f.boots["old1"].Run("sh", "-c", strike); err == nil {
				cut++
			}
		}
	}
	if cut == 0 {
		t.Error("dpkg was not seen at work")
	}
	var out farmtest.Rolled
	f.Did(json.Unmarshal([]byte(p.Stdout), &out))
	if p.Code != farmtest.ExitFine || len(out.Hosts) != 1 || out.Hosts[0].Runs != 1 || out.Hosts[0].Unknown {
		t.Errorf("exit %d, %+v\n%s", p.Code, out, p.Stderr)
	}
	f.runs("old1", farmtest.NewerBuild)
	if begun := f.on("old1", "sh", "-c", "ls /var/lib/stowage-agent/commands/*.install/begin*.json | wc -l; ls -d /var/lib/stowage-agent/commands/*.settle.* | wc -l"); begun != "1\n1" {
		t.Errorf("installations begun, and settled: %q", begun)
	}
	if left, err := f.boots["old1"].Run("sh", "-c", "ls /usr/sbin/policy-rc.d*"); err == nil {
		t.Errorf("left: %s", left)
	}
	f.awaitServing()
	f.CheckLedger()
}
