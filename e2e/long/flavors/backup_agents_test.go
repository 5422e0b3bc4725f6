package flavors

import (
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// TestBackupOnMySQLThroughAgents: each host has an agent, and the vault is on a third host. A throw-away server there clones an instance of another host, also when the
// run is killed on the way, or the agent that clones and packs; a fourth host restores and compares it, has what clients had been told by a second, and gives a shard back to the pair.
func TestBackupOnMySQLThroughAgents(t *testing.T) {
	turns.One(t, 2)
	t.Parallel() // it mostly waits
	f := startOn(t, mariadbtest.MySQL9, farm.ActiveActive, 1)
	k := farmtest.KeepFarm(f, "dbshard001/A")
	k.Say("dir: " + k.Vault + ", host: ssd01")
	agents := f.GiveAgents()
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	k.KilledIn("both", "before clear", "backup", "run")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
	k.NothingLeft()
	for _, step := range []string{"clone", "copy"} {
		f.CrashAt(agents["ssd01"], step, "backup", "backup", "run")
		k.NothingLeft()
	}
	if ids := k.Backups(); len(ids) != 4 {
		t.Errorf("4 backups were taken, and there are %q", ids)
	}
	k.Run(farmtest.ExitFine, "as written", "backup", "check")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	time.Sleep(2 * time.Second)
	second := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify", "--to", "ssd02")
	r := k.Restore("--at", second.Format(time.RFC3339), "--to", "ssd02")
	k.CheckSecond(r, second)
	database := k.RestoreShard(k.FirstShard(), "--at-gtid", r.GTID, "--to", "ssd02").Database
	k.CheckShardAt(k.FirstShard(), database, second)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	for host, what := range map[farm.HostName]string{"ssd01": "-clone-", "ssd02": "-restored-"} {
		if did := agents[host].Did(t); !strings.Contains(did, what) {
			t.Errorf("the agent of %s did nothing with an instance %q:\n%s", host, what, did)
		}
	}
	k.NothingLeft()
	k.F.CheckLedger()
}
