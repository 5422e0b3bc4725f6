package reshape

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// The applier runs while each side leaves, dies and returns, and while both sides go to other hosts. Then it is killed again and again while they go back.
func TestApplierGoesOnBesideSidesAndAMoveOfThePair(t *testing.T) {
	turns.One(t, 3)
	t.Parallel() // it mostly waits
	f := farmtest.StartKept(t, mariadbtest.MariaDB10, 1, 11)
	b := f.Apply()
	f.Begin()
	for _, side := range []farm.SideName{farm.A, farm.B} {
		name := "dbshard001/" + string(side)
		f.Stowage(farmtest.ExitFine, "", "side", "out", name)
		f.KeepsUp(&b.Out, 1)
		f.KillServer(side)
		f.Stowage(farmtest.ExitFine, "", "side", "in", name)
		f.KeepsUp(&b.Out, 2)
	}
	f.Must("plan", "--name", "first")
	f.Must("move", "first")
	f.KeepsUp(&b.Out, 2)
	if text := b.Out.String(); strings.Contains(text, "filled in again") {
		t.Errorf("it did not go on from its position:\n%s", text)
	}
	f.Rotate()

	ctx, stop := context.WithCancel(t.Context())
	kills := make(chan int, 1)
	go func() {
		last, n := f.KillAppliers(ctx, rand.New(rand.NewPCG(11, 0)), b)
		b = last
		kills <- n
	}()
	f.TurnAround()
	f.Must("move", f.Plan())
	stop()
	t.Logf("the applier was killed %d times in a move", <-kills)
	f.KeepsUp(&b.Out, 2)
	f.End(&b.Out)
}

// The shard goes to another pair and is taken back from there, and goes for good. Its columns are kept wherever it is served, also while the move can still be undone.
func TestApplierGoesWithTheShard(t *testing.T) {
	turns.One(t, 3)
	t.Parallel() // it mostly waits
	f := farmtest.StartKept(t, mariadbtest.MariaDB10, 2, 12)
	b := f.Apply()
	f.Begin()
	away := farmtest.Away
	m := f.Start("move", "shard", farmtest.FilesShard, "--to", away, "--approve-before", "settle")
	f.Await(m, "it waits for its approval", func() bool { return len(f.Status().Waiting) == 1 })
	f.KeepsUp(&b.Out, 2)
	first := f.States()[0].ID // the run of the move claims both pairs: a person may say this all the same
	f.Stowage(farmtest.ExitFine, "is read from its children", "reshape", "off", first)
	f.Stowage(farmtest.ExitFine, "is active", "reshape", "on", first)
	m.Kill()
	f.Must("undo")
	f.KeepsUp(&b.Out, 2)
	f.ShardIsAt(farmtest.FilesShard, farmtest.HomePair)
	f.Must("move", "shard", farmtest.FilesShard, "--to", away)
	f.KeepsUp(&b.Out, 2)
	f.ShardIsAt(farmtest.FilesShard, farmtest.AwayOne)
	if n := strings.Count(b.Out.String(), "filled in again"); n < 3 {
		t.Errorf("its tenants were filled in again %d times, want once for each pair that they came to\n%s", n, &b.Out)
	}
	f.End(&b.Out)
}
