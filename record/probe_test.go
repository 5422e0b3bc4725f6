package record

import (
	"context"
	"testing"
	"time"

	"stowage/digest"
)

// The work must not be compiled away, and must be short beside the second in which it is done once.
func TestProbesAreShort(t *testing.T) {
	w := newWork()
	var least time.Duration
	for k := range 50 {
		before, from := w.at, time.Now()
		w.do()
		if took := time.Since(from); k == 0 || took < least {
			least = took
		}
		if w.at == before {
			t.Fatal("nothing was done")
		}
	}
	if least < 10*time.Microsecond || least > pace/20 {
		t.Errorf("one probe takes %s at best", least)
	}
	t.Logf("one probe takes %s at best", least)
}

// A window from the slow log and one from the network are probed once a second, and the digest of each says so.
func TestAWindowProbesItsMachine(t *testing.T) {
	b := start(t, "probed", odd...)
	for name, take := range map[string]func(context.Context, Target) (Result, *digest.Digest, error){"slow log": b.r.SlowLog, "network": b.r.Network} {
		t.Run(name, func(t *testing.T) {
			if name == "network" {
				needsPackets(t)
			}
			x := (&bench{t, b.i, b.r}).during(take, func() {
				b.ask(1, 10)
				time.Sleep(2 * pace)
			})
			if x.err != nil {
				t.Fatal(x.err)
			}
			for _, in := range x.d.Report().Inputs {
				if in.Probe == nil || in.Probe.Count == 0 || float64(in.Probe.Count) > x.res.Seconds/pace.Seconds()+1 || in.Probe.Median <= 0 {
					t.Errorf("%s: probes %+v in %.1f s", in.Name, in.Probe, x.res.Seconds)
				}
			}
		})
	}
	b.nothingLeft()
}
