package digest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// traffic makes up a capture: classes with log-normal latencies, and a host whose speed drifts from second to second
// (lag-1 autocorrelation 0.6), which all events of a second share. That is what makes tests on single events lie.
type traffic struct {
	seed    uint64
	seconds int
	perSec  int
	start   int64
	slow    map[int]float64 // class -> factor on the slowest tenth of its events (and more on its p95)
	all     float64         // factor on everything; 0 means 1
	classes int             // default 11
	over    float64         // microseconds: what is not longer is not logged
}

func (tr traffic) digest(keep func(second int) bool) *Digest {
	b := New(Options{})
	in := input{name: "made up"}
	r := rand.New(rand.NewPCG(tr.seed, 99))
	classes := tr.classes
	if classes == 0 {
		classes = 11
	}
	mood := 0.0
	for s := range tr.seconds {
		mood = 0.6*mood + 0.12*r.NormFloat64()
		for range tr.perSec {
			k := r.IntN(classes)
			us := 25 * math.Pow(1.8, float64(k)) * math.Exp(0.5*r.NormFloat64()+mood)
			if r.IntN(50) == 0 {
				us *= 4 + 4*r.Float64()
			}
			if f := tr.slow[k]; f != 0 {
				us *= f
			}
			if tr.all != 0 {
				us *= tr.all
			}
			if us < tr.over || keep != nil && !keep(s) {
				continue
			}
			e := event{
				at: (tr.start + int64(s)) * 1e6, timed: true, queryTime: narrow(uint64(us) * 1000),
				fingerprint: fmt.Appendf(nil, "select %c from t", 'a'+k), text: []byte("select"),
			}
			b.add(&in, &e)
		}
	}
	return b.Digest()
}

func verdicts(c Comparison) map[Verdict]int {
	out := map[Verdict]int{}
	for _, ch := range c.Classes {
		out[ch.Verdict]++
	}
	return out
}

// Whole seconds of one capture go to one side or the other at random, a thousand times. Nothing changed, so whatever is
// called faster or slower is a false alarm: at most 6 % are allowed at a nominal 5 %.
func TestCompareRaisesNoFalseAlarmsOnInterleavedHalves(t *testing.T) {
	captures, splits := 5, 200
	if testing.Short() {
		captures, splits = 2, 50
	}
	r := rand.New(rand.NewPCG(1, 1))
	judged, alarms := 0, 0
	for k := range captures {
		d := traffic{seed: uint64(k), seconds: 120, perSec: 1500}.digest(nil)
		p := pairUp(d, d)
		e := gather(p.before, d.level)
		take, rest := make([]bool, len(e.numbers)), make([]bool, len(e.numbers))
		for range splits {
			for i := range take {
				take[i] = r.IntN(2) == 0
				rest[i] = !take[i]
			}
			tr := trial{o: CompareOptions{}.withDefaults(), before: picked(e, take), after: picked(e, rest)}
			tr.judge(p)
			for i := range tr.tests {
				if tr.judged[i] {
					judged++
				}
				if tr.tests[i].flagged {
					alarms++
				}
			}
		}
	}
	share := float64(alarms) / float64(judged)
	t.Logf("%d false alarms in %d judgements: %.2f %%", alarms, judged, 100*share)
	if judged < captures*splits*10 {
		t.Fatalf("only %d judgements: the test has no teeth", judged)
	}
	if share > 0.06 {
		t.Errorf("false alarms %.2f %%, allowed 6 %%", 100*share)
	}
}

// Two captures of the same thing, one after the other, are a harder A/A: the drift is not shared.
func TestCompareRaisesNoFalseAlarmsOnTwoRuns(t *testing.T) {
	n := 20
	if testing.Short() {
		n = 6
	}
	judged, alarms := 0, 0
	for k := range n {
		a := traffic{seed: uint64(100 + k), seconds: 60, perSec: 1500}.digest(nil)
		b := traffic{seed: uint64(500 + k), seconds: 60, perSec: 1500, start: 5000}.digest(nil)
		v := verdicts(Compare(a, b, CompareOptions{SelfCheck: -1}))
		alarms += v[VerdictSlower] + v[VerdictFaster]
		judged += 11
	}
	t.Logf("%d false alarms in %d judgements", alarms, judged)
	if float64(alarms) > 0.06*float64(judged) {
		t.Errorf("%d false alarms in %d judgements", alarms, judged)
	}
}

