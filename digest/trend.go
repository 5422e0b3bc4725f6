package digest

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// TrendOptions say how load over time is shown. The zero value shows everything in at most some thirty steps.
type TrendOptions struct {
	Since   time.Time // steps that end before it are left out; zero: none
	Until   time.Time // steps that begin at or after it are left out; zero: none
	Step    time.Duration
	Class   string // only the class with this ID (32 or 16 digits, or their beginning), any case; empty: all
	Classes int    // how many of the heaviest get steps of their own; 0: 10, negative: all
}

// Trend is load over time: steps of one length, and what all classes and the heaviest of them did in each.
type Trend struct {
	FormatVersion int          `json:"format_version"`
	StepSeconds   int64        `json:"step_seconds"`
	Steps         []TrendStep  `json:"steps"` // those in which anything happened, ascending
	ClassCount    int          `json:"class_count"`
	Classes       []TrendClass `json:"classes"` // the heaviest first
}

// TrendStep is one step of time. Seconds is how much of it was seen: rates are by that.
type TrendStep struct {
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"`
	Events  uint64    `json:"events"`
	Calls   float64   `json:"calls_per_second"`
	Load    float64   `json:"load"` // seconds of query time per second
	Avg     float64   `json:"avg"`
	P50     float64   `json:"p50"`
	P95     float64   `json:"p95"`
	New     int       `json:"new_classes"` // seen here for the first time in all that is kept
}

// TrendClass is one class over time. Its Steps are those of the Trend; a step without the class is all zero.
type TrendClass struct {
	Fingerprint string      `json:"fingerprint"`
	ID32        string      `json:"id32"`
	ID16        string      `json:"id16"`
	Events      uint64      `json:"events"`
	QueryTime   float64     `json:"query_time_sum"`
	Share       float64     `json:"share"`
	FirstSeen   *time.Time  `json:"first_seen"`
	LastSeen    *time.Time  `json:"last_seen"`
	Reviewed    *Reviewed   `json:"reviewed"` // what a person wrote about it, or null
	Steps       []TrendStep `json:"steps"`
}

// mostSteps is how many steps a trend has at most when nobody asks for a length; steps are what people count in.
const mostSteps = 32

var roundSteps = []int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400}

// Trend is what the digest says about load over time. Events without a time are in no step.
func (d *Digest) Trend(o TrendOptions) Trend {
	t := trender{d: d, o: o, seen: d.seenTime()}
	t.choose()
	return t.trend()
}

type trender struct {
	d     *Digest
	o     TrendOptions
	step  int64
	seen  []stretch
	order []int64
}

// choose takes the length of steps: never shorter than the blocks.
func (t *trender) choose() {
	t.step = int64(t.o.Step / time.Second)
	if t.step <= 0 {
		from, to := int64(math.MaxInt64), int64(math.MinInt64)
		for _, c := range t.d.byHash {
			if c.first != 0 {
				from, to = min(from, floorSeconds(c.first)), max(to, floorSeconds(c.last))
			}
		}
		if !t.o.Since.IsZero() {
			from = max(from, t.o.Since.Unix())
		}
		if !t.o.Until.IsZero() {
			to = min(to, t.o.Until.Unix())
		}
		t.step = roundSteps[len(roundSteps)-1]
		for _, s := range roundSteps {
			if to/s-from/s < mostSteps {
				t.step = s
				break
			}
		}
	}
	t.step = max(t.step, t.d.BlockSeconds())
}

// tallied is what a class did in one step.
type tallied struct {
	n, sum float64
	single float64
	cells  []cell
}

// steps adds up a class by step.
func (t *trender) steps(c *class) map[int64]*tallied {
	out := map[int64]*tallied{}
	for _, b := range c.times.blocks() {
		at := b.number * t.d.BlockSeconds()
		step := floorDiv(at, t.step)
		if !t.o.Since.IsZero() && (step+1)*t.step <= t.o.Since.Unix() || !t.o.Until.IsZero() && step*t.step >= t.o.Until.Unix() {
			continue
		}
		x := out[step]
		if x == nil {
			x = &tallied{}
			out[step] = x
		}
		counts := countsOf(b)
		x.n, x.sum, x.single = x.n+counts.n, x.sum+counts.sum, x.single+counts.single
		x.cells = addCells(x.cells, counts.cells)
	}
	return out
}

