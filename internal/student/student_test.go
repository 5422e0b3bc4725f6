package student

import (
	"math"
	"testing"
)

func TestQuantile(t *testing.T) {
	// Table values: two-sided 5 % and 1 %.
	for _, c := range []struct{ p, df, t float64 }{{0.05, 10, 2.228}, {0.05, 38, 2.024}, {0.01, 38, 2.712}, {0.05, 1, 12.706}, {0.001, 20, 3.850}} {
		if got := Quantile(c.p, c.df); math.Abs(got-c.t) > 0.001 {
			t.Errorf("t(%v, %v) = %.4f, want %.3f", c.p, c.df, got, c.t)
		}
	}
}
