package report

import (
	"math"
	"testing"

	"stowage/digest"
)

// What came added up has no quantiles: the page says so, and prints no number in their place.
func TestUnknownQuantilesAreNoNumbers(t *testing.T) {
	if got := latency(math.NaN()); got != "" {
		t.Errorf("a latency that is not known prints as %q", got)
	}
	unknown := digest.Latency{Avg: 0.001, Min: math.NaN(), Max: math.NaN(), P50: math.NaN(), P95: math.NaN(), P99: math.NaN()}
	known := digest.Latency{Avg: 0.001, Max: 0.2, P50: 0.001, P95: 0.01, P99: 0.1}
	c := &digest.Comparison{Before: digest.Side{QueryTime: known}, After: digest.Side{QueryTime: unknown}}
	rows := 0
	for _, r := range sideRows(c) {
		if r.After == "not known" && r.Change == "" {
			rows++
		}
	}
	if rows < 4 {
		t.Errorf("%+v", sideRows(c))
	}
}
