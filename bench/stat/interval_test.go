package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMean(t *testing.T) {
	// By hand: logarithms ln 100, ln 200: mean ln(100 sqrt 2), s = ln(2)/sqrt 2, t(0.975, 1) = 12.706.
	mean, ci := Mean([]float64{100, 200})
	half := 12.7062 * math.Ln2 / 2
	if math.Abs(mean-141.4214) > 0.001 || math.Abs(math.Log(ci.High/mean)-half) > 0.001 || math.Abs(math.Log(mean/ci.Low)-half) > 0.001 {
		t.Errorf("%v %+v", mean, ci)
	}
	if mean, ci := Mean([]float64{7}); mean != 7 || ci != nil {
		t.Errorf("one value: %v %v", mean, ci)
	}
	if mean, ci := Mean(nil); mean != 0 || ci != nil {
		t.Errorf("none: %v %v", mean, ci)
	}
}

// TestIntervalHoldsTheTruth: about 95 of 100 do.
func TestIntervalHoldsTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const rounds = 4000
	for _, n := range []int{2, 3, 8} {
		held := 0
		for range rounds {
			values := make([]float64, n)
			for i := range values {
				values[i] = 1000 * math.Exp(0.3*random.NormFloat64())
			}
			if _, ci := Mean(values); ci.Low <= 1000 && 1000 <= ci.High {
				held++
			}
		}
		if part := float64(held) / rounds; part < 0.935 || part > 0.965 {
			t.Errorf("of %d runs: %.3f hold the truth, want 0.95", n, part)
		}
	}
}

// TestRunsForIsEnough: with as many runs as it says the interval is about as narrow as asked.
func TestRunsForIsEnough(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	draw := func(n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = math.Exp(0.1 * random.NormFloat64())
		}
		return values
	}
	n := RunsFor(draw(500), 0.05)
	narrow := 0
	for range 200 {
		if _, ci := Mean(draw(n)); ci.HalfWidth() < 0.065 {
			narrow++
		}
	}
	if n < 12 || n > 24 || narrow < 180 {
		t.Errorf("%d runs: %d of 200 intervals are narrow", n, narrow)
	}
	if RunsFor([]float64{1}, 0.05) != 0 || RunsFor([]float64{5, 5, 5}, 0.05) != 2 {
		t.Error("too few, or all the same")
	}
}

func TestSettled(t *testing.T) {
	for name, x := range map[string]struct {
		series []float64
		want   bool
	}{
		"even":              {[]float64{100, 101, 99, 100, 100}, true},
		"falling slowly":    {[]float64{104, 102, 100, 98, 96}, true},
		"falling":           {[]float64{108, 104, 100, 96, 92}, false}, // within 20 %, and a slope of 16 %
		"a burst":           {[]float64{300, 100, 100, 100, 100}, false},
		"uneven":            {[]float64{100, 115, 90, 112, 100}, false},
		"too short":         {[]float64{100, 100, 100, 100}, false},
		"nothing happened":  {[]float64{0, 0, 0, 0, 0}, false},
		"even on the whole": {[]float64{90, 110, 110, 90, 100, 100, 95, 105, 120, 80}, true},
	} {
		if got := Settled(x.series); got.Steady != x.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if s := Settled([]float64{108, 104, 100, 96, 92}); math.Abs(s.Slope+0.16) > 1e-9 || math.Abs(s.Excursion-0.16) > 1e-9 {
		t.Errorf("%+v", s)
	}
}

func TestHistogram(t *testing.T) {
	a, b := Histogram{{10, 1}, {30, 2}}, Histogram{{10, 4}, {20, 3}}
	sum := a.Add(b)
	if sum.Count() != 10 || sum[0] != (Bucket{10, 5}) || sum[1] != (Bucket{20, 3}) || sum[2] != (Bucket{30, 2}) || a[0][1] != 1 {
		t.Errorf("%v, and a is %v", sum, a)
	}
	for q, want := range map[float64]uint64{0: 10, 0.5: 10, 0.51: 20, 0.8: 20, 0.81: 30, 1: 30} {
		if got := sum.Quantile(q); got != want {
			t.Errorf("%v: %d, want %d", q, got, want)
		}
	}
	if (Histogram{}).Quantile(0.5) != 0 || Quantile(nil, 0.5) != 0 || Quantile([]float64{3, 1, 2}, 0.5) != 2 {
		t.Error("nothing, or plain values")
	}
}
