package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"stowage/bench/result"
)

// benchHeat is what was measured by block size and depth: a map for each measure. The maps are tables whose cells have colours.
type benchHeat struct {
	Sets     []heatSet
	Measured int
	Cells    int
}

// heatSet is one measure, over all results.
type heatSet struct {
	ID, Name, Unit string
	Low, High      string // what the faintest and the strongest colour stand for
	Tone           string // of its colours
	Bands          []heatBand
	IsVerdict      bool // colours are verdicts
}

type heatBand struct {
	Letter string
	Maps   []heatMap
}

type heatMap struct {
	Title  string
	Depths []string
	Rows   []heatRow
}

type heatRow struct {
	Block string
	Cells []heatCell
}

// heatCell is empty where nothing was measured.
type heatCell struct{ Text, Class, Title string }

// heatKind is a map's load: all block sizes of it.
type heatKind struct{ pattern, op string }

var heatOrder = []string{"RND", "SEQ", "LOG"}

// grid is what maps share their block sizes and depths with: those of one pattern, the durable ones apart, so that they can be compared with each other.
func (k heatKind) grid() string {
	if strings.HasSuffix(k.op, "FDS") {
		return k.pattern + "-FDS"
	}
	return k.pattern
}

// heatGrid is which block sizes and depths they have.
type heatGrid struct {
	blocks []int64
	depths []*result.Step
}

type measure struct {
	id, name, unit, tone string
	value                func(*result.Step) float64
	show                 func(float64) string
}

var measures = []measure{
	{"iops", "IOPS", "requests a second", "cool", func(s *result.Step) float64 { return s.IOPS }, shortCount},
	{"p99", "p99", "99th percentile of latency", "warm", func(s *result.Step) float64 { return s.Lat.P99 }, micros},
	{"mbps", "MB/s", "megabytes a second", "cool", func(s *result.Step) float64 { return s.MBps }, shortCount},
}

// shortCount fits a small cell: 950, 12.3k, 1.2M.
func shortCount(v float64) string {
	switch {
	case v >= 1e6:
		return trimmed(math.Round(v/1e4)/100) + "M"
	case v >= 1e5:
		return trimmed(math.Round(v/1e3)) + "k"
	case v >= 1e4:
		return trimmed(math.Round(v/1e2)/10) + "k"
	}
	return digits(v)
}

func (d *BenchDocument) heat() *benchHeat {
	kinds, grids := d.heatLayout()
	if len(kinds) == 0 {
		return nil
	}
	h := &benchHeat{}
	for _, m := range measures {
		set := heatSet{ID: m.id, Name: m.name, Unit: m.unit, Tone: m.tone}
		low, high := d.extremes(m)
		if high <= 0 {
			continue
		}
		set.Low, set.High = m.show(low), m.show(high)
		for _, side := range d.Sides {
			set.Bands = append(set.Bands, heatBand{side.Letter, heatMaps(kinds, grids, func(id string) heatCell {
				s := side.step(id)
				if s == nil || s.Runs == 0 {
					return heatCell{}
				}
				c := heatCell{Text: m.show(m.value(s)), Class: fmt.Sprintf("%s%d", m.tone, level(m.value(s), low, high))}
				if m.id == measures[0].id {
					c.Title = heatTitle(side, s) // all three figures, once
				}
				if m.value(s) <= 0 {
					return heatCell{Text: "?", Class: "unknown", Title: s.ID + ": not known"}
				}
				if !s.Valid {
					c.Class, c.Text = "invalid", c.Text+" !"
				}
				return c
			})})
		}
		h.Sets = append(h.Sets, set)
	}
	if ratios, is := d.heatRatios(kinds, grids); is {
		h.Sets = append(h.Sets, ratios)
	}
	for _, set := range h.Sets[:min(1, len(h.Sets))] {
		for _, b := range set.Bands {
			b.count(h)
		}
	}
	return h
}

func (b heatBand) count(h *benchHeat) {
	for _, m := range b.Maps {
		for _, r := range m.Rows {
			for _, c := range r.Cells {
				h.Cells++
				if c.Text != "" {
					h.Measured++
				}
			}
		}
	}
}

