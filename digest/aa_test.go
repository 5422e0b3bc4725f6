package digest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"stowage/internal/turns"
)

// weather makes up captures as a busy host writes them: every class has a level of its own and shares one with all others,
// each an autoregression of first order with the given correlation time; now and then a burst, which lasts as long, makes a
// part of the classes slower. Nothing of it is a change: what differs between two captures is the weather.
type weather struct {
	seed    uint64
	tau     float64 // seconds
	seconds int
	classes int             // default 12
	slow    map[int]float64 // by class: times as slow
	all     float64         // all classes: times as slow; 0: as fast
	start   int64
	rough   float64 // times as strong; 0: as it is
	commit  bool    // the first class is COMMIT, which does no work of its own
	uneven  bool    // some classes are moved a third as much as others, some three times
	own     bool    // each class has its own level, and no more: nothing is shared, and there are no bursts
}

func (w weather) digest() *Digest {
	b := New(Options{})
	in := input{name: "made up"}
	r := rand.New(rand.NewPCG(w.seed, 18))
	n := w.classes
	if n == 0 {
		n = 12
	}
	phi := math.Exp(-1 / w.tau)
	step := math.Sqrt(1 - phi*phi)
	host, level, burst := r.NormFloat64(), make([]float64, n), make([]float64, n)
	names, base := make([][]byte, n), make([]float64, n)
	for k := range level {
		base[k] = 200 * math.Pow(1.7, float64(k))
		level[k] = r.NormFloat64()
		names[k] = fmt.Appendf(nil, "select %c from t", 'a'+k)
	}
	if w.commit {
		names[0] = []byte("commit")
	}
	for s := range w.seconds + int(3*w.tau) { // the first seconds are thrown away: bursts have to be under way
		host = phi*host + step*r.NormFloat64()
		begins := r.Float64() < 1/(6*w.tau)
		for k := range level {
			level[k] = phi*level[k] + step*r.NormFloat64()
			if r.Float64() < 1/w.tau {
				burst[k] = 0
			}
			if begins && r.IntN(2) == 0 {
				burst[k] = math.Log(1.3 + 0.7*r.Float64())
			}
		}
		if s < int(3*w.tau) {
			continue
		}
		for k := range level {
			mood := w.moved(k, n)*(0.10*host+0.06*level[k]+burst[k]*0.5) + math.Log(max(w.all, 0.001))
			if w.own {
				mood = 0.2*level[k] + math.Log(max(w.all, 0.001))
			}
			if w.all == 0 {
				mood -= math.Log(0.001)
			}
			if f := w.slow[k]; f != 0 {
				mood += math.Log(f)
			}
			for range 20 + r.IntN(20) {
				us := base[k] * math.Exp(0.4*r.NormFloat64()+mood)
				b.add(&in, &event{
					at: (w.start+int64(s))*1e6 + r.Int64N(1e6), timed: true, queryTime: narrow(uint64(us) * 1000), fingerprint: names[k], text: names[k],
				})
			}
		}
	}
	return b.Digest()
}

// moved is how strongly class k of n is moved.
func (w weather) moved(k, n int) float64 {
	if !w.uneven {
		return max(w.rough, 1)
	}
	return max(w.rough, 1) * math.Pow(3, 2*float64(k*7%n)/float64(n-1)-1)
}

// aaRun is what a number of pairs came to.
type aaRun struct {
	pairs, judged, alarms, exits, unchanged int
	found, wrong, hostSeen, hostSlower      int
}

func (w weather) pairs(n int) aaRun { return compareAll(n, w)[0] }

// compareAll compares n windows with one of each kind of load that came after. They begin with the same window, so the kinds may
// differ in what was changed and in nothing else.
func compareAll(n int, after ...weather) (runs []aaRun) {
	out := make([][]Comparison, n)
	work := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for k := range work {
				before := after[0]
				before.seed, before.slow, before.all = before.seed+uint64(2*k), nil, 0
				first := before.digest()
				for _, w := range after {
					w.seed, w.start = w.seed+uint64(2*k+1), 50_000
					out[k] = append(out[k], Compare(first, w.digest(), CompareOptions{SelfCheck: -1}))
				}
			}
		})
	}
	for k := range n {
		work <- k
	}
	close(work)
	workers.Wait()
	for i, w := range after {
		var of []Comparison
		for k := range n {
			of = append(of, out[k][i])
		}
		runs = append(runs, w.counted(of))
	}
	return runs
}

