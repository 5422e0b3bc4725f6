package result

import (
	"fmt"
	"io"
	"math"

	"stowage/bench/stat"
)

// The words that the documents of a bench share: this one, the matrix, and the sheet of engines.

// Short is a number with three digits that count, and no fewer than its whole part has: 0.25, 12.5, 1234.
func Short(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Sureness is the half width of an interval in percent, or what stands for it: "-" where there is none.
func Sureness(ci *stat.Interval) string {
	if ci == nil {
		return "-"
	}
	if ci.HalfWidth() > 10 {
		return ">1000%" // it could be anything
	}
	return fmt.Sprintf("%.1f%%", 100*ci.HalfWidth())
}

// Span is an interval of ratios from end to end, "-" where there is none.
func Span(ci *stat.Interval) string {
	if ci == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f to %.3f", ci.Low, ci.High)
}

// More is how many runs more it takes, as a word: "-" for none, "never" for nil, which is where no number of them would do.
func More(runs *int) string {
	switch {
	case runs == nil:
		return "never"
	case *runs == 0:
		return "-"
	}
	return fmt.Sprint(*runs)
}

// WriteRemarks says what must be known before the figures are believed, a line each: the labels, who disturbed it, and why it is invalid.
func WriteRemarks(w io.Writer, labels []string, noise *Noise, invalid []string) {
	for _, l := range labels {
		fmt.Fprintf(w, "Note: %s.\n", l)
	}
	if noise.Quiet {
		fmt.Fprintln(w, "Quiet: nothing disturbed it.")
	}
	for _, why := range noise.Reasons {
		fmt.Fprintf(w, "Noise: %s.\n", why)
	}
	for _, why := range invalid {
		fmt.Fprintf(w, "INVALID: %s.\n", why)
	}
}
