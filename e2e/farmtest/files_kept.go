package farmtest

import (
	"context"
	"testing"
	"time"

	"stowage/examples/egnyte-files/files"
	"stowage/farm"
)

// Kept is a farm whose columns an applier keeps, beside clients of both sides and a judge who looks at each server that serves.
type Kept struct {
	*FilesFarm
	judge  StaleJudge
	judged chan error
	stop   context.CancelFunc
}

// StartKept is one of so many active-active pairs, on servers of a line.
func StartKept(t *testing.T, line string, pairs int, seed uint64) *Kept {
	t.Helper()
	f := &Kept{FilesFarm: StartFilesFarmOf(t, line, farm.ActiveActive, pairs, 6000, files.Clients{Seed: seed, Pause: 20 * time.Millisecond}), judged: make(chan error, 1)}
	f.KeptByApplier(keptLag)
	f.judge.MaxLag = keptLag
	f.Stowage(ExitFine, "", "reshape", "--prepare")
	return f
}

// keptLag is max_lag of its spec: the program is away for less, and for longer.
const keptLag = 1500 * time.Millisecond

// Begin lets clients write and the judge look, when every tenant is active.
func (f *Kept) Begin() {
	f.T.Helper()
	f.Stowage(ExitFine, "right", "reshape", "--all")
	f.Write()
	ctx, stop := context.WithCancel(f.T.Context())
	f.stop = stop
	go func() { f.judged <- f.judge.Watch(ctx, f.FilesFarm) }()
}

// KeepsUp waits until the columns may be read on n servers, and looks that they still may a while later.
func (f *Kept) KeepsUp(b interface{ String() string }, n int) {
	f.T.Helper()
	for end, good := time.Now().Add(WaitLimit), 0; good < 10; PauseTest() {
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

// End stops judge and clients. Every column of every active tenant is what its versions say then, and every acknowledged write is there.
func (f *Kept) End(b interface{ String() string }) {
	f.T.Helper()
	f.stop()
	if err := <-f.judged; err != nil {
		f.T.Errorf("the judge: %v\n%s", err, b)
	}
	f.Rest()
	f.Stowage(ExitFine, "is right", "reshape", "verify")
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
