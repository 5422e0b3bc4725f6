package flavors

import (
	"testing"

	"stowage/alter"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// TestAlterOnMySQLWithTwoReplicas: rows of two shapes on a primary with two replicas; the program is killed before the switch and when the further replica is changed, and that replica, too.
func TestAlterOnMySQLWithTwoReplicas(t *testing.T) {
	turns.One(t, 3)
	path := mariadbtest.Named(t, mariadbtest.MySQL9).Path()
	t.Setenv("PATH", path)
	f := farmtest.EmptyFarm(t, "r630-ssd", 40)
	f.Servers, f.Column = path, "colour"
	t.Cleanup(f.Down)
	p := farmtest.RunWith(t, f.Env(""), "demo", "up", "-C", f.Dir, "--topology", string(farm.PrimaryReplica), "--shards", "2", "--pairs", "2", "--hosts", "4")
	if p.Code != farmtest.ExitFine {
		t.Fatalf("demo up: exit %d\n%s", p.Code, p.Stderr)
	}
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	a := &farmtest.AlteredFarm{F: f}
	a.F.GetsAnotherReplica()
	more := []string{"--shards", "etsy_shard_000[12]"}
	a.Killed("stowage", "before "+alter.StepSwitch, farmtest.AddBoth, more...)
	a.Run(farmtest.ExitFine, "1 of 1 pair", "resume")
	a.Rests()
	a.Killed("both", "after replicas", farmtest.DropBoth, more...)
	a.F.StartAgain("C")
	a.Run(farmtest.ExitFine, "1 of 1 pair", "resume")
	a.Rests()
	a.Settle(false, 2)
}
