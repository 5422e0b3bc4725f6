package result

import (
	"bytes"
	"math"
	"testing"

	"stowage/bench/stat"
)

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.004: "0.00", 0.25: "0.25", 9.994: "9.99", 10: "10.0", 12.34: "12.3", 99.94: "99.9", 100: "100", 1234.5: "1234", 1234567: "1234567", -0.25: "-0.25", -12.34: "-12.3", -1234: "-1234",
	} {
		if got := Short(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

// TestSurenessHasACap: an interval that could be anything is not given to the tenth of a percent.
func TestSurenessHasACap(t *testing.T) {
	for want, ci := range map[string]*stat.Interval{
		"-": nil, "0.0%": {Low: 5, High: 5}, "5.0%": {Low: 100, High: 110.25}, "999.0%": {Low: 1, High: 10.99 * 10.99}, ">1000%": {Low: 1, High: 11.01 * 11.01},
	} {
		if got := Sureness(ci); got != want {
			t.Errorf("%v: %q, want %q", ci, got, want)
		}
	}
	if got := Sureness(&stat.Interval{High: math.Inf(1)}); got != ">1000%" {
		t.Errorf("without an end: %q", got)
	}
}

func TestSpanAndMore(t *testing.T) {
	if got := Span(nil); got != "-" {
		t.Errorf("no interval: %q", got)
	}
	if got := Span(&stat.Interval{Low: 0.98765, High: 1.5}); got != "0.988 to 1.500" {
		t.Errorf("%q", got)
	}
	none, seven := 0, 7
	for want, runs := range map[string]*int{"never": nil, "-": &none, "7": &seven} {
		if got := More(runs); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWriteRemarks(t *testing.T) {
	for want, x := range map[string]struct {
		labels  []string
		noise   Noise
		invalid []string
	}{
		"":                               {},
		"Quiet: nothing disturbed it.\n": {noise: Noise{Quiet: true}},
		"Note: one.\nNote: two.\nNoise: others wrote.\nINVALID: a cache answered.\nINVALID: cut short.\n": {
			labels: []string{"one", "two"}, noise: Noise{Reasons: []string{"others wrote"}}, invalid: []string{"a cache answered", "cut short"},
		},
	} {
		var b bytes.Buffer
		if WriteRemarks(&b, x.labels, &x.noise, x.invalid); b.String() != want {
			t.Errorf("got %q, want %q", b.String(), want)
		}
	}
}
