package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// farmSeries is a generated level and the truth about it: lognormal growth that follows itself, weeks, a change of slope in a
// third, imports and purges, gaps.
type farmSeries struct {
	samples []Sample
	limit   float64
	quiet   float64 // days until the limit without further steps
	goingOn float64 // days with them
}

func generated(r *rand.Rand) farmSeries {
	days := 30 + r.IntN(151)
	slope := math.Exp(r.NormFloat64()*0.7) * 1e8
	cv := 0.1 + 0.9*r.Float64()
	season := 0.6 * r.Float64()
	steps := r.Float64() / 30
	change, factor := 0, 1.0
	if r.Float64() < 0.35 && days > 70 {
		change, factor = 30+r.IntN(days-60), math.Exp(r.NormFloat64()*0.6)
	}
	sigma, phi, state := math.Sqrt(math.Log(1+cv*cv)), 0.5*r.Float64(), 0.0
	grow := func(i int) float64 {
		s := slope
		if i < change {
			s *= factor
		}
		state = phi*state + math.Sqrt(1-phi*phi)*r.NormFloat64()
		week := 1 + season*math.Sin(2*math.Pi*float64(i)/7)
		return s * week * math.Exp(sigma*state-sigma*sigma/2)
	}
	jump := func() float64 {
		if r.Float64() >= steps {
			return 0
		}
		size := slope * (5 + 25*r.Float64())
		if r.Float64() < 0.4 {
			return -size
		}
		return size
	}
	level := slope * 200
	start := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	f := farmSeries{}
	gapFrom, gapTo := -1, -1
	for i := range days {
		level += grow(i) + jump()
		if i > gapTo && r.Float64() < 0.012 {
			gapFrom, gapTo = i+1, i+1+r.IntN(10)
		}
		if (i < gapFrom || i > gapTo) || i == days-1 {
			f.samples = append(f.samples, Sample{start.AddDate(0, 0, i), level})
		}
	}
	wanted := math.Exp(math.Log(10) + r.Float64()*math.Log(150))
	f.limit = level + slope*wanted
	quiet, on := level, level
	for i := days; f.quiet == 0 || f.goingOn == 0 && i < 40000; i++ {
		g, j := grow(i), jump()
		quiet += g
		on += g + j
		if f.quiet == 0 && quiet >= f.limit {
			f.quiet = float64(i - days + 1)
		}
		if f.goingOn == 0 && on >= f.limit {
			f.goingOn = float64(i - days + 1)
		}
	}
	return f
}

// covers says whether the truth, in whole days, lies in the interval.
func (d *Days) covers(truth float64) bool {
	return d.Low <= truth+0.5 && (d.High == nil || *d.High >= truth-1)
}

func TestTooFewSamplesAreNoNumber(t *testing.T) {
	for _, n := range []int{0, 1, 2, 20} {
		var s []Sample
		for i := range n {
			s = append(s, Sample{time.Unix(int64(i)*86400, 0), float64(i)})
		}
		if f := Level(s, 1000); f.Days != nil || f.Reason == "" {
			t.Errorf("%d days: %+v", n, f)
		}
	}
}

func TestSteadyGrowthIsExact(t *testing.T) {
	var s []Sample
	for i := range 60 {
		s = append(s, Sample{time.Unix(int64(i)*86400, 0), float64(i) * 10})
	}
	f := Level(s, 590+1000)
	if f.Days == nil || f.Days.Mid == nil || math.Abs(*f.Days.Mid-100) > 1 {
		t.Errorf("100 days of growth: %s", show(f.Days))
	}
}

func TestOneImportDoesNotShortenTheRunway(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var plain, imported []Sample
	level, extra := 0.0, 0.0
	for i := range 60 {
		level += 10 + r.NormFloat64()
		if i == 40 {
			extra = 400
		}
		plain = append(plain, Sample{time.Unix(int64(i)*86400, 0), level})
		imported = append(imported, Sample{time.Unix(int64(i)*86400, 0), level + extra})
	}
	a, b := Level(plain, level+1000), Level(imported, level+extra+1000)
	if math.Abs(*a.Days.Mid-*b.Days.Mid) > 3 || len(b.Steps) != 1 {
		t.Errorf("without %s, with an import %s, steps %v", show(a.Days), show(b.Days), b.Steps)
	}
}