// counted is what the comparisons came to, by what was changed.
func (w weather) counted(out []Comparison) (run aaRun) {
	for _, c := range out {
		run.pairs++
		if c.GotSlower() {
			run.exits++
		}
		if c.Overall.Verdict == VerdictSlower {
			run.hostSlower++
		}
		if c.Overall.Verdict == VerdictSlower && c.CommonFactor > 1.3 {
			run.hostSeen++
		}
		for _, ch := range c.Classes {
			run.judged++
			f, slowed := w.slow[int(ch.Fingerprint[len("select ")]-'a')]
			switch {
			case ch.Verdict == VerdictUnchanged:
				run.unchanged++
				if slowed {
					run.wrong++
				}
			case slowed && ch.Verdict == VerdictSlower && f > 1:
				run.found++
			case ch.Verdict == VerdictFaster && (slowed || len(w.slow) > 1 || w.all != 0):
				run.wrong++
			case ch.Verdict == VerdictSlower, ch.Verdict == VerdictFaster:
				run.alarms++
			}
		}
	}
	return run
}

// aaPairs is how many pairs a case has: few by default, as many as STOWAGE_DIGEST_AA says for the table in
// docs/measuring/benchmarks.md.
func aaPairs(few int) int {
	if n, err := strconv.Atoi(os.Getenv("STOWAGE_DIGEST_AA")); err == nil && n > 0 {
		return n
	}
	return few
}

func aaWindows() []int {
	if os.Getenv("STOWAGE_DIGEST_AA") != "" {
		if one, err := strconv.Atoi(os.Getenv("STOWAGE_DIGEST_AA_SECONDS")); err == nil {
			return []int{one}
		}
		return []int{160, 640}
	}
	return []int{160}
}

// aaTaus are the correlation times that are tried.
func aaTaus() []float64 {
	if one, err := strconv.ParseFloat(os.Getenv("STOWAGE_DIGEST_AA_CORRELATION"), 64); err == nil {
		return []float64{one}
	}
	return []float64{5, 15, 30, 60}
}

// aaSeed moves the seeds: figures are not taken on those that the method was chosen with.
func aaSeed(seed uint64) uint64 {
	more, _ := strconv.ParseUint(os.Getenv("STOWAGE_DIGEST_AA_SEED"), 10, 64)
	return seed + more
}