// One class made two times slower in a capture of one minute is found in nine of ten runs, and no other is blamed.
func TestCompareFindsOneSlowClass(t *testing.T) {
	n, found, blamed := 20, 0, 0
	if testing.Short() {
		n = 6
	}
	for k := range n {
		slow := k % 11
		a := traffic{seed: uint64(100 + k), seconds: 60, perSec: 2500}.digest(nil)
		b := traffic{seed: uint64(900 + k), seconds: 60, perSec: 2500, start: 5000, slow: map[int]float64{slow: 2}}.digest(nil)
		c := Compare(a, b, CompareOptions{SelfCheck: -1})
		for _, ch := range c.Classes {
			is := ch.Fingerprint == fmt.Sprintf("select %c from t", 'a'+slow)
			switch {
			case is && ch.Verdict == VerdictSlower:
				found++
				if ch.P95Ratio < 1.5 || ch.P95Ratio > 2.7 {
					t.Errorf("p95 ratio %.2f of a class made 2 times slower", ch.P95Ratio)
				}
			case ch.Verdict == VerdictSlower || ch.Verdict == VerdictFaster:
				blamed++
			}
		}
		if !c.GotSlower() && found == k+1 {
			t.Error("a slower class, but GotSlower is false")
		}
	}
	t.Logf("found in %d of %d runs, %d other classes blamed", found, n, blamed)
	if found*10 < n*9 {
		t.Errorf("found in %d of %d runs", found, n)
	}
	if float64(blamed) > 0.05*float64(n*10) {
		t.Errorf("%d other classes blamed in %d runs", blamed, n)
	}
}

// Everything 1.7 times slower is a matter of host or load: it is said once, as the common factor, and no class is blamed.
func TestCompareSeparatesTheCommonShift(t *testing.T) {
	a := traffic{seed: 1, seconds: 120, perSec: 1500}.digest(nil)
	b := traffic{seed: 2, seconds: 120, perSec: 1500, start: 5000, all: 1.7}.digest(nil)
	c := Compare(a, b, CompareOptions{})
	if c.CommonFactor < 1.5 || c.CommonFactor > 1.95 {
		t.Errorf("common factor %.3f, want about 1.7", c.CommonFactor)
	}
	if c.Overall.Verdict != VerdictSlower || !c.GotSlower() {
		t.Errorf("overall verdict %s (%s)", c.Overall.Verdict, c.Overall.Reason)
	}
	if v := verdicts(c); v[VerdictSlower]+v[VerdictFaster] > 0 {
		t.Errorf("classes blamed for what all have in common: %v", v)
	}
	for _, ch := range c.Classes {
		if len(ch.CI) != 2 || ch.CI[0] > ch.P95Ratio || ch.CI[1] < ch.P95Ratio {
			t.Errorf("%s: ratio %.3f outside of its interval %v", ch.Fingerprint, ch.P95Ratio, ch.CI)
		}
	}
}

// Of equal load logged from 1 s and from 4 s on, every class looked slower: long_query_time cut its times at another place.
func TestCompareJudgesNoTimesOfTwoThresholds(t *testing.T) {
	t.Parallel()
	logged := func(seed uint64, start int64, all, over float64) *Digest {
		return traffic{seed: seed, seconds: 300, perSec: 600, start: start, all: all, over: over}.digest(nil)
	}
	const second = 1e6
	low, high := logged(1, 0, 1000, second), logged(2, 5000, 1000, 4*second)
	for _, c := range []Comparison{Compare(low, high, CompareOptions{}), Compare(high, low, CompareOptions{})} {
		if v := verdicts(c); v[VerdictSlower]+v[VerdictFaster]+v[VerdictUnchanged] > 0 || c.Overall.Verdict != VerdictInconclusive || c.GotSlower() || c.CommonFactor != 1 {
			t.Errorf("verdicts %v, overall %s by %.2f", v, c.Overall.Verdict, c.CommonFactor)
		}
		if len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "different thresholds (long_query_time)") || !strings.Contains(c.Notes[0], "--filter 'query_time >= 4.00s'") {
			t.Errorf("notes %q", c.Notes)
		}
		if !strings.Contains(c.Overall.Reason, "different thresholds") {
			t.Errorf("reason %q", c.Overall.Reason)
		}
	}
	for name, sides := range map[string][2]*Digest{
		"equal thresholds":                {low, logged(2, 5000, 1000, second)},
		"equal thresholds, a slower host": {low, logged(2, 5000, 3000, second)},
		"a slower host, everything":       {logged(1, 0, 1000, 0), logged(2, 5000, 3000, 0)},
	} {
		if c := Compare(sides[0], sides[1], CompareOptions{}); len(c.Notes) > 0 {
			t.Errorf("%s: %q (%v and %v)", name, c.Notes, c.Before.QueryTime.Min, c.After.QueryTime.Min)
		}
	}
	if c := Compare(low, high, CompareOptions{SameStatements: true}); len(c.Notes) > 0 {
		t.Errorf("statements sent again: %q", c.Notes)
	}
}

