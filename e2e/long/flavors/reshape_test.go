package flavors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// TestApplierOnOtherFlavors: the applier keeps the columns behind clients of both sides; it is killed, logs rotate, and each side leaves and returns.
func TestApplierOnOtherFlavors(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, line := range []string{mariadbtest.MariaDB11, mariadbtest.MySQL9} {
		t.Run(line, func(t *testing.T) {
			t.Parallel() // it mostly waits
			f := farmtest.StartKept(t, line, 1, 13)
			b := f.Apply()
			f.Begin()
			f.KeepsUp(&b.Out, 2)
			b.Kill()
			f.Rotate()
			b = f.Apply()
			for _, side := range []farm.SideName{farm.A, farm.B} {
				f.Stowage(farmtest.ExitFine, "", "side", "out", farmtest.Home+"/"+string(side))
				f.KeepsUp(&b.Out, 1)
				f.Stowage(farmtest.ExitFine, "", "side", "in", farmtest.Home+"/"+string(side))
				f.KeepsUp(&b.Out, 2)
			}
			f.End(&b.Out)
		})
	}
}

// TestApplierBesideMovesOnMySQL: both sides of the pair go to other hosts and back while the applier runs. It goes on from its position, in logs of servers that did not write them.
func TestApplierBesideMovesOnMySQL(t *testing.T) {
	turns.One(t, 3)
	t.Parallel() // it mostly waits
	f := farmtest.StartKept(t, mariadbtest.MySQL9, 1, 15)
	b := f.Apply()
	f.Begin()
	slowly(t, f.Dir)
	f.Must("plan", "--name", "first")
	f.Must("move", "first")
	f.KeepsUp(&b.Out, 2)
	f.Rotate()
	f.TurnAround()
	f.Must("move", f.Plan())
	f.KeepsUp(&b.Out, 2)
	if text := b.Out.String(); strings.Contains(text, "filled in again") {
		t.Errorf("it did not go on from its position:\n%s", text)
	}
	f.End(&b.Out)
}

// slowly takes the limits of the ramp away: how fast servers are that have just been started, beside other tests, is another test's business.
func slowly(t *testing.T, dir string) {
	t.Helper()
	goals, err := os.OpenFile(filepath.Join(dir, "goals.yaml"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = goals.WriteString("\nramp: {latency: x100000, floor: 50s}\n")
		_ = goals.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestApplierGoesWithTheShardOnMySQL: the shard goes to another pair, is taken back from there, and goes for good.
func TestApplierGoesWithTheShardOnMySQL(t *testing.T) {
	turns.One(t, 3)
	t.Parallel() // it mostly waits
	f := farmtest.StartKept(t, mariadbtest.MySQL9, 2, 16)
	b := f.Apply()
	f.Begin()
	m := f.Start("move", "shard", farmtest.FilesShard, "--to", farmtest.Away, "--approve-before", "settle")
	f.Await(m, "it waits for its approval", func() bool { return len(f.Status().Waiting) == 1 })
	f.KeepsUp(&b.Out, 2)
	m.Kill()
	f.Must("undo")
	f.KeepsUp(&b.Out, 2)
	f.ShardIsAt(farmtest.FilesShard, farmtest.HomePair)
	f.Must("move", "shard", farmtest.FilesShard, "--to", farmtest.Away)
	f.KeepsUp(&b.Out, 2)
	f.ShardIsAt(farmtest.FilesShard, farmtest.AwayOne)
	f.End(&b.Out)
}
