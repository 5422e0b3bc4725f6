package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// benchLatency are the curves of how long requests took: those that people look at first, and all others.
type benchLatency struct {
	Key, Rest []*benchPlot
	Note      string
}

// keySteps are looked at first: a commit alone and beside pages, a page read and written alone and many at a time.
var keySteps = []string{"LOG4K-FDS-Q1T1", "MIX", "RND16K-R-Q1T1", "RND16K-R-Q8T4", "RND16K-W-FDS-Q1T1", "RND16K-W-Q8T4"}

// Of at most so many steps all are looked at first.
const fewSteps = 9

func (d *BenchDocument) latency() benchLatency {
	var l benchLatency
	ids := d.ids()
	for _, id := range ids {
		p := d.latencyPlot(id)
		switch {
		case p == nil:
		case len(ids) <= fewSteps || slices.Contains(keySteps, id):
			l.Key = append(l.Key, p)
		default:
			l.Rest = append(l.Rest, p)
		}
	}
	if len(l.Key) == 0 {
		l.Key, l.Rest = l.Rest, nil
	}
	return l
}

const (
	curveWidth, curveHeight = 380.0, 226.0
	mostNines               = 6 // 99.9999 %: beyond are a few requests of millions, and the table has the longest
)

// latencyPlot is a step's curve for each result that has it, nil where none has.
func (d *BenchDocument) latencyPlot(id string) *benchPlot {
	p := newBenchPlot("b-lat-"+plainID(id), id, curveWidth, curveHeight, 50, 10, 24)
	var said []string
	var values []float64
	nines := 1.0
	for _, side := range d.Sides {
		s := side.step(id)
		if s == nil || s.Histogram.Count() == 0 {
			continue
		}
		p.Sub = s.Answers
		values = append(values, float64(s.Histogram.Quantile(0.01))/1000, s.Lat.P99, last(s.Histogram))
		if w := s.WriteHistogram; w.Count() > 0 && len(d.Sides) == 1 {
			values = append(values, float64(w.Quantile(0.01))/1000, last(w))
		}
		nines = max(nines, math.Log10(float64(s.Histogram.Count())))
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s half of them %s, 99 %% %s, 99.9 %% %s, the longest %s",
			side.Letter, micros(s.Lat.P50), micros(s.Lat.P99), micros(s.Lat.P999), micros(s.Lat.Max))))
	}
	if len(said) == 0 {
		return nil
	}
	p.Desc = "Time that a share of the requests did not exceed; the figures are in the table of steps. " + strings.Join(said, "; ") + "."
	scale := newLogScale(values...)
	c := curve{p, min(nines, mostNines), scale}
	p.waits(scale, 12)
	p.XTicks = c.ticks()
	for _, side := range d.Sides {
		if s := side.step(id); s != nil && s.Histogram.Count() > 0 {
			c.draw(side, s, len(d.Sides) == 1)
		}
	}
	return p
}

func last(h stat.Histogram) float64 { return float64(h[len(h)-1][0]) / 1000 }

// curve draws histograms: the share that took longer to the right, each tenth of it as wide as the one before; time upwards.
type curve struct {
	*benchPlot
	nines float64 // the right end, as powers of ten
	scale logScale
}

// at is where the part that took longer is on the axis.
func (c curve) at(longer float64) float64 { return c.x(min(-math.Log10(longer)/c.nines, 1)) }

// up is where a time is, in microseconds.
func (c curve) up(us float64) float64 { return c.y(c.scale.share(us)) }

func (c curve) ticks() []tick {
	out := []tick{{c.x(0), "0"}, {c.at(0.5), "50\u00a0%"}}
	if c.nines > 4 {
		out[0].Text = "" // the next one needs the room
	}
	for n := 1; float64(n) <= c.nines; n++ {
		if text := strconv99(n); c.at(math.Pow10(-n)) < c.X1-16 || n < 3 {
			out = append(out, tick{c.at(math.Pow10(-n)), text})
		}
	}
	return out
}

// strconv99 is n nines as a share: 90 %, 99 %, 99.9 %.
func strconv99(n int) string {
	switch n {
	case 1:
		return "90\u00a0%"
	case 2:
		return "99\u00a0%"
	}
	return "99." + strings.Repeat("9", n-2) + "\u00a0%"
}

func (c curve) draw(side benchSide, s *result.Step, withWrites bool) {
	class := side.Class
	if !s.Valid {
		class += " doubtful"
	}
	if withWrites && s.WriteHistogram.Count() > 0 {
		c.Lines = append(c.Lines, planLine{Path: c.path(s.WriteHistogram), Class: "write", Title: s.ID + ", the writes before the fdatasync"})
	}
	c.Lines = append(c.Lines, planLine{Path: c.path(s.Histogram), Class: class, Title: strings.TrimSpace(s.ID + " " + side.Letter)})
	for _, q := range []struct {
		name   string
		longer float64
		us     float64
	}{{"p50", 0.5, s.Lat.P50}, {"p99", 0.01, s.Lat.P99}, {"p99.9", 0.001, s.Lat.P999}} {
		if -math.Log10(q.longer) > math.Log10(float64(s.Histogram.Count())) {
			continue // of fewer requests it is the longest
		}
		x, y := c.at(q.longer), c.up(q.us)
		c.dot(side.Class, s.Valid, x, y, strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", side.Letter, s.ID, q.name, micros(q.us))))
		if q.name == "p99" {
			c.label(x, y, side.Class, micros(q.us))
		}
	}
}

// path is a histogram as steps: each bucket is level from the part that took as long or longer to the part that took longer.
func (c curve) path(h stat.Histogram) string {
	n, done := float64(h.Count()), 0.0
	var corners []point
	for _, bucket := range h {
		y := c.up(float64(bucket[0]) / 1000)
		from := point{c.at((n - done) / n), y}
		done += float64(bucket[1])
		corners = append(corners, from, point{c.at(max(n-done, 1) / n), y})
	}
	return pathThrough(thinned(corners, 0.8))
}

// plainID is a step's name as an element's.
func plainID(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-' {
			return r
		}
		return '.'
	}, id)
}
