package stat

import (
	"math"

	"stowage/internal/student"
)

// Verdict is the word for a comparison.
type Verdict string

const (
	Better       Verdict = "better"       // by more than the tolerance, surely
	Worse        Verdict = "worse"        // the same downwards
	Same         Verdict = "same"         // the difference is surely smaller than the tolerance
	Inconclusive Verdict = "inconclusive" // none of them can be said
)

// Judgement is how B stands to A. More is better.
type Judgement struct {
	Ratio   float64   `json:"ratio"` // B / A
	CI      *Interval `json:"ci"`    // of the ratio; nil where a side has fewer than two runs
	Verdict Verdict   `json:"verdict"`
	// MoreRuns is how many runs more each side would need, judged by how much its runs differ; 0 with any other
	// verdict than inconclusive, nil where no number of runs would settle it.
	MoreRuns *int `json:"more_runs"`
}

// Rule is what a judgement follows.
type Rule struct {
	// Tolerance is the difference that does not matter: 0.05 is 5 %. Two results of one disk, an hour apart, differ
	// by more than the runs within either of them; a tolerance is what keeps that from being news.
	Tolerance float64
	// Drift is how much farther the interval reaches to either side, as a logarithm, than the runs within each result
	// make it: what the same thing measured at the beginning and at the end of a result differed by.
	Drift float64
}

// Judge compares whole runs: Welch's t on the logarithms, widened by the drift. B is better when the interval lies above
// 1 + tolerance with its whole length, worse when it is below 1 / (1 + tolerance), the same when it is between them.
func Judge(a, b []float64, r Rule) Judgement {
	from, to := summarise(a), summarise(b)
	from.variance *= dependence(a, from)
	to.variance *= dependence(b, to)
	if from.n == 0 || to.n == 0 {
		return Judgement{Verdict: Inconclusive, MoreRuns: runs(2)}
	}
	middle := to.mean - from.mean
	j := Judgement{Ratio: math.Exp(middle), Verdict: Inconclusive}
	if from.n < 2 || to.n < 2 {
		j.MoreRuns = runs(int(max(2-from.n, 2-to.n, 1)))
		return j
	}
	half := halfWidth(from, to, r.Drift)
	j.CI = &Interval{Low: math.Exp(middle - half), High: math.Exp(middle + half)}
	limit := math.Log1p(r.Tolerance)
	switch {
	case middle-half > limit:
		j.Verdict = Better
	case middle+half < -limit:
		j.Verdict = Worse
	case middle-half > -limit && middle+half < limit:
		j.Verdict = Same
	default:
		j.MoreRuns = moreRuns(from, to, r.Drift, math.Abs(math.Abs(middle)-limit))
		return j
	}
	j.MoreRuns = runs(0)
	return j
}

func runs(n int) *int { return &n }

// halfWidth is that of the interval of the difference of two means of logarithms.
func halfWidth(a, b logs, drift float64) float64 {
	va, vb := a.variance/a.n, b.variance/b.n
	se := math.Sqrt(va + vb)
	if se == 0 {
		return drift
	}
	df := (va + vb) * (va + vb) / (va*va/(a.n-1) + vb*vb/(b.n-1)) // Welch and Satterthwaite
	return math.Hypot(student.Quantile(1-Confidence, df)*se, drift)
}

// moreRuns is how many runs more on each side make the interval narrower than room.
func moreRuns(a, b logs, drift, room float64) *int {
	if drift >= room {
		return nil // however often it is run, the drift stays
	}
	n := search(func(more float64) bool {
		x, y := a, b
		x.n, y.n = x.n+more-1, y.n+more-1 // search begins at 2
		return halfWidth(x, y, drift) < room
	})
	if n >= most {
		return nil
	}
	return runs(n - 1)
}

// Pair is one load measured at the beginning and at the end of a result, and the runs of the same load between them.
type Pair struct {
	First, Last float64
	Runs        []float64
}

// usualPairs is how many pairs what is usual counts for.
const usualPairs = 3

// Drift is for Rule.Drift: what pairs differ by, less what a run and the next differ by anyway, as a standard deviation times
// Student's t. Of two pairs that t is 4.3: two of them may agree by chance, and then it would be nothing. So it is moderated by usual,
// which is what two results of one storage differ by where such things are measured, a standard deviation of logarithms; it counts as
// three pairs, as in Smyth's moderated t (2004). With a usual of 0 the pairs alone count. Pairs with a zero are left out.
func Drift(usual float64, pairs ...Pair) float64 {
	var sum, n float64
	if usual > 0 {
		sum, n = usualPairs*usual*usual, usualPairs
	}
	for _, p := range pairs {
		if p.First <= 0 || p.Last <= 0 {
			continue
		}
		d := math.Log(p.Last / p.First)
		sum, n = sum+max(0, d*d-succession(p.Runs)), n+1
	}
	if sum == 0 {
		return 0
	}
	// A pair is a difference of two measurements, and so is a ratio of two results.
	return math.Sqrt(sum/n) * student.Quantile(1-Confidence, n)
}

// succession is the mean square of what a run and the next differ by, as a logarithm (von Neumann). Unlike the variance it leaves out
// what changes slowly, which is what a pair is to show.
func succession(runs []float64) float64 {
	var sum, n float64
	for i := 1; i < len(runs); i++ {
		if runs[i-1] > 0 && runs[i] > 0 {
			d := math.Log(runs[i] / runs[i-1])
			sum, n = sum+d*d, n+1
		}
	}
	return sum / max(n, 1)
}

// dependence is by how much the variance of a mean has to be taken larger because runs resemble the ones before them: von Neumann's ratio is
// 1 for runs that do not, and nears 0 for a slow drift, of which many runs tell no more than one.
func dependence(values []float64, m logs) float64 {
	succession := succession(values)
	if succession == 0 || m.variance == 0 {
		return 1
	}
	return min(max(2*m.variance/succession, 1), m.n)
}
