package record

import (
	"context"
	"slices"
	"time"

	"stowage/digest"
)

// probing times the same piece of work once a second while a window lasts: a witness of the machine for `digest compare`, see
// digest.Probe. How late the kernel lets it begin does not count: a server takes the time of a statement from when its thread runs.
type probing struct {
	stop  context.CancelFunc
	gone  chan struct{}
	times []time.Duration
}

// beginProbing probes until end.
func beginProbing() *probing {
	ctx, stop := context.WithCancel(context.Background())
	p := &probing{stop: stop, gone: make(chan struct{})}
	go p.run(ctx)
	return p
}

func (p *probing) run(ctx context.Context) {
	defer close(p.gone)
	table := newWork()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		from := time.Now()
		table.do()
		p.times = append(p.times, time.Since(from))
	}
}

// end stops, and writes what was found into the digest of the window; d may be nil.
func (p *probing) end() func(d *digest.Digest) {
	p.stop()
	<-p.gone
	slices.Sort(p.times)
	return func(d *digest.Digest) {
		if d != nil && len(p.times) > 0 {
			d.Probed(uint64(len(p.times)), p.times[len(p.times)/2])
		}
	}
}

// work is a walk through a table of 256 kB in which each step depends on the one before: it takes about a millisecond, of
// arithmetic and of memory beyond the first cache.
type work struct {
	table [1 << 15]uint64
	at    uint64
}

// workSteps is how many steps of it are one probe.
const workSteps = 150_000

func newWork() *work {
	w := &work{at: 1}
	for i := range w.table {
		w.table[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	return w
}

func (w *work) do() {
	for range workSteps {
		w.at = w.at*6364136223846793005 + w.table[w.at>>49] + 1442695040888963407
	}
}
