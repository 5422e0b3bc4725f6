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

// TestBackupAcrossMachines: an instance is copied from its machine into the vault of another, its binary log is archived, and a third machine restores it. The
// bytes go from agent to agent, which touch the vault because their lists have it.
func TestBackupAcrossMachines(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 2000)
	vault := filepath.Join(f.Dir, "vault")
	if err := os.Mkdir(vault, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.Dir, "farm.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "backup: {dir: "+vault+", host: new1}\n"...), 0o644); err != nil {
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
	f.DamageLogs(vault)
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