func percentOf(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// aaLoads are the kinds of load in the table of false alarms.
var aaLoads = []struct {
	name   string
	rough  float64
	uneven bool
	own    bool
}{{"plain", 1, false, false}, {"strong", 3, false, false}, {"uneven", 1, true, false}, {"own", 1, false, true}}

// Load that stays up for as long as a fifth of the window or more was taken for a change in every second comparison.
func TestCompareRaisesNoFalseAlarmsWhereLoadDriftsSlowly(t *testing.T) {
	turns.One(t, 6)
	for _, seconds := range aaWindows() {
		for _, tau := range aaTaus() {
			for _, l := range aaLoads {
				if only := os.Getenv("STOWAGE_DIGEST_AA_LOAD"); only != "" && only != l.name {
					continue
				}
				run := weather{seed: aaSeed(1000), tau: tau, seconds: seconds, rough: l.rough, uneven: l.uneven, own: l.own}.pairs(aaPairs(6))
				t.Logf("%d s windows, correlation %2.0f s, %s load: false %.2f %% of %d judgements, exit 1 in %.1f %% of %d pairs (%d by what is common), unchanged %.1f %%",
					seconds, tau, l.name, percentOf(run.alarms, run.judged), run.judged, percentOf(run.exits, run.pairs), run.pairs, run.hostSlower, percentOf(run.unchanged, run.judged))
				if run.alarms*20 > run.judged || (run.exits-1)*20 > run.pairs && run.exits > 1 {
					t.Errorf("%d s, correlation %.0f s: %d false alarms in %d judgements, %d exits in %d pairs", seconds, tau, run.alarms, run.judged, run.exits, run.pairs)
				}
			}
		}
	}
}

func first(n int, f float64) map[int]float64 {
	out := map[int]float64{}
	for k := range n {
		out[k] = f
	}
	return out
}

// Seven of twelve classes ten times slower were "5 faster", the untouched ones.
func TestCompareNeverTurnsAChangeRound(t *testing.T) {
	turns.One(t, 6)
	for _, seconds := range aaWindows() {
		for _, tau := range aaTaus() {
			cases := []struct {
				name string
				w    weather
				want float64 // share of what is to be found, at the shortest correlation
			}{
				{"one class x2", weather{slow: map[int]float64{5: 2}}, 0.9},
				{"one class x1.3", weather{slow: map[int]float64{5: 1.3}}, 0.7},
				{"7 of 12 classes x10", weather{slow: first(7, 10)}, 0.9},
				{"host x1.8", weather{all: 1.8}, 0},
				{"host x1.8, one class x2", weather{all: 1.8, slow: map[int]float64{5: 2}}, 0.9},
				{"9 of 12 classes x1.4", weather{slow: first(9, 1.4)}, 0}, // looks like a slower host: the other three must not be faster
			}
			var after []weather
			for i := range cases {
				w := &cases[i].w
				w.seed, w.tau, w.seconds = aaSeed(7000), tau, seconds
				after = append(after, *w)
			}
			for i, run := range compareAll(aaPairs(4), after...) {
				c := cases[i]
				t.Logf("%d s windows, correlation %2.0f s, %-24s found %5.1f %%, wrong way %d, others blamed %.2f %%, host seen %.1f %%, exit 1 %.1f %% of %d pairs", seconds, tau, c.name,
					percentOf(run.found, run.pairs*len(c.w.slow)), run.wrong, percentOf(run.alarms, run.judged), percentOf(run.hostSeen, run.pairs), percentOf(run.exits, run.pairs), run.pairs)
				if run.wrong > 0 {
					t.Errorf("%s: %d verdicts against the truth", c.name, run.wrong)
				}
				if tau == 5 && float64(run.found+1) < c.want*float64(run.pairs*len(c.w.slow)) {
					t.Errorf("%s: found in %d of %d", c.name, run.found, run.pairs*len(c.w.slow))
				}
			}
		}
	}
}

// picked is the evidence of some of the blocks.
func picked(e *evidence, take []bool) *evidence {
	out := &evidence{seconds: e.seconds, events: e.events}
	for i, number := range e.numbers {
		if take[i] {
			out.numbers = append(out.numbers, number)
		}
	}
	for _, row := range e.classes {
		var some []blockCounts
		for i, b := range row {
			if take[i] {
				some = append(some, b)
			}
		}
		out.classes = append(out.classes, some)
	}
	return out
}

// Of three classes two became three times slower: their median is what they did, and the third was called faster. Beside a
// COMMIT that became as slow as all others it is the host.
func TestCompareOfFewClassesDividesOnlyByAWitness(t *testing.T) {
	few := weather{tau: 5, seconds: 160, classes: 3, seed: 1}
	after := few
	after.seed, after.start, after.slow = 2, 50_000, map[int]float64{0: 3, 1: 3}
	c := Compare(few.digest(), after.digest(), CompareOptions{})
	if c.CommonFactor != 1 || c.CommonReason == "" || c.Overall.SlowerCount != 2 || c.Overall.FasterCount != 0 {
		t.Errorf("common %v (%s), %d slower, %d faster", c.CommonFactor, c.CommonReason, c.Overall.SlowerCount, c.Overall.FasterCount)
	}
	tests := make([]classTest, 3)
	for i := range tests {
		for f := range tests[i].raw {
			tests[i].raw[f] = math.Log(1.8)
			tests[i].rawBelief[f] = &belief{parts: []beliefPart{{1, 0.05, tailOf(20)}}}
		}
	}
	tr := trial{o: CompareOptions{}.withDefaults(), judged: []bool{true, true, true}, tests: tests}
	tr.shared.classes = 3
	if got := tr.disagreement(tests[0].raw); got == "" {
		t.Error("three classes alone were believed")
	}
	tests[1].witness = true
	if got := tr.disagreement(tests[0].raw); got != "" {
		t.Errorf("with a witness: %s", got)
	}
}

// Four classes on a slower host: without a COMMIT among them nobody knows that it is the host, and each is slower by itself.
func TestCompareOfFewClassesAsksCommitForTheHost(t *testing.T) {
	for _, isThere := range []bool{false, true} {
		few := weather{tau: 5, seconds: 160, classes: 4, seed: 11, commit: isThere}
		after := few
		after.seed, after.start, after.all = 12, 50_000, 1.8
		c := Compare(few.digest(), after.digest(), CompareOptions{})
		switch {
		case !isThere && (c.CommonFactor != 1 || len(c.CommonFactorCI) != 0 || c.Overall.SlowerCount != 4 || !strings.Contains(c.CommonReason, "4 classes are too few")):
			t.Errorf("without a witness: common %v (%s), %d slower", c.CommonFactor, c.CommonReason, c.Overall.SlowerCount)
		case isThere && (c.CommonFactor < 1.5 || c.Overall.Verdict != VerdictSlower || c.Overall.SlowerCount != 0):
			t.Errorf("beside COMMIT: common %v (%s), %s, %d slower", c.CommonFactor, c.CommonReason, c.Overall.Verdict, c.Overall.SlowerCount)
		}
	}
}

// Events that come by themselves, nothing of which lasts, were said to stay up or down for 49 s.
func TestCompareSaysForHowLongLoadLastsOnlyWhereItDoes(t *testing.T) {
	even := traffic{seed: 5, seconds: 160, perSec: 300}.digest(nil)
	again := traffic{seed: 6, seconds: 160, perSec: 300, start: 5000}.digest(nil)
	c := Compare(even, again, CompareOptions{SelfCheck: -1})
	var b bytes.Buffer
	if err := WriteCompareText(&b, c, TextOptions{}); err != nil || c.Correlation != 0 || strings.Contains(b.String(), "stays up") {
		t.Errorf("%v: %v s\n%s", err, c.Correlation, b.String())
	}
	w := weather{tau: 15, seconds: 640, seed: 3, rough: 3}
	after := w
	after.seed, after.start = 4, 50_000
	if c := Compare(w.digest(), after.digest(), CompareOptions{SelfCheck: -1}); c.Correlation < 5 || c.Correlation > 60 {
		t.Errorf("load that lasts for 15 s is said to last %v s", c.Correlation)
	}
}

// Seven of twelve classes became ten times slower, and an eighth, which nobody had touched, was "faster": of so many discoveries
// one may be false.
func TestCompareAsksMoreOfAClassThatMovedAgainstTheOthers(t *testing.T) {
	for _, c := range []struct {
		off  float64 // how far off its figures may be
		want bool
	}{{0.168, false}, {0.05, true}} {
		tests := make([]classTest, 12)
		tr := trial{o: CompareOptions{}.withDefaults(), judged: make([]bool, len(tests)), tests: tests}
		for i := range tests {
			change, off := 0.0, 0.05
			switch {
			case i < 7:
				change = math.Log(10)
			case i == 7:
				change, off = -0.6, c.off
			}
			tr.judged[i] = true
			for _, f := range judgedFigures {
				tests[i].tested[f], tests[i].raw[f], tests[i].own[f] = true, change, change
				tests[i].rawBelief[f] = &belief{parts: []beliefPart{{1, off, tailOf(20)}}}
				tests[i].ownBelief[f] = tests[i].rawBelief[f]
			}
		}
		tr.decide()
		if tests[7].flagged != c.want || !tests[6].flagged || tests[8].flagged {
			t.Errorf("off by %v: p %v, flagged %v, want %v; a slow one %v, one that stood still %v", c.off, tests[7].p, tests[7].flagged, c.want, tests[6].flagged, tests[8].flagged)
		}
	}
}
