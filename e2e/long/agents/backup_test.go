package agents

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
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
	f.CheckLedger()
}
