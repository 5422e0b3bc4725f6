package farmtest

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/host"
)

// KillsEach is how often a new server is killed while it is compared.
const KillsEach = 3

// KillNewServersAtCompare moves everything back to the other hosts, several
// pairs at once, and kills each new server some moments after each beginning of
// its compare; whoever looks after servers starts it again. It says how many
// kills there were, and how often a server could not find its relay log.
func (f *LiveFarm) KillNewServersAtCompare(lanes int) (kills, lost int) {
	t := f.T
	t.Helper()
	f.Lanes = lanes
	f.TurnAround()
	casts := map[act.Key]Cast{}
	for _, c := range f.Planned(f.Plan()).Casts {
		casts[act.Key{Pair: c.Pair, Side: c.Side}] = c
	}
	local, err := host.NewLocal(QuietLog())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := keptIn(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	b := f.Start("move", f.Plan())
	var strikes sync.WaitGroup
	struck, free := map[act.Key]int{}, map[act.Key]chan struct{}{}
	var seen int64
	for ended := false; !ended; {
		select {
		case <-b.done:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
		run, err := act.Latest(kept)
		if err != nil || run.Subject != f.Plan() {
			continue // it asks its questions
		}
		events, last, err := kept.Events(run.ID, seen)
		if err != nil {
			t.Fatal(err)
		}
		seen = last
		for _, e := range events {
			if strings.Contains(e.Text, "1201") {
				lost++
			}
			k := act.Key{Pair: e.Pair, Side: e.Side}
			if e.Kind != farm.StepStarted || e.Step != "compare" || struck[k] == KillsEach {
				continue
			}
			if free[k] == nil {
				free[k] = make(chan struct{}, 1)
			}
			select {
			case free[k] <- struct{}{}: // one at a time
				struck[k]++
				kills++
				strikes.Go(func() { strike(local, casts[k].Who[Target]); <-free[k] })
			default:
			}
		}
	}
	strikes.Wait()
	if code := b.cmd.ProcessState.ExitCode(); code != ExitFine {
		t.Errorf("exit %d\n%s", code, &b.Out)
	}
	return kills, lost
}

// strike kills a server, and starts it again until it is up.
func strike(local *host.Local, i host.Instance) {
	ctx, done := context.WithTimeout(context.Background(), WaitLimit)
	defer done()
	time.Sleep(rand.N(600 * time.Millisecond))
	if pid, err := local.Running(ctx, i); err == nil && pid != 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for time.Sleep(rand.N(400 * time.Millisecond)); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		if err := local.Start(ctx, i, 30*time.Second); err == nil {
			return
		}
	}
}
