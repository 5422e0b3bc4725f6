package digest

import "strings"

// sparkBars are the heights of one column of a latency sparkline.
var sparkBars = []rune(" ▁▂▃▄▅▆▇█")

// sparkScale is the columns that any class uses, at least eight: all sparklines of a page have one scale.
type sparkScale struct{ from, to int }

func newSparkScale() sparkScale { return sparkScale{32, 0} }

// fit widens the scale for a histogram.
func (s *sparkScale) fit(h [32]uint64) {
	for i, n := range h {
		if n > 0 {
			s.from, s.to = min(s.from, i), max(s.to, i+1)
		}
	}
}

// columns is the scale as it is drawn.
func (s sparkScale) columns() (from, to int) {
	from, to = s.from, s.to
	if from > to {
		from, to = 0, 8
	}
	if to-from < 8 {
		to = min(32, from+8)
		from = to - 8
	}
	if to-from > 24 {
		to = from + 24
	}
	return from, to
}

// sparkTitle names the left and the right end of the scale.
func sparkTitle(from, columns int) string {
	if columns == 0 {
		return ""
	}
	left := duration(columnStart(from))
	right := duration(columnStart(from + columns))
	gap := columns - len([]rune(left)) - len([]rune(right))
	if gap < 1 {
		return left
	}
	return left + strings.Repeat(" ", gap) + right
}

// columnStart is the shortest time in a column, in seconds.
func columnStart(column int) float64 {
	if column == 0 {
		return 1e-6
	}
	return float64(uint64(1)<<(sparkFloor+column)) / 1e9
}

// sparkline draws how latencies are distributed: one column for every power of two, tall where many are. What is there
// at all shows at least the lowest bar.
func sparkline(h [32]uint64, from, to int) string {
	var most uint64
	for _, n := range h[from:to] {
		most = max(most, n)
	}
	var b strings.Builder
	for _, n := range h[from:to] {
		bar := 0
		if n > 0 {
			bar = 1 + int(float64(n)/float64(most)*7+0.5)
		}
		b.WriteRune(sparkBars[bar])
	}
	return b.String()
}