func (t *trender) trend() Trend {
	type row struct {
		class *class
		by    map[int64]*tallied
		n     uint64
		sum   float64
	}
	var rows []row
	all, fresh, total := map[int64]*tallied{}, map[int64]int{}, 0.0
	for _, c := range t.d.byHash {
		r := row{class: c, by: t.steps(c)}
		if !strings.HasPrefix(c.id32(), strings.ToUpper(t.o.Class)) && !strings.HasPrefix(c.id32()[16:], strings.ToUpper(t.o.Class)) {
			continue
		}
		for step, x := range r.by {
			r.n, r.sum = r.n+uint64(x.n), r.sum+x.sum
			if all[step] == nil {
				all[step] = &tallied{}
			}
			a := all[step]
			a.n, a.sum, a.single, a.cells = a.n+x.n, a.sum+x.sum, a.single+x.single, addCells(a.cells, x.cells)
		}
		if r.n == 0 {
			continue
		}
		fresh[floorDiv(floorSeconds(c.first), t.step)]++
		total += r.sum
		rows = append(rows, r)
	}
	for step := range all {
		t.order = append(t.order, step)
	}
	slices.Sort(t.order)
	out := Trend{FormatVersion: FormatVersion, StepSeconds: t.step, Steps: []TrendStep{}, ClassCount: len(rows), Classes: []TrendClass{}}
	for _, step := range t.order {
		s := t.stepOf(step, all[step])
		s.New = fresh[step]
		out.Steps = append(out.Steps, s)
	}
	slices.SortFunc(rows, func(a, b row) int {
		if d := cmp.Compare(b.sum, a.sum); d != 0 {
			return d
		}
		return strings.Compare(a.class.fingerprint, b.class.fingerprint)
	})
	most := t.o.Classes
	if most == 0 {
		most = 10
	}
	for i, r := range rows {
		if most > 0 && i == most {
			break
		}
		c := TrendClass{Fingerprint: valid(r.class.fingerprint), ID32: r.class.id32(), Events: r.n, QueryTime: r.sum / 1e9, FirstSeen: instant(r.class.first), LastSeen: instant(r.class.last)}
		c.ID16 = c.ID32[16:]
		if total > 0 {
			c.Share = r.sum / total
		}
		for _, step := range t.order {
			c.Steps = append(c.Steps, t.stepOf(step, r.by[step]))
		}
		out.Classes = append(out.Classes, c)
	}
	return out
}

func (t *trender) stepOf(step int64, x *tallied) TrendStep {
	block := t.d.BlockSeconds()
	s := TrendStep{Start: time.Unix(step*t.step, 0).UTC()}
	s.Seconds = float64(blocksIn(t.seen, -floorDiv(-step*t.step, block), -floorDiv(-(step+1)*t.step, block)) * block)
	if x == nil || x.n == 0 || s.Seconds == 0 {
		return s
	}
	s.Events, s.Calls, s.Load, s.Avg = uint64(x.n), x.n/s.Seconds, x.sum/1e9/s.Seconds, x.sum/1e9/x.n
	if x.single > 0 {
		p := pool{}
		row := []blockCounts{{n: x.n, sum: x.sum, single: x.single, cells: x.cells}}
		p.span(row)
		p.fill(row, []float64{1})
		s.P50, s.P95 = math.Exp(p.logQuantile(0.50))/1e9, math.Exp(p.logQuantile(0.95))/1e9
	}
	return s
}

// Remember adds what people wrote about the classes.
func (t *Trend) Remember(all []Reviewed) {
	for i := range t.Classes {
		for k := range all {
			if c := &t.Classes[i]; all[k].ID == c.ID32 || all[k].ID == c.ID16 {
				c.Reviewed = &all[k]
			}
		}
	}
}

// Span is when the first and the last event of the digest were; zero where no event has a time.
func (d *Digest) Span() (first, last time.Time) {
	var all class
	for _, c := range d.byHash {
		all.seen(c.first)
		all.seen(c.last)
	}
	if all.first == 0 {
		return first, last
	}
	return time.UnixMicro(all.first).UTC(), time.UnixMicro(all.last).UTC()
}
