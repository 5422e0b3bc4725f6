package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// speed is what both queries took, as medians of some tenants. Ratio is the median of each tenant's own.
type speed struct {
	tenants              int
	before, after, ratio float64 // milliseconds; after in before
}

func speedOf(timed []ReshapeTenant) speed {
	var before, after, ratio []float64
	for _, t := range timed {
		before, after, ratio = append(before, t.Normalised), append(after, t.Denormalised), append(ratio, t.Normalised/t.Denormalised)
	}
	return speed{len(timed), medianOf(before), medianOf(after), medianOf(ratio)}
}

// words say how much faster or slower it is.
func (s speed) words() string {
	switch {
	case s.ratio >= 1.05:
		return fmt.Sprintf("%s%s as fast", digits(s.ratio), times)
	case s.ratio <= 0.95:
		return fmt.Sprintf("%s%s as slow", digits(1/s.ratio), times)
	}
	return "as fast as before"
}

// timesSection is how long both queries took, by the size of the tenant.
func timesSection(timed []ReshapeTenant, chart string) planSection {
	timed = slices.Clone(timed)
	slices.SortStableFunc(timed, func(a, b ReshapeTenant) int { return cmp.Compare(a.Rows, b.Rows) })
	s := speedOf(timed)
	t := planTable{Caption: "By size of the tenant", Head: columns("rows of the tenant", "#tenants", "#normalised, median", "#denormalised, median", "#ratio, median")}
	for from := 0; from < len(timed); {
		band, to := bandOfRows(timed[from].Rows), from
		for to < len(timed) && bandOfRows(timed[to].Rows) == band {
			to++
		}
		x := speedOf(timed[from:to])
		t.Rows = append(t.Rows, cells(fmt.Sprintf("%s to %s", tickCount(math.Pow10(band)), tickCount(math.Pow10(band+1))), whole(float64(x.tenants)), millis(x.before), millis(x.after), digits(x.ratio)+times))
		from = to
	}
	return planSection{
		ID: "times", Name: "Snapshots before and after, by size of the tenant",
		Text: []string{fmt.Sprintf("The whole of a tenant by the normalised query took %s, by the denormalised one %s: medians of %s, timed when the two were compared with each other. Each by itself: %s, by the median of the ratios.",
			millis(s.before), millis(s.after), count(s.tenants, "tenant"), s.words())},
		Chart: timesChart(chart, timed), Tables: []planTable{t},
		Notes: []string{"Both queries were run in one view, the normalised one first: the second found in memory what the first had read, which favours the denormalised one. stowage snapshot --form measures one alone."},
	}
}

// bandOfRows is the power of ten below a number of rows.
func bandOfRows(rows int64) int { return len(fmt.Sprint(max(rows, 1))) - 1 }

// mostDots is how many tenants the picture has.
const mostDots = 300

// timesChart has two marks for each tenant: a circle for the normalised query and a square for the denormalised one. Both axes are logarithmic. The tenants are sorted by rows.
func timesChart(id string, timed []ReshapeTenant) *planChart {
	c := newChart(id, "How long a snapshot of a tenant took, by its rows", 70, 20)
	c.Height = 340
	c.Y1 = c.Height - 26
	shown := timed
	if len(timed) > mostDots {
		shown = nil
		for n := range mostDots { // from the smallest to the largest
			shown = append(shown, timed[n*(len(timed)-1)/(mostDots-1)])
		}
	}
	var rows, took []float64
	for _, t := range shown {
		rows, took = append(rows, float64(max(t.Rows, 1))), append(took, t.Normalised, t.Denormalised)
	}
	x, y := newLogScale(rows...), newLogScale(took...)
	for _, v := range x.marks(10) {
		c.XTicks = append(c.XTicks, tick{c.x(x.share(v)), tickCount(v)})
	}
	for _, v := range y.marks(8) {
		c.YTicks = append(c.YTicks, tick{c.y(y.share(v)), tickMicros(v * 1000)})
	}
	for _, of := range []struct {
		class, shape, name string
		value              func(ReshapeTenant) float64
	}{
		{"dot lb", "s1", "normalised", func(t ReshapeTenant) float64 { return t.Normalised }},
		{"dot la", "s2", "denormalised", func(t ReshapeTenant) float64 { return t.Denormalised }},
	} {
		for n, t := range shown {
			title := fmt.Sprintf("tenant %s, %s: %s in %s", t.ID, count(int(t.Rows), "row"), of.name, millis(of.value(t)))
			c.Lines = append(c.Lines, planLine{Path: benchShape(of.shape, c.x(x.share(rows[n])), c.y(y.share(of.value(t))), 3.4), Class: of.class, Title: title})
		}
	}
	c.Keys = []planKey{{"typed", "normalised, before: circles"}, {"measured", "denormalised, after: squares"}}
	c.Caption = "Time of a whole snapshot by rows of the tenant; both axes logarithmic"
	if len(shown) < len(timed) {
		c.Caption += fmt.Sprintf("; %d of %s, from the smallest to the largest", len(shown), count(len(timed), "tenant"))
	}
	c.Desc = "Two marks for each tenant: the time of the normalised query and that of the denormalised one. The table below has medians by size."
	return c
}
