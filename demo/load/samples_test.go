package load

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/farm"
)

func TestDistribution(t *testing.T) {
	var times []uint32
	for n := uint32(1000); n >= 1; n-- {
		times = append(times, n*1000)
	}
	want := Distribution{Count: 1000, P50: 500, P95: 950, P99: 990, P999: 999, Max: 1000}
	if got := distribute(times); got != want {
		t.Errorf("1 to 1000 ms: %+v, want %+v", got, want)
	}
	if got, want := distribute([]uint32{1500}), (Distribution{Count: 1, P50: 1.5, P95: 1.5, P99: 1.5, P999: 1.5, Max: 1.5}); got != want {
		t.Errorf("one sample: %+v, want %+v", got, want)
	}
	if got := distribute(nil); got != (Distribution{}) {
		t.Errorf("no sample: %+v", got)
	}
}

// TestSampleWindow: the window is half open, a cut record does not shift those
// that follow, and pauses are no queries.
func TestSampleWindow(t *testing.T) {
	dir := t.TempDir()
	at := time.UnixMicro(1479762311000000)
	l, err := openSamples(dir, "client-01")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		l.add(sample{at: at.Add(time.Duration(n) * time.Second), micros: uint32(1000 * (n + 1)), kind: kindCommit, pair: 3, gate: 7})
	}
	l.add(sample{at: at, micros: 250000, kind: kindPause})
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "samples", "client-01.bin")
	if err := os.Truncate(path, 11*sampleSize-5); err != nil {
		t.Fatal(err)
	}
	if l, err = openSamples(dir, "client-01"); err != nil {
		t.Fatal(err)
	}
	l.add(sample{at: at, micros: 300000, kind: kindPause})
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	got, err := Latency(dir, at.Add(2*time.Second), at.Add(5*time.Second))
	if err != nil || got.Count != 3 || got.Max != 5 || got.P50 != 4 {
		t.Errorf("seconds 2 to 5: %+v %v, want 3 samples of 3, 4 and 5 ms", got, err)
	}
	if got, err := Pauses(dir, at, at.Add(time.Minute)); err != nil || got.Count != 1 || got.Max != 300 {
		t.Errorf("pauses: %+v %v, want the one of 300 ms", got, err)
	}
	byKind, err := LatencyByKind(dir, at, at.Add(time.Minute))
	if err != nil || len(byKind) != 1 || byKind["commit"].Count != 10 {
		t.Errorf("by kind: %+v %v", byKind, err)
	}
}

func TestNumberPairs(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		pairs []farm.PairName
		want  map[farm.PairName]uint16
	}{
		{[]farm.PairName{"p1", "p2"}, map[farm.PairName]uint16{"p1": 0, "p2": 1}},
		{[]farm.PairName{"p0", "p2"}, map[farm.PairName]uint16{"p0": 2, "p2": 1}}, // a number is never given twice
	} {
		got, err := numberPairs(dir, c.pairs)
		if err != nil {
			t.Fatal(err)
		}
		for p, n := range c.want {
			if got[p] != n {
				t.Errorf("%v: %s has number %d, want %d", c.pairs, p, got[p], n)
			}
		}
	}
}

// TestPace: an open loop, that makes up for at most one second.
func TestPace(t *testing.T) {
	now := time.Unix(1479762311, 0)
	p := newPace(10, rand.New(rand.NewPCG(1, 2)))
	first := p.next(now)
	if first.Before(now) || first.After(now.Add(100*time.Millisecond)) {
		t.Errorf("first at %s of %s, want within one interval", first, now)
	}
	if second := p.next(now); second != first.Add(100*time.Millisecond) {
		t.Errorf("second at %s, want one interval after %s", second, first)
	}
	later := now.Add(time.Minute)
	burst := 0
	for !p.next(later).After(later) {
		burst++
	}
	if burst < 10 || burst > 11 {
		t.Errorf("%d transactions are due after a minute's pause at 10 a second, want one second's worth", burst)
	}
	if got := newPace(0, nil).next(now); got != now {
		t.Errorf("no rate: next at %s, want now", got)
	}
}
