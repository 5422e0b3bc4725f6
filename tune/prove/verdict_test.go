package prove

import (
	"math"
	"math/rand/v2"
	"testing"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/internal/raced"
	sample "stowage/internal/turns"
)

// noise is how runs differ that are taken by turns: speed drifts slowly, each run differs, and now and then one is spoilt. The first two are
// standard deviations of logarithms, memory is how much a run's drift resembles that of the run before.
type noise struct{ slow, run, memory, spoilt float64 }

var noises = map[string]noise{
	"idle":                 {slow: 0.005, run: 0.01},
	"a cloud disk":         {slow: 0.05, run: 0.05, memory: 0.7},
	"a busy neighbour":     {slow: 0.15, run: 0.1, memory: 0.8, spoilt: 0.05},
	"spoilt runs":          {slow: 0.02, run: 0.03, memory: 0.5, spoilt: 0.15},
	"a load test beside":   {slow: 0.4, run: 0.3, memory: 0.7, spoilt: 0.1},
	"quiet, then drifting": {slow: 0.1, run: 0.01, memory: 0.95},
}

// turns are runs of a proof whose setting makes everything so many times as fast, until it is decided or at the limit. Whether it was kept.
func turns(random *rand.Rand, n noise, factor float64) (stat.Verdict, bool) {
	slow := n.slow * random.NormFloat64()
	one := func(speed float64) float64 {
		slow = n.memory*slow + n.slow*math.Sqrt(1-n.memory*n.memory)*random.NormFloat64()
		v := slow + n.run*random.NormFloat64()
		if random.Float64() < n.spoilt {
			v -= math.Log(1 + 4*random.Float64())
		}
		return speed * math.Exp(v)
	}
	var a, b []float64
	var seen looks
	var j stat.Judgement
	for round := 2; round <= 12; round += 2 {
		a = append(a, one(1000))
		b = append(b, one(1000*factor), one(1000*factor))
		a = append(a, one(1000))
		if j = stat.Judge(a, b, stat.Rule{Tolerance: result.Tolerance}); round >= 4 && seen.enough(j.Verdict) {
			break
		}
	}
	keep, _ := seen.decide(result.Compared{Judgement: j}, nil)
	return j.Verdict, keep
}

// TestLooks: a setting that does nothing is kept in at most 5 of 100 proofs, whatever the noise; one that helps is kept where noise
// leaves room for it, and one that harms never.
func TestLooks(t *testing.T) {
	sample.One(t, 2)
	rounds := 100
	if raced.On { // it takes ten times as long, and nothing races
		rounds = 20
	}
	for name, n := range noises {
		random := rand.New(rand.NewPCG(17, 18))
		kept, verdicts := 0, map[stat.Verdict]int{}
		for range rounds {
			v, keep := turns(random, n, 1)
			verdicts[v]++
			if keep {
				kept++
			}
		}
		t.Logf("%-20s nothing: kept %d of %d, %v", name, kept, rounds, verdicts)
		if kept > rounds*5/100 {
			t.Errorf("%s: a setting that does nothing was kept in %d of %d proofs", name, kept, rounds)
		}
	}
	for _, x := range []struct {
		noise  string
		factor float64
		least  float64 // part of the proofs that keep it
		most   float64
	}{{"idle", 1.15, 0.95, 1}, {"a cloud disk", 1.5, 0.9, 1}, {"a busy neighbour", 3, 0.7, 1}, {"quiet, then drifting", 1.5, 0.7, 1}, {"a busy neighbour", 0.5, 0, 0}} {
		random := rand.New(rand.NewPCG(19, 20))
		kept := 0
		for range rounds {
			if _, keep := turns(random, noises[x.noise], x.factor); keep {
				kept++
			}
		}
		t.Logf("%-20s %.2f times: kept %d of %d", x.noise, x.factor, kept, rounds)
		if part := float64(kept) / float64(rounds); part < x.least || part > x.most {
			t.Errorf("%s, %.2f times as fast: kept in %d of %d", x.noise, x.factor, kept, rounds)
		}
	}
}

// TestDecide: what is kept, and what is said.
func TestDecide(t *testing.T) {
	better := result.Compared{Judgement: stat.Judgement{Ratio: 2, Verdict: stat.Better}}
	tail := better
	tail.P99 = &result.Tail{Judgement: stat.Judgement{Ratio: 1.7, Verdict: stat.Worse}}
	seven := 7
	for name, x := range map[string]struct {
		seen  looks
		c     result.Compared
		after *result.Step
		keep  bool
		why   string
	}{
		"better":          {looks{stat.Better, 2}, better, &result.Step{}, true, "it helped"},
		"better once":     {looks{stat.Better, 1}, better, &result.Step{}, false, "only the last look of all found it better, which chance does as well"},
		"slower tail":     {looks{stat.Better, 2}, tail, &result.Step{}, false, "more requests a second, and its slowest hundredth takes 1.70 times as long: for you to weigh"},
		"without flushes": {looks{stat.Better, 2}, better, &result.Step{Undurable: true}, false, "with it, fdatasync no longer flushes the device (no flush was counted): it is faster because the data is not on the disk"},
		"same":            {looks{stat.Same, 2}, result.Compared{Judgement: stat.Judgement{Verdict: stat.Same}}, nil, false, "it makes no difference of more than 5 % here"},
		"worse":           {looks{stat.Worse, 2}, result.Compared{Judgement: stat.Judgement{Verdict: stat.Worse}}, nil, false, "it does harm here"},
		"more runs":       {looks{stat.Inconclusive, 5}, result.Compared{Judgement: stat.Judgement{Verdict: stat.Inconclusive, MoreRuns: &seven}}, nil, false, "cannot be said: about 7 runs more of each side would do (--max-runs), if the storage stays as even as it was"},
		"never":           {looks{stat.Inconclusive, 5}, result.Compared{Judgement: stat.Judgement{Verdict: stat.Inconclusive}}, nil, false, "cannot be said: others disturb the storage by more than the two differ; no number of runs helps, a quiet hour does"},
		"invalid":         {looks{stat.Inconclusive, 5}, result.Compared{Judgement: stat.Judgement{Verdict: stat.Inconclusive}, Note: "B is invalid"}, nil, false, "cannot be said: B is invalid"},
	} {
		if keep, why := x.seen.decide(x.c, x.after); keep != x.keep || why != x.why {
			t.Errorf("%s: %v, %q", name, keep, why)
		}
	}
}
