package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
)

// TestSizesAreDrawnByFactors: the same factor is the same height, what was ended says so, and the file is one that an XML reader takes.
func TestSizesAreDrawnByFactors(t *testing.T) {
	lines := []SizeLine{
		{"correlated", []SizePoint{{5000, 4, false}, {50000, 8, false}, {500000, 16, false}}},
		{"sorted", []SizePoint{{5000, 10, false}, {500000, 300, true}}},
	}
	c := newSizesChart("How many times as long", "versions of the tenant", lines, 3, "goal: 3\u00d7")
	ys := func(path string) (out []string) {
		for _, p := range strings.FieldsFunc(path, func(r rune) bool { return r == 'M' || r == 'L' }) {
			_, y, _ := strings.Cut(p, ",")
			out = append(out, y)
		}
		return out
	}
	var at [3]float64
	for i, y := range ys(c.Lines[0].Path) {
		v, err := strconv.ParseFloat(y, 64)
		if err != nil {
			t.Fatal(err)
		}
		at[i] = v
	}
	if first, second := at[0]-at[1], at[1]-at[2]; first <= 0 || first-second > 0.3 || second-first > 0.3 {
		t.Errorf("4 to 8 is %g high, 8 to 16 is %g", first, second)
	}
	if c.Lines[1].Label != "sorted (at least)" || !strings.Contains(c.Desc, "500k: at least 300\u00d7") {
		t.Errorf("what was ended is called %q: %s", c.Lines[1].Label, c.Desc)
	}
	if goal := c.Limits[0].At; goal <= at[0] || goal >= c.Y1 {
		t.Errorf("a goal of 3 is at %g, 4 at %g", goal, at[0])
	}
	var b strings.Builder
	if err := SizesSVG(&b, "How many times as long", "versions of the tenant", lines, 3, "goal"); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
