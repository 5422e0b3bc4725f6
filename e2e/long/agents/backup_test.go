package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/turns"
)

// TestBackupAcrossMachines: an instance is copied from its machine into the vault of another, its binary log is archived on its own machine, and a third one restores it. The
// bytes go from agent to agent, which touch the vault because their lists have it. Each machine sees another directory there.
func TestBackupAcrossMachines(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.NewNetFarm(t, farm.ActiveActive, 2)
	f.Private = filepath.Join(f.Dir, "vault")
	f.Did(os.Mkdir(f.Private, 0o700))
	for _, h := range farmtest.NetHosts {
		f.StartAgent(h)
	}
	f.Serve(2, 2000)
	path := filepath.Join(f.Dir, "farm.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "backup: {dir: "+f.Private+", host: new1}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := farmtest.RunProgram(t, "", "backup", "run", "-C", f.Dir); p.Code != farmtest.ExitRefused {
		t.Fatalf("no list of directories has the vault, and exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.Must("agent", "certs")
	f.Must("backup", "run")
	time.Sleep(2 * time.Second)
	f.Must("backup", "run", "--incremental")
	f.Must("backup", "binlogs")
	f.Must("backup", "check")
	f.Must("backup", "verify", "--to", "new2")
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Must("restore", string(fm.Pairs[0].Name), "--to", "new1", "--latest")
	f.Must("restore", "--shard", string(fm.Pairs[0].Shards[0].Name), "--to", "new2", "--latest", "--as", "shop_then")
	if left, err := filepath.Glob(filepath.Join(f.PrivateOf("new2"), "*", "binlog")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v: the third machine was to have no archive", left, err)
	}
	for _, h := range farmtest.NetHosts {
		if its, _ := filepath.Glob(filepath.Join(f.PrivateOf(h), "*", "binlog")); len(its) > 0 {
			f.DamageLogs(f.PrivateOf(h))
		}
	}
	if p := farmtest.RunProgram(t, "", "restore", string(fm.Pairs[0].Name), "-C", f.Dir, "--to", "new2", "--latest"); p.Code == 0 || !strings.Contains(p.Stdout+p.Stderr, "damaged") {
		t.Errorf("a restore by damaged logs of another machine: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	if p := farmtest.RunProgram(t, "", "backup", "check", "-C", f.Dir); p.Code != farmtest.ExitFindings || !strings.Contains(p.Stdout, "are damaged: ") || strings.Contains(p.Stdout, "not read") {
		t.Errorf("archived logs are damaged behind an agent: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.CheckLedger()
}

// TestBinlogsAcrossMachines: the agent of a machine reads the binary log, that of another, which alone has the repository's password, runs restic, and a third
// machine replays. The agent of the first loses its spool in between.
func TestBinlogsAcrossMachines(t *testing.T) {
	turns.One(t, 2)
	t.Parallel() // it mostly waits
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 2000)
	k := farmtest.KeptOn(f, "new1")
	k.InRepository(filepath.Join(f.Dir, "repository"), "host: new1")
	f.Must("agent", "certs")
	f.Must("backup", "run")
	instance := k.Instances()[0]
	f.Must("backup", "binlogs")
	spools, err := filepath.Glob(filepath.Join(f.Dir, "**", "binlogs", "*", string(instance)))
	f.Did(err)
	if len(spools) != 1 {
		t.Errorf("spools: %q", spools)
	}
	for _, s := range spools {
		f.Did(os.RemoveAll(s))
	}
	time.Sleep(3 * time.Second)
	second := time.Now()
	time.Sleep(2 * time.Second)
	f.Must("backup", "binlogs")
	f.Must("backup", "check")
	f.Must("backup", "verify", "--to", "new2")
	r := k.RestoreOf(string(instance), "--to", "new2", "--at", second.Format(time.RFC3339))
	if late := second.Sub(r.At); late < 0 || late > 2*time.Second {
		t.Errorf("asked for %s, and it is of %s", second, r.At)
	}
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	f.CheckLedger()
}

// TestLogicalBackupAcrossMachines: the agent of a machine reads the rows, the vault is on another, and a third loads them, compares them, and gives a shard back to the pair.
func TestLogicalBackupAcrossMachines(t *testing.T) {
	turns.One(t, 2)
	t.Parallel() // it mostly waits
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 2000)
	k := farmtest.KeptOn(f, "new1")
	k.Told("GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO stowage@'%'") // which copies here
	f.Must("backup", "run", "--kind", "logical")
	f.Must("backup", "check")
	f.Must("backup", "verify", "--to", "new2")
	f.Must("restore", "--shard", k.FirstShard(), "--to", "new2", "--as", "shop_then")
	if n := k.OnBoth("SELECT COUNT(*) > 0 FROM shop_then.receipts"); n != "1" {
		t.Errorf("the shard that came back has no rows: %s", n)
	}
	f.CheckLedger()
}

// TestALostMachineIsReplaced: the machine of a side is cut off for good, with its agent and its server, which live on behind the cut. Nothing waits for it: its
// twin's link is made to notice, and a third machine takes the side, from the vault of a fourth.
func TestALostMachineIsReplaced(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 2000)
	k := farmtest.KeptOn(f, "new1")
	f.Must("backup", "run")
	restore := []string{"restore", "net001", "--as-side", "B", "--to", "new2"}
	k.Run(farmtest.ExitRefused, "its server answers", restore...)
	k.LoseSideBy(farm.B, func() { f.Cut("old2") })
	k.Run(farmtest.ExitRefused, "is still connected to it", restore...)
	k.Reconnect(farm.A)
	k.Run(farmtest.ExitFine, "serves as side B", restore...)
	k.CheckAdopted(t, farm.B, "new2")
	f.Did(f.StartClients())
	time.Sleep(2 * time.Second)
	f.CheckLedger()
}