func TestCompareIsInconclusiveOnThinEvidence(t *testing.T) {
	a := traffic{seed: 1, seconds: 10, perSec: 2000}.digest(nil)
	b := traffic{seed: 2, seconds: 10, perSec: 2000, slow: map[int]float64{3: 5}}.digest(nil)
	c := Compare(a, b, CompareOptions{})
	if v := verdicts(c); v[VerdictInconclusive] != 11 {
		t.Errorf("ten seconds a side: %v, want all inconclusive", v)
	}
	if len(c.Notes) == 0 {
		t.Error("no note says why")
	}
}

// A class of which a handful of events is known needs a change that nobody would believe: its reason gives no such figure.
func TestReasonsHoldFiguresThatAReaderCanUse(t *testing.T) {
	t.Parallel()
	window := &evidence{seconds: 10, numbers: []int64{0, 1, 2, 3, 4, 5, 6, 7}}
	tr, ct := &trial{o: CompareOptions{}.withDefaults(), before: window, after: window, level: 0.05, seconds: 10, window: 80}, &classTest{}
	for spread, want := range map[float64]string{
		0.02: "a change of p95 below 1.",
		0.5:  "the window is too short, take 16 minutes: a change of p95 below ",
		50:   "the window is too short, take 223 hours: not even a change of p95 by 20x can be distinguished from chance",
	} {
		var ch Change
		ct.ownBelief[figP95] = &belief{parts: []beliefPart{{1, spread, tailOf(20)}}}
		tr.short(ct, &ch)
		t.Log(ch.Reason)
		if !strings.HasPrefix(ch.Reason, want) || strings.Contains(ch.Reason, "e+") {
			t.Errorf("spread %g: %q", spread, ch.Reason)
		}
	}
}

func TestCompareNewAndGone(t *testing.T) {
	a := traffic{seed: 1, seconds: 60, perSec: 500, classes: 3}.digest(nil)
	b := traffic{seed: 2, seconds: 60, perSec: 500, classes: 4}.digest(nil)
	if v := verdicts(Compare(a, b, CompareOptions{})); v[VerdictNew] != 1 || v[VerdictGone] != 0 {
		t.Errorf("verdicts %v, want one new", v)
	}
	a = traffic{seed: 1, seconds: 60, perSec: 500, classes: 3}.digest(nil)
	if v := verdicts(Compare(b, a, CompareOptions{})); v[VerdictGone] != 1 || v[VerdictNew] != 0 {
		t.Errorf("verdicts %v, want one gone", v)
	}
}

func TestCompareIsReproducible(t *testing.T) {
	one := func() Comparison {
		a := traffic{seed: 1, seconds: 60, perSec: 300}.digest(nil)
		b := traffic{seed: 2, seconds: 60, perSec: 300}.digest(nil)
		return Compare(a, b, CompareOptions{})
	}
	if a, b := fmt.Sprintf("%+v", one().Classes[0].CI), fmt.Sprintf("%+v", one().Classes[0].CI); a != b {
		t.Errorf("equal input and seed gave %s and %s", a, b)
	}
}

func TestCompareOnlyUnchangedWithProof(t *testing.T) {
	a := traffic{seed: 1, seconds: 3600, perSec: 60, classes: 3}.digest(nil)
	b := traffic{seed: 2, seconds: 3600, perSec: 60, classes: 3}.digest(nil)
	c := Compare(a, b, CompareOptions{})
	for _, ch := range c.Classes {
		if ch.Verdict == VerdictUnchanged && !ch.OwnCI.within(1/1.1, 1.1) {
			t.Errorf("unchanged, but the interval is %v", ch.OwnCI)
		}
	}
	if v := verdicts(c); v[VerdictUnchanged] == 0 {
		t.Errorf("an hour of equal traffic proves nothing unchanged: %v", v)
	}
}

func TestCompareSaysWhatIsWrongWithTheCaptures(t *testing.T) {
	a := traffic{seed: 1, seconds: 30, perSec: 100}.digest(nil)
	b := New(Options{})
	sampled := strings.ReplaceAll(logged(90000, "COMMIT"), "Bytes_sent: 197", "Bytes_sent: 197  Log_slow_rate_type: query  Log_slow_rate_limit: 10")
	if err := b.ReadSlowLog("log", strings.NewReader(strings.Repeat(sampled, 2000))); err != nil {
		t.Fatal(err)
	}
	c := Compare(a, b.Digest(), CompareOptions{})
	if text := strings.Join(c.Notes, "\n"); !strings.Contains(text, "AFTER was sampled") {
		t.Errorf("notes %q", c.Notes)
	}
}
