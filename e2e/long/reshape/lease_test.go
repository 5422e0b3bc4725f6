package reshape

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
)

// TestLeaseOfKilledAppliers: the applier is killed again and again, and begins with a backlog each time. A judge who looks at few rows very often never finds a good lease over columns that the backlog has still to change.
// LEASE_SECONDS (30) and RESHAPE_SEED (1) say how long and by which random numbers.
func TestLeaseOfKilledAppliers(t *testing.T) {
	seconds, seed := number(t, "LEASE_SECONDS", 30), uint64(number(t, "RESHAPE_SEED", 1))
	f := farmtest.StartFilesFarm(t, farm.ActiveActive, 1500, files.Clients{Seed: seed * 1000, Count: 6, Pause: 5 * time.Millisecond})
	f.KeptByApplier(maxLag)
	f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
	b := f.Apply()
	f.Stowage(farmtest.ExitFine, "right", "reshape", "--all")
	f.Write()
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
	defer stop()
	kills := make(chan int, 1)
	go func() {
		_, n := f.KillAppliers(ctx, rand.New(rand.NewPCG(seed, 0)), b)
		kills <- n
	}()
	j := farmtest.StaleJudge{MaxLag: maxLag, Pause: 5 * time.Millisecond}
	if err := j.Watch(ctx, f); err != nil {
		t.Error(err)
	}
	n := <-kills
	t.Logf("%d kills; %d looks, up to %s apart, at %d of them carried columns may be read; %d values were behind, none longer than %s", n, j.Looks, j.Gap, j.Leased, j.Behind, j.Longest)
	if n == 0 || j.Leased == 0 || j.Behind == 0 {
		t.Error("the judge saw nothing")
	}
	f.Rest()
}