func TestAFullDiskHasNoDaysLeft(t *testing.T) {
	f := Level([]Sample{{time.Unix(0, 0), 100}}, 100)
	if f.Days == nil || f.Days.Low != 0 || *f.Days.High != 0 {
		t.Errorf("%+v", f)
	}
}

func TestALevelThatFallsHasNoUpperBound(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var s []Sample
	level := 1000.0
	for i := range 90 {
		level += -1 + r.NormFloat64()
		s = append(s, Sample{time.Unix(int64(i)*86400, 0), level})
	}
	f := Level(s, 2000)
	if f.Days == nil || f.Days.High != nil || f.Days.Mid != nil || len(f.Remarks) == 0 {
		t.Errorf("%+v, %s", f, show(f.Days))
	}
}

// TestRatesCoverTheTruth: weekly peaks with a slope and noise of their own.
func TestRatesCoverTheTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	n, covered := 0, 0
	for range 300 {
		weeks := 6 + r.IntN(20)
		slope, noise := 0.02+0.1*r.Float64(), 0.2*r.Float64() // cores a day, cores
		var s []Sample
		level := func(day float64) float64 { return 5 + slope*day }
		busy := 1.0
		for h := range weeks * 7 * 24 {
			d := float64(h) / 24
			if h%(7*24) == 0 {
				busy = 1 + noise*0.3*r.NormFloat64()
			}
			v := level(d) * (0.7 + 0.3*math.Sin(2*math.Pi*d)) * busy
			s = append(s, Sample{time.Unix(int64(h)*3600, 0), v})
		}
		ahead := float64(20 + r.IntN(200))
		limit := peak(func(day float64) float64 { return level(day) * (0.7 + 0.3*math.Sin(2*math.Pi*day)) }, float64(weeks*7)+ahead)
		f := Rate(s, limit)
		if f.Days == nil {
			continue
		}
		n++
		if f.Days.covers(ahead) {
			covered++
		}
	}
	t.Logf("covered %d of %d", covered, n)
	if covered < n*85/100 || n < 280 {
		t.Errorf("%d of %d covered", covered, n)
	}
}

// TestDailyPeaksCoverTheTruth: the same, of which only the most of each day was kept, by the day as it is kept; a day in three weeks has an odd
// window. A forecast of these says the day on which the median day's peak is at the limit.
func TestDailyPeaksCoverTheTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 18))
	covered, n := 0, 0
	for range 300 {
		var s []Sample
		days, noise := 7*(5+r.IntN(20)), 0.03+0.05*r.Float64()
		slope, ahead := 0.02*r.Float64()+0.01, float64(20+r.IntN(200))
		limit := 5 + slope*(float64(days-4)+ahead) // the median day of a week is three days before its end
		for d := range days {
			v := (5 + slope*float64(d)) * (1 + noise*r.NormFloat64())
			if r.IntN(21) == 0 {
				v = 2 * limit
			}
			s = append(s, Sample{time.Unix(int64(d)*86400, 0), v})
		}
		f := DailyPeaks(s, limit)
		if f.Days == nil || f.Method != methodPeaks {
			t.Fatalf("%+v", f)
		}
		n++
		if f.Days.covers(ahead) {
			covered++
		}
		if f.Level > 1.5*limit {
			t.Errorf("an odd day is the level: %v of %v", f.Level, limit)
		}
	}
	t.Logf("covered %d of %d", covered, n)
	if covered < n*85/100 {
		t.Errorf("%d of %d covered", covered, n)
	}
}

// peak is what a week that ends at the given day reaches without noise.
func peak(rate func(day float64) float64, end float64) float64 {
	var s []Sample
	for h := range 7 * 24 {
		s = append(s, Sample{time.Unix(int64(h)*3600, 0), rate(end - 7 + float64(h)/24)})
	}
	top, _ := weeklyPeaks(s, 0.95)
	return top[0]
}

func show(d *Days) string {
	if d == nil {
		return "unknown"
	}
	text := func(v *float64) string {
		if v == nil {
			return "no bound"
		}
		return fmt.Sprintf("%.1f", *v)
	}
	return fmt.Sprintf("%.1f, %s, %s", d.Low, text(d.Mid), text(d.High))
}

func BenchmarkLevel(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var all []farmSeries
	for range 20 {
		all = append(all, generated(r))
	}
	for i := 0; b.Loop(); i++ {
		Level(all[i%len(all)].samples, all[i%len(all)].limit)
	}
}
