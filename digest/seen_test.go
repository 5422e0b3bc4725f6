package digest

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

// sparseLog is a log of slow statements as it is by default: n of them in so many seconds, each of which took two.
func sparseLog(start int64, n, seconds int) string {
	var log strings.Builder
	for i := range n {
		log.WriteString(logOf(start+int64(i*(seconds-1)/(n-1)), 1, 1, 2, "SELECT a FROM t WHERE id ="))
	}
	return log.String()
}

func sparseDigest(t *testing.T, logs ...string) *Digest {
	t.Helper()
	b := New(Options{})
	for _, log := range logs {
		if err := b.ReadSlowLog("log", strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Digest()
}

// Three times as many slow statements in the same ten hours were "2 -> 2 s of query time a second, +0 by calls": only seconds
// in which anything happened counted as time.
func TestRatesOfALogThatIsMostlySilent(t *testing.T) {
	const hours = 10 * 3600
	stored := func(d *Digest) *Digest {
		out, err := Decode(bytes.NewReader(encoded(t, d)))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	c := Compare(stored(sparseDigest(t, sparseLog(1795297200, 300, hours))), stored(sparseDigest(t, sparseLog(1795383600, 900, hours))), CompareOptions{})
	if c.Before.Seconds != hours || c.After.Seconds != hours {
		t.Errorf("%v and %v seconds were looked at, want %d", c.Before.Seconds, c.After.Seconds, hours)
	}
	o := c.Overall
	if math.Abs(o.LoadBefore-600.0/hours) > 1e-9 || math.Abs(o.LoadAfter-1800.0/hours) > 1e-9 || math.Abs(o.LoadByCalls-1200.0/hours) > 1e-9 {
		t.Errorf("load %v -> %v, %v by calls", o.LoadBefore, o.LoadAfter, o.LoadByCalls)
	}
	if ch := c.Classes[0]; len(ch.CallsCI) > 0 {
		t.Errorf("three times as many calls, and an interval of their ratio from the seconds that had some: %v", ch.CallsCI)
	}
}

// An hour with ten times as many slow statements had the same calls a second as its neighbours.
func TestTrendOfALogThatIsMostlySilent(t *testing.T) {
	const start = 1795298400
	d := sparseDigest(t, sparseLog(start, 37, 3600))
	for i, n := range []int{361, 37} {
		if err := d.Merge(sparseDigest(t, sparseLog(start+3600*int64(i+1), n, 3600))); err != nil {
			t.Fatal(err)
		}
	}
	trend := d.Trend(TrendOptions{Step: time.Hour})
	if len(trend.Steps) != 3 {
		t.Fatalf("steps %+v", trend.Steps)
	}
	for i, want := range []float64{37, 361, 37} {
		if s := trend.Steps[i]; s.Seconds != 3600 || math.Abs(s.Calls-want/3600) > 1e-9 || math.Abs(s.Load-2*want/3600) > 1e-9 {
			t.Errorf("hour %d: %+v", i, s)
		}
	}
}

// Time between two windows was not looked at; that of a filter was, whatever it let through.
func TestTimeThatWasLookedAt(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		logs []string
		want int64
	}{
		{"two windows an hour apart", Options{}, []string{sparseLog(1000, 5, 100), sparseLog(5000, 5, 50)}, 150},
		{"two servers at the same time", Options{}, []string{sparseLog(1000, 5, 100), sparseLog(1040, 5, 100)}, 140},
		{"since", Options{Since: time.Unix(1050, 0)}, []string{sparseLog(1000, 100, 100)}, 50},
		{"in parts", Options{Workers: 2}, []string{sparseLog(1000, 30000, 90000)}, 90000},
		{"nothing", Options{}, []string{"# no event\n"}, 0},
	} {
		b := New(c.o)
		for _, log := range c.logs {
			if err := b.ReadSlowLog("log", bytes.NewReader([]byte(log))); err != nil {
				t.Fatal(err)
			}
		}
		d := b.Digest()
		if s := d.side(); s.Seconds != float64(c.want) {
			t.Errorf("%s: %v s, want %d", c.name, s.Seconds, c.want)
		}
		for i := range d.inputs {
			d.inputs[i].from, d.inputs[i].to = 0, 0 // as stored by older versions
		}
		if got := blocksIn(d.seenTime(), 0, math.MaxInt64); got > c.want {
			t.Errorf("%s, without what inputs know: %d blocks", c.name, got)
		}
	}
	filter, err := ParseFilter("verb = update")
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{Filter: filter})
	log := sparseLog(1000, 5, 100) + logOf(1120, 1, 1, 2, "UPDATE t SET a =")
	if err := b.ReadSlowLog("log", strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	if d := b.Digest(); d.side().Seconds != 121 || d.events != 1 {
		t.Errorf("%d events in %v s", d.events, d.side().Seconds)
	}
}
