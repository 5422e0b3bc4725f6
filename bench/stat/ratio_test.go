package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"stowage/internal/turns"
)

func TestJudge(t *testing.T) {
	rule := Rule{Tolerance: 0.05}
	even := func(v float64) []float64 { return []float64{v * 0.99, v, v * 1.01, v} }
	for name, x := range map[string]struct {
		a, b    []float64
		rule    Rule
		verdict Verdict
		more    string
	}{
		"three times as fast":  {even(1000), even(3000), rule, Better, "0"},
		"a third":              {even(3000), even(1000), rule, Worse, "0"},
		"within 5 %":           {even(1000), even(1010), rule, Same, "0"},
		"10 %, and sure":       {even(1000), even(1100), rule, Better, "0"},
		"10 %, and noisy":      {[]float64{800, 1000, 1250}, []float64{880, 1100, 1375}, rule, Inconclusive, "some"},
		"alike, and noisy":     {[]float64{800, 1000, 1250}, []float64{800, 1000, 1250}, rule, Inconclusive, "some"},
		"one run each":         {[]float64{1000}, []float64{3000}, rule, Inconclusive, "1"},
		"nothing":              {nil, even(1000), rule, Inconclusive, "2"},
		"hidden by drift":      {even(1000), even(1100), Rule{Tolerance: 0.05, Drift: 0.2}, Inconclusive, "never"},
		"not hidden by drift":  {even(1000), even(3000), Rule{Tolerance: 0.05, Drift: 0.2}, Better, "0"},
		"never the same twice": {[]float64{1000, 1000}, []float64{1000, 1000}, rule, Same, "0"},
	} {
		j := Judge(x.a, x.b, x.rule)
		more := "never"
		if j.MoreRuns != nil {
			if more = fmt.Sprint(*j.MoreRuns); x.more == "some" && *j.MoreRuns > 0 {
				more = "some"
			}
		}
		if j.Verdict != x.verdict || more != x.more {
			t.Errorf("%s: %s with %s runs more, want %s with %s; %+v", name, j.Verdict, more, x.verdict, x.more, j)
		}
		if back := Judge(x.b, x.a, x.rule); (j.Verdict == Better) != (back.Verdict == Worse) || j.Verdict == Same && back.Verdict != Same {
			t.Errorf("%s: %s, and the other way round %s", name, j.Verdict, back.Verdict)
		}
	}
}

// noise is how a machine disturbs a measurement: all of a result is a bit off, speed drifts slowly while it is made, each
// run differs, and now and then one is spoilt. The last of noises is the worst there is for a comparison: every run looks sure.
type noise struct {
	usual              float64 // what is known of such a storage: see Drift
	session, slow, run float64 // standard deviations of logarithms
	memory             float64 // lag-1 correlation of the slow part, from a run of the step to its next
	spoilt             float64 // part of runs that are slower, by a factor of up to 5
}

// measure makes one result's runs of one step, and its A/A pair, around a true speed: at least 3, until they look sure, at most 8.
func (n noise) measure(random *rand.Rand, speed float64) ([]float64, Pair) {
	session, slow := n.session*random.NormFloat64(), n.slow*random.NormFloat64()
	one := func() float64 {
		v := session + slow + n.run*random.NormFloat64()
		if random.Float64() < n.spoilt {
			v -= math.Log(1 + 4*random.Float64())
		}
		slow = n.memory*slow + n.slow*math.Sqrt(1-n.memory*n.memory)*random.NormFloat64()
		return speed * math.Exp(v)
	}
	p := Pair{First: max(one(), one())}
	for range 8 {
		p.Runs = append(p.Runs, one())
		if _, ci := Mean(p.Runs); len(p.Runs) >= 3 && ci.HalfWidth() <= 0.05 {
			break
		}
	}
	p.Last = max(one(), one())
	return p.Runs, p
}

var noises = map[string]noise{
	"idle":                 {usual: 0.01, session: 0.01, slow: 0.005, run: 0.01},
	"a cloud disk":         {usual: 0.06, session: 0.02, slow: 0.05, run: 0.05, memory: 0.5},
	"a busy neighbour":     {usual: 0.06, session: 0.02, slow: 0.15, run: 0.1, memory: 0.6, spoilt: 0.05},
	"spoilt runs":          {usual: 0.06, session: 0.02, slow: 0.02, run: 0.03, memory: 0.3, spoilt: 0.15},
	"a load test beside":   {usual: 0.06, session: 0.03, slow: 0.4, run: 0.3, memory: 0.5, spoilt: 0.1},
	"other guests":         {usual: 0.06, session: 0.06, slow: 0.03, run: 0.03, memory: 0.5},
	"quiet, then drifting": {usual: 0.06, session: 0.02, slow: 0.1, run: 0.01, memory: 0.8},
}

// TestAgainstItself: the same storage measured twice is the same, or nothing can be said, in 95 of 100 comparisons at
// least, however it is disturbed.
func TestAgainstItself(t *testing.T) {
	turns.One(t, 6)
	for name, n := range noises {
		random := rand.New(rand.NewPCG(11, 12))
		const rounds = 1000
		count := map[Verdict]int{}
		for range rounds {
			a, pa := n.measure(random, 1000)
			b, pb := n.measure(random, 1000)
			count[Judge(a, b, Rule{Tolerance: 0.05, Drift: Drift(n.usual, pa, pb)}).Verdict]++
		}
		t.Logf("%-20s %v", name, count)
		if wrong := count[Better] + count[Worse]; wrong > rounds*5/100 {
			t.Errorf("%s: %d of %d comparisons of a storage with itself find a difference", name, wrong, rounds)
		}
	}
}

// TestDifferencesAreFound: what is there is found where the noise leaves room for it, and never the wrong way round.
func TestDifferencesAreFound(t *testing.T) {
	for _, x := range []struct {
		noise  string
		factor float64
		least  float64
	}{{"idle", 1.15, 0.9}, {"a cloud disk", 1.5, 0.7}, {"a busy neighbour", 3, 0.75}, {"spoilt runs", 2, 0.7}} {
		random := rand.New(rand.NewPCG(13, 14))
		const rounds = 300
		count := map[Verdict]int{}
		for range rounds {
			a, pa := noises[x.noise].measure(random, 1000)
			b, pb := noises[x.noise].measure(random, 1000*x.factor)
			count[Judge(a, b, Rule{Tolerance: 0.05, Drift: Drift(noises[x.noise].usual, pa, pb)}).Verdict]++
		}
		t.Logf("%-20s %.2f %v", x.noise, x.factor, count)
		if float64(count[Better]) < x.least*rounds || count[Worse] > 2 {
			t.Errorf("%s, %.2f times as fast: %v", x.noise, x.factor, count)
		}
	}
}

// TestMoreRunsAreEnough: with as many runs more as it asks for, most comparisons are settled.
func TestMoreRunsAreEnough(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	draw := func(n int, speed float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = speed * math.Exp(0.2*random.NormFloat64())
		}
		return out
	}
	asked, settled := 0, 0
	for range 300 {
		a, b := draw(8, 1000), draw(8, 1250)
		j := Judge(a, b, Rule{Tolerance: 0.05})
		if j.Verdict != Inconclusive || j.MoreRuns == nil || *j.MoreRuns > 200 {
			continue
		}
		asked++
		if Judge(append(a, draw(*j.MoreRuns, 1000)...), append(b, draw(*j.MoreRuns, 1250)...), Rule{Tolerance: 0.05}).Verdict != Inconclusive {
			settled++
		}
	}
	if asked < 50 || settled*10 < asked*4 {
		t.Errorf("%d of %d were settled", settled, asked)
	}
}
