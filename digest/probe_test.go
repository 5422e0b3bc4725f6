package digest

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// Three classes without a COMMIT among them became 1.8 times slower. Where the host's own work took as much longer, it is the host;
// where that took what it took before, each class is slower by itself, and nobody is divided by the others.
func TestCompareOfFewClassesAsksTheHostItself(t *testing.T) {
	few := weather{tau: 5, seconds: 160, classes: 3, seed: 21}
	after := few
	after.seed, after.start, after.all = 22, 50_000, 1.8
	before, slow := recorded(few), recorded(after)
	for _, c := range []struct {
		was, is time.Duration
		times   uint64
		divided bool
		says    string
	}{
		{0, 0, 0, false, "3 classes are too few"},
		{time.Millisecond, 1800 * time.Microsecond, 150, true, "all classes alike"},
		{time.Millisecond, 1010 * time.Microsecond, 150, false, "the host's own work took 1.01x"},
		{time.Millisecond, 3 * time.Millisecond, 150, false, "the host's own work took 3.00x"},
		{time.Millisecond, 1800 * time.Microsecond, wantProbes - 1, false, "3 classes are too few"},
	} {
		before.Probed(150, c.was)
		slow.Probed(c.times, c.is)
		out := Compare(kept(t, before), kept(t, slow), CompareOptions{SelfCheck: -1})
		var text bytes.Buffer
		if err := WriteCompareText(&text, out, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if divided := len(out.CommonFactorCI) == 2; divided != c.divided || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), c.says) {
			t.Errorf("probes of %s and %s: divided %v, common %v (%s)\n%s", c.was, c.is, divided, out.CommonFactor, out.CommonReason, text.String())
		}
		if slower := out.Overall.SlowerCount; c.divided && (slower != 0 || out.Overall.Verdict != VerdictSlower) || !c.divided && slower != 3 {
			t.Errorf("probes of %s and %s: %d slower, overall %s", c.was, c.is, slower, out.Overall.Verdict)
		}
		isKnown := c.times >= wantProbes
		if (out.HostRatio != nil) != isKnown || isKnown && math.Abs(*out.HostRatio-c.is.Seconds()/c.was.Seconds()) > 1e-9 {
			t.Errorf("probes of %s and %s: host ratio %v", c.was, c.is, out.HostRatio)
		}
	}
}

// recorded is load as a recording keeps it, of one input.
func recorded(w weather) *Digest {
	d := w.digest()
	d.inputs = []input{{name: "a, slow log, piece 1", kind: "slowlog", events: d.events}}
	return d
}

// kept is what is read of a digest that was written.
func kept(t *testing.T, d *Digest) *Digest {
	t.Helper()
	out, err := Decode(bytes.NewReader(encoded(t, d)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Two regressed, the third did not, and the processors are busy with what the two do: nobody became faster, whatever the probe says.
func TestProbesTurnNothingRound(t *testing.T) {
	few := weather{tau: 5, seconds: 160, classes: 3}
	for k := range 8 {
		before, after := few, few
		before.seed, after.seed, after.start, after.slow = uint64(31+2*k), uint64(32+2*k), 50_000, map[int]float64{0: 3, 1: 3}
		b, a := recorded(before), recorded(after)
		b.Probed(150, time.Millisecond)
		a.Probed(150, time.Duration(float64(time.Millisecond)*(1+float64(k)/2)))
		if c := Compare(b, a, CompareOptions{SelfCheck: -1}); c.Overall.FasterCount != 0 || !c.GotSlower() {
			t.Errorf("the host's own work took %.1fx: %d faster, %d slower, overall %s", 1+float64(k)/2, c.Overall.FasterCount, c.Overall.SlowerCount, c.Overall.Verdict)
		}
	}
}

// A side of which one input was not probed has no witness, and one input of no events does not need one.
func TestProbesAreOfAllInputs(t *testing.T) {
	few := weather{tau: 5, seconds: 30, classes: 2, seed: 41}
	probed, not := recorded(few), recorded(few)
	probed.Probed(40, 2*time.Millisecond)
	probed.inputs = append(probed.inputs, input{name: "empty"})
	if log, ok := probed.probed(); !ok || math.Abs(log-math.Log(2e6)) > 1e-9 {
		t.Errorf("%v, %v", log, ok)
	}
	raw, err := json.Marshal(probed.Report().Inputs)
	if err != nil || !strings.Contains(string(raw), `"probe":{"count":40,"median":0.002}`) || !strings.Contains(string(raw), `"probe":null`) {
		t.Errorf("%v %s", err, raw)
	}
	if err := probed.Merge(not); err != nil {
		t.Fatal(err)
	}
	if _, ok := probed.probed(); ok {
		t.Error("half of the events were recorded without probes")
	}
}