// heatRatios are the verdicts of the second result against the first, where there are just two.
func (d *BenchDocument) heatRatios(kinds []heatKind, grids map[string]*heatGrid) (heatSet, bool) {
	if len(d.Sides) != 2 {
		return heatSet{}, false
	}
	set := heatSet{ID: "ratio", Name: "B / A", Unit: "IOPS of B over those of A, coloured where it is surely better or worse", IsVerdict: true}
	set.Bands = []heatBand{{"", heatMaps(kinds, grids, func(id string) heatCell {
		v := d.verdictOf(d.Sides[1].Letter, id)
		if v == nil || v.Ratio == "" {
			return heatCell{}
		}
		return heatCell{Text: v.Sign + " " + v.Ratio, Class: v.Verdict, Title: fmt.Sprintf("%s: %s, B / A %s", id, v.Verdict, v.Ratio)}
	})}}
	return set, true
}

func heatTitle(side benchSide, s *result.Step) string {
	text := strings.TrimSpace(fmt.Sprintf("%s %s: %s IOPS, %s MB/s, p99 %s", side.Letter, s.ID, digits(s.IOPS), digits(s.MBps), micros(s.Lat.P99)))
	if s.CI != nil {
		text += ", " + sureness(s)
	}
	return text + validMark(s)
}

// levels is how many colours a map has.
const levels = 8

// level is the colour of a value: the same factor is the same number of colours.
func level(v, low, high float64) int {
	if v <= 0 || high <= low {
		return levels / 2
	}
	return min(int(levels*math.Log(v/low)/math.Log(high/low)), levels-1)
}

func (d *BenchDocument) extremes(m measure) (low, high float64) {
	low = math.Inf(1)
	for _, side := range d.Sides {
		for _, s := range side.result.Steps {
			if v := m.value(s); s.Load() != "" && s.Runs > 0 && v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high
}

// heatLayout is which maps there are, and the grid of each pattern.
func (d *BenchDocument) heatLayout() ([]heatKind, map[string]*heatGrid) {
	var kinds []heatKind
	grids := map[string]*heatGrid{}
	for _, side := range d.Sides {
		for _, s := range side.result.Steps {
			if s.Load() == "" || s.Runs == 0 {
				continue
			}
			k := heatKind{s.Pattern, opOf(s)}
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
			g := grids[k.grid()]
			if g == nil {
				g = &heatGrid{}
				grids[k.grid()] = g
			}
			if !slices.Contains(g.blocks, s.Block) {
				g.blocks = append(g.blocks, s.Block)
			}
			if !slices.ContainsFunc(g.depths, func(o *result.Step) bool { return o.Depth() == s.Depth() }) {
				g.depths = append(g.depths, s)
			}
		}
	}
	ops := []string{"R", "W", "RW70", "W-FDS", "RW70-FDS", "FDS"}
	slices.SortStableFunc(kinds, func(a, b heatKind) int {
		last := func(k heatKind) int { return strings.Index(k.grid(), "FDS") } // small ones, behind the others
		return cmp.Or(cmp.Compare(last(a), last(b)), slices.Index(heatOrder, a.pattern)-slices.Index(heatOrder, b.pattern), slices.Index(ops, a.op)-slices.Index(ops, b.op))
	})
	for _, g := range grids {
		slices.Sort(g.blocks)
		slices.SortStableFunc(g.depths, func(a, b *result.Step) int {
			return cmp.Or(cmp.Compare(a.AtOnce(), b.AtOnce()), cmp.Compare(a.Threads, b.Threads))
		})
	}
	return kinds, grids
}

// opOf is what a step's name says between block and depth.
func opOf(s *result.Step) string {
	_, op, _ := strings.Cut(s.Load(), "-")
	return op
}

func heatMaps(kinds []heatKind, grids map[string]*heatGrid, cellOf func(id string) heatCell) []heatMap {
	var out []heatMap
	for _, k := range kinds {
		g := grids[k.grid()]
		m, isMeasured := heatMap{Title: loadWords(k.pattern + "-" + k.op)}, false
		for _, s := range g.depths {
			m.Depths = append(m.Depths, s.Depth())
		}
		for _, block := range g.blocks {
			r := heatRow{Block: blockText(block)}
			for _, s := range g.depths {
				c := cellOf(fmt.Sprintf("%s%s-%s-%s", k.pattern, r.Block, k.op, s.Depth()))
				isMeasured = isMeasured || c.Text != ""
				r.Cells = append(r.Cells, c)
			}
			m.Rows = append(m.Rows, r)
		}
		if isMeasured { // another result has it
			out = append(out, m)
		}
	}
	return out
}

// blockText is a block size as in a step's name.
func blockText(block int64) string {
	if block >= 1<<20 {
		return fmt.Sprintf("%dM", block>>20)
	}
	return fmt.Sprintf("%dK", block>>10)
}
