package farm_test

import (
	"testing"

	"stowage/farm"
)

// Two pauses of 93.6 and 163 ms: 163 on the terminal and 93.6 in the report were
// both called the median.
func TestOnePauseIsOneFigure(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		q      float64
		want   string
	}{
		{[]float64{163.2, 93.61}, 0.5, "93.6 ms"},
		{[]float64{163.2, 93.61}, 0.95, "163 ms"},
		{[]float64{163.2, 93.61}, 1, "163 ms"},
		{[]float64{3, 1, 2}, 0.5, "2.00 ms"},
		{nil, 0.5, "0.00 ms"},
		{[]float64{12_345}, 1, "12.3 s"},
		{[]float64{1234.4}, 0, "1,234 ms"},
	} {
		if got := farm.Millis(farm.Rank(tc.values, tc.q)); got != tc.want {
			t.Errorf("%v at %g is %s, want %s", tc.values, tc.q, got, tc.want)
		}
	}
}
