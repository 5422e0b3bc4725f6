package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/internal/student"
)

// A peer is a way to say when a limit is reached. Low and high are NaN where it gives no interval.
type peer struct {
	name string
	says func(farmSeries) (low, mid, high float64)
}

// tally is how often a peer was right about one kind of future, and how far off.
type tally struct {
	n, covered int
	off        []float64 // |days said - days| / days
}

func (t *tally) add(low, mid, high, truth float64) {
	t.n++
	if low <= truth+0.5 && high >= truth-1 {
		t.covered++
	}
	t.off = append(t.off, math.Abs(mid-truth)/truth)
}

func (t *tally) share() float64 { return float64(t.covered) / float64(t.n) }

func (t *tally) row() string {
	slices.Sort(t.off)
	return fmt.Sprintf("%.1f\t%.0f", 100*median(t.off), 100*t.off[len(t.off)*9/10])
}

// TestIntervalsCoverTheTruth compares Level with the truth of 500 generated series, beside a straight line and Prometheus' predict_linear.
// The 90 % interval has to cover 85 to 95 % of futures in which growth goes on without further steps. Where steps go on, no interval made
// of growth alone can; that share is printed beside it. docs/measuring/benchmarks.md has the table.
func TestIntervalsCoverTheTruth(t *testing.T) {
	peers := []peer{
		{"`stowage capacity`", func(s farmSeries) (float64, float64, float64) { return ends(Level(s.samples, s.limit).Days) }},
		{"the same, `if_steps_go_on` where it is given", func(s farmSeries) (float64, float64, float64) {
			f := Level(s.samples, s.limit)
			if f.IfStepsGoOn != nil {
				return ends(f.IfStepsGoOn)
			}
			return ends(f.Days)
		}},
		{"straight line, least squares, all days", func(s farmSeries) (float64, float64, float64) { return straightLine(s.samples, s.limit) }},
		{"`predict_linear`, 30 days", func(s farmSeries) (float64, float64, float64) { return predicted(s, 30) }},
		{"`predict_linear`, 7 days", func(s farmSeries) (float64, float64, float64) { return predicted(s, 7) }},
	}
	quiet, going := make([]tally, len(peers)), make([]tally, len(peers))
	r := rand.New(rand.NewPCG(1, 2))
	unknown := 0
	for range 500 {
		s := generated(r)
		if Level(s.samples, s.limit).Days == nil {
			unknown++ // and nobody is asked: every line of the table is about the same series
			continue
		}
		if s.goingOn == 0 {
			s.goingOn = horizon
		}
		for i, p := range peers {
			low, mid, high := p.says(s)
			quiet[i].add(low, mid, high, s.quiet)
			going[i].add(low, mid, high, s.goingOn)
		}
	}
	t.Logf("%d of 500 have too few samples", unknown)
	for i, p := range peers {
		cover := func(x tally) string {
			if strings.HasPrefix(p.name, "`predict") {
				return "none"
			}
			return fmt.Sprintf("%.0f", 100*x.share())
		}
		t.Logf("FIGURE %s\t%s\t%s\t%s\t%s", p.name, cover(quiet[i]), quiet[i].row(), cover(going[i]), going[i].row())
	}
	if share := quiet[0].share(); share < 0.85 || share > 0.95 {
		t.Errorf("%.1f %% of %d are covered, not 85 to 95 %%", 100*share, quiet[0].n)
	}
	for i := 2; i < len(peers); i++ {
		if median(quiet[0].off) > median(quiet[i].off) {
			t.Errorf("the median error is larger than that of %s", peers[i].name)
		}
	}
}

func ends(d *Days) (low, mid, high float64) {
	low, mid, high = d.Low, horizon, math.Inf(1)
	if d.Mid != nil {
		mid = *d.Mid
	}
	if d.High != nil {
		high = *d.High
	}
	return low, mid, high
}

