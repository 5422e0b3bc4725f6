package reshape

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/internal/turns"
)

// kept is a farm whose columns an applier keeps, beside clients of both sides and a judge who looks at each server that serves.
type kept struct {
	*farmtest.FilesFarm
	judge  farmtest.StaleJudge
	judged chan error
	stop   context.CancelFunc
}

func startKept(t *testing.T, pairs int, seed uint64) *kept {
	t.Helper()
	f := &kept{FilesFarm: farmtest.StartFilesFarmOf(t, farm.ActiveActive, pairs, 6000, files.Clients{Seed: seed, Pause: 20 * time.Millisecond}), judged: make(chan error, 1)}
	f.KeptByApplier(maxLag)
	f.judge.MaxLag = maxLag
	f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
	return f
}

// begin lets clients write and the judge look, when every tenant is active.
func (f *kept) begin() {
	f.T.Helper()
	f.Stowage(farmtest.ExitFine, "right", "reshape", "--all")
	f.Write()
	ctx, stop := context.WithCancel(f.T.Context())
	f.stop = stop
	go func() { f.judged <- f.judge.Watch(ctx, f.FilesFarm) }()
}

// keepsUp waits until the columns may be read on n servers, and looks that they still may a while later.
func (f *kept) keepsUp(b interface{ String() string }, n int) {
	f.T.Helper()
	for end, good := time.Now().Add(farmtest.WaitLimit), 0; good < 10; farmtest.PauseTest() {
		if good++; f.GoodLeases() != n {
			good = 0
		}
		select {
		case err := <-f.judged:
			f.T.Fatalf("the judge: %v\n%s", err, b)
		default:
		}
		if time.Now().After(end) {
			f.T.Fatalf("the columns may not be read on %d servers\n%s", n, b)
		}
	}
}

// end stops judge and clients. Every column of every active tenant is what its versions say then, and every acknowledged write is there.
func (f *kept) end(b interface{ String() string }) {
	f.T.Helper()
	f.stop()
	if err := <-f.judged; err != nil {
		f.T.Errorf("the judge: %v\n%s", err, b)
	}
	f.Rest()
	f.Stowage(farmtest.ExitFine, "is right", "reshape", "verify")
	if n := f.Active(); n != len(f.Tenants) {
		f.T.Errorf("%d of %d tenants are active\n%s", n, len(f.Tenants), b)
	}
	f.T.Logf("%d looks, at %d of them carried columns may be read; %d values were behind, none longer than %s; %v", f.judge.Looks, f.judge.Leased, f.judge.Behind, f.judge.Longest, f.Writers.Counts())
	if f.judge.Leased == 0 || f.judge.Behind == 0 {
		f.T.Error("the judge saw nothing")
	}
	if f.T.Failed() {
		f.T.Logf("the applier said:\n%s", b)
	}
}

// The applier runs while each side leaves, dies and returns, and while both sides go to other hosts. Then it is killed again and again while they go back.
func TestApplierGoesOnBesideSidesAndAMoveOfThePair(t *testing.T) {
	turns.One(t, 3)
	t.Parallel() // it mostly waits
	f := startKept(t, 1, 11)
	b := f.Apply()
	f.begin()
	for _, side := range []farm.SideName{farm.A, farm.B} {
		name := "dbshard001/" + string(side)
		f.Stowage(farmtest.ExitFine, "", "side", "out", name)
		f.keepsUp(&b.Out, 1)
		f.KillServer(side)
		f.Stowage(farmtest.ExitFine, "", "side", "in", name)
		f.keepsUp(&b.Out, 2)
	}
	f.Must("plan", "--name", "first")
	f.Must("move", "first")
	f.keepsUp(&b.Out, 2)
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
	f.keepsUp(&b.Out, 2)
	f.end(&b.Out)
}

// The shard goes to another pair and is taken back from there, and goes for good. Its columns are kept wherever it is served, also while the move can still be undone.
func TestApplierGoesWithTheShard(t *testing.T) {
	turns.One(t, 3)
	t.Parallel() // it mostly waits
	f := startKept(t, 2, 12)
	b := f.Apply()
	f.begin()
	away := farmtest.Away
	m := f.Start("move", "shard", farmtest.FilesShard, "--to", away, "--approve-before", "settle")
	f.Await(m, "it waits for its approval", func() bool { return len(f.Status().Waiting) == 1 })
	f.keepsUp(&b.Out, 2)
	m.Kill()
	f.Must("undo")
	f.keepsUp(&b.Out, 2)
	f.ShardIsAt(farmtest.FilesShard, farmtest.HomePair)
	f.Must("move", "shard", farmtest.FilesShard, "--to", away)
	f.keepsUp(&b.Out, 2)
	f.ShardIsAt(farmtest.FilesShard, farmtest.AwayOne)
	if n := strings.Count(b.Out.String(), "filled in again"); n < 3 {
		t.Errorf("its tenants were filled in again %d times, want once for each pair that they came to\n%s", n, &b.Out)
	}
	f.end(&b.Out)
}
