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

// waited is one line of a picture of times: how long requests, or transactions, took.
type waited struct {
	side      benchSide
	id        string
	histogram stat.Histogram
	writes    stat.Histogram // before the fdatasync, to be drawn beside it; empty: none
	lat       result.Latency
	isValid   bool
}

// latencyPlot is a step's curve for each result that has it, nil where none has.
func (d *BenchDocument) latencyPlot(id string) *benchPlot {
	var all []waited
	answers := ""
	for _, side := range d.Sides {
		s := side.step(id)
		if s == nil {
			continue
		}
		w := waited{side: side, id: id, histogram: s.Histogram, lat: s.Lat, isValid: s.Valid}
		if len(d.Sides) == 1 {
			w.writes = s.WriteHistogram
		}
		all, answers = append(all, w), s.Answers
	}
	return newLatencyPlot("b-lat-"+plainID(id), id, answers, all)
}

// newLatencyPlot draws a curve for each that has a histogram; nil where none has.
func newLatencyPlot(id, title, sub string, all []waited) *benchPlot {
	p := newBenchPlot(id, title, curveWidth, curveHeight, 50, 10, 24)
	p.Sub = sub
	all = slices.DeleteFunc(slices.Clone(all), func(w waited) bool { return w.histogram.Count() == 0 })
	if len(all) == 0 {
		return nil
	}
	var said []string
	var values []float64
	nines := 1.0
	for _, w := range all {
		values = append(values, float64(w.histogram.Quantile(0.01))/1000, w.lat.P99, last(w.histogram))
		if w.writes.Count() > 0 {
			values = append(values, float64(w.writes.Quantile(0.01))/1000, last(w.writes))
		}
		nines = max(nines, math.Log10(float64(w.histogram.Count())))
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s half of them %s, 99 %% %s, 99.9 %% %s, the longest %s",
			w.side.sign(), micros(w.lat.P50), micros(w.lat.P99), micros(w.lat.P999), micros(w.lat.Max))))
	}
	p.Desc = "Time that a share of them did not exceed; the figures are in the table. " + strings.Join(said, "; ") + "."
	scale := newLogScale(values...)
	c := curve{p, min(nines, mostNines), scale}
	p.waits(scale, 12)
	p.XTicks = c.ticks()
	for _, w := range all {
		c.draw(w)
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

func (c curve) draw(w waited) {
	class := w.side.Class
	if !w.isValid {
		class += " doubtful"
	}
	if w.writes.Count() > 0 {
		c.Lines = append(c.Lines, planLine{Path: c.path(w.writes), Class: "write", Title: w.id + ", the writes before the fdatasync"})
	}
	c.Lines = append(c.Lines, planLine{Path: c.path(w.histogram), Class: class, Title: strings.TrimSpace(w.id + " " + w.side.sign())})
	for _, q := range []struct {
		name   string
		longer float64
		us     float64
	}{{"p50", 0.5, w.lat.P50}, {"p99", 0.01, w.lat.P99}, {"p99.9", 0.001, w.lat.P999}} {
		if -math.Log10(q.longer) > math.Log10(float64(w.histogram.Count())) {
			continue // of fewer requests it is the longest
		}
		x, y := c.at(q.longer), c.up(q.us)
		c.dot(w.side.Class, w.isValid, x, y, strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", w.side.sign(), w.id, q.name, micros(q.us))))
		if q.name == "p99" {
			c.label(x, y, w.side.Class, micros(q.us))
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