// straightLine is what a spreadsheet does: least squares through all days, with the band in which nine of ten new days lie.
func straightLine(samples []Sample, limit float64) (low, mid, high float64) {
	x, y := lastDays(samples, math.Inf(1))
	slope, at0 := simpleRegression(x, y)
	n, sum, spreadX := float64(len(x)), 0.0, 0.0
	for i := range x {
		d := y[i] - at0 - slope*x[i]
		sum += d * d
		spreadX += (x[i] - mean(x)) * (x[i] - mean(x))
	}
	s, t := math.Sqrt(sum/(n-2)), student.Quantile(0.1, n-2)
	first := func(side float64) float64 {
		for d := 0.0; d < horizon; d++ {
			if at0+slope*d+side*t*s*math.Sqrt(1+1/n+(d-mean(x))*(d-mean(x))/spreadX) >= limit {
				return d
			}
		}
		return math.Inf(1)
	}
	return first(1), crossing(slope, at0, limit), first(-1)
}

// predicted is the time after which predict_linear over so many days, evaluated at the last sample, is at the limit.
func predicted(s farmSeries, days float64) (low, mid, high float64) {
	slope, at0 := predictLinear(s.samples, days)
	return math.NaN(), crossing(slope, at0, s.limit), math.NaN()
}

func crossing(slope, at0, limit float64) float64 {
	if slope <= 0 {
		return horizon
	}
	return min(horizon, max(0, (limit-at0)/slope))
}

// predictLinear is Prometheus' function: simple linear regression over the samples of a range, its value at the time of evaluation and its slope.
// TestPredictLinearIsPrometheus compares it with the real one.
func predictLinear(samples []Sample, days float64) (slope, at0 float64) {
	return simpleRegression(lastDays(samples, days))
}

// lastDays are the samples of the last days, by days before the last one.
func lastDays(samples []Sample, days float64) (x, y []float64) {
	end := samples[len(samples)-1].At
	for _, s := range samples {
		if ago := end.Sub(s.At).Hours() / 24; ago < days {
			x, y = append(x, -ago), append(y, s.Value)
		}
	}
	return x, y
}

func simpleRegression(x, y []float64) (slope, at0 float64) {
	if len(x) < 2 {
		return 0, y[len(y)-1]
	}
	mx, my, both, each := mean(x), mean(y), 0.0, 0.0
	for i := range x {
		both += (x[i] - mx) * (y[i] - my)
		each += (x[i] - mx) * (x[i] - mx)
	}
	slope = both / each
	return slope, my - slope*mx
}

// TestPredictLinearIsPrometheus: promtool evaluates predict_linear over one of our series, and finds what predictLinear says. The ranges
// are a second shorter: up to version 2 a range has the sample at its beginning, from 3 on it has not.
func TestPredictLinearIsPrometheus(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("NOT TESTED: no promtool; apt-get install prometheus")
	}
	r := rand.New(rand.NewPCG(3, 1))
	level, values := 1e6, []string{}
	var samples []Sample
	for i := range 60 {
		level += 100 + 300*r.NormFloat64()
		level = math.Round(level)
		values = append(values, fmt.Sprintf("%.0f", level))
		samples = append(samples, Sample{time.Unix(int64(i)*86400, 0), level})
	}
	var tests strings.Builder
	for _, days := range []int{7, 30} {
		slope, at0 := predictLinear(samples, float64(days))
		for _, ahead := range []int{0, 100} {
			fmt.Fprintf(&tests, "      - {expr: 'abs(predict_linear(x[%ds], %d) / %.6f - 1) < bool 1e-8', eval_time: 59d, exp_samples: [{labels: '{}', value: 1}]}\n", days*86400-1, ahead*86400, at0+slope*float64(ahead))
		}
	}
	file := filepath.Join(t.TempDir(), "test.yml")
	text := "evaluation_interval: 1d\ntests:\n  - interval: 1d\n    input_series: [{series: x, values: '" + strings.Join(values, " ") + "'}]\n    promql_expr_test:\n" + tests.String()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
