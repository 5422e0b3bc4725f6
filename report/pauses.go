package report

import (
	"math"
	"slices"

	"stowage/farm"
)

// pauses is the section on how long gates were closed and clients waited.
type pauses struct {
	Groups   []pauseGroup
	BinWidth float64 // milliseconds
}

// pauseGroup is one distribution. Chart draws it; Bins are its table.
type pauseGroup struct {
	ID, Title, Desc    string
	Count              int // 0: only the quantiles are known
	P50, P95, P99, Max string
	Bins               []bin
	Chart              pauseChart
	Picture            *sharesPicture // nil: Count is 0
}

// Times is how many there are, in words.
func (g pauseGroup) Times() string { return timesOver(g.Count) }

// bin counts the pauses from From up to To milliseconds.
type bin struct {
	From, To string
	N        int
	Share    string
	UpTo     string // share of all pauses up to To
}

// pauseChart is what is drawn, in milliseconds and shares of 0 to 1.
type pauseChart struct {
	Width float64 // of a bin
	Bins  []int
	Ecdf  [][2]float64
	Marks []chartMark
	Max   float64 // end of the axis, the same for both groups
	Tick  float64
}

type chartMark struct {
	Name string
	At   float64
}

const (
	mostBins   = 30
	mostPoints = 400
)

func newPauses(f Facts) *pauses {
	gates := f.gates()
	var waits []float64
	if f.Proof != nil {
		waits = slices.Clone(f.Proof.Pauses)
	}
	if len(gates) == 0 && f.Proof == nil {
		return nil
	}
	most := 0.0
	for _, v := range slices.Concat(gates, waits) {
		most = max(most, v)
	}
	p := &pauses{BinWidth: step(most, mostBins)}
	if len(gates) > 0 {
		g := p.group("gates", gates, most)
		g.Title, g.Desc = "Gates closed", "How long routing held the clients of one side back at a switch, as the mover measured it."
		p.Groups = append(p.Groups, g)
	}
	if f.Proof != nil {
		g := p.group("waits", waits, most)
		g.Title, g.Desc = "Clients waited", "How long a query that met a closed gate waited for it, as its client measured it."
		if len(waits) == 0 {
			g.P50, g.P95, g.P99 = millis(f.Proof.PauseP50), millis(f.Proof.PauseP95), millis(f.Proof.PauseP99)
		}
		g.Max = millis(f.Proof.MaxPauseMillis)
		p.Groups = append(p.Groups, g)
	}
	for i := range p.Groups {
		if g := &p.Groups[i]; g.Count > 0 {
			g.Picture = newPausesPicture(*g)
		}
	}
	return p
}

// group sorts values in place. The axis ends at a whole bin above most.
func (p *pauses) group(id string, values []float64, most float64) pauseGroup {
	g := pauseGroup{ID: id, Count: len(values)}
	if len(values) == 0 {
		return g
	}
	slices.Sort(values)
	g.P50, g.P95, g.P99, g.Max = millis(quantile(values, 0.50)), millis(quantile(values, 0.95)), millis(quantile(values, 0.99)), millis(values[len(values)-1])
	n := int(most/p.BinWidth) + 1
	counts := make([]int, n)
	for _, v := range values {
		counts[min(n-1, int(v/p.BinWidth))]++
	}
	upTo := 0
	for i, c := range counts {
		upTo += c
		g.Bins = append(g.Bins, bin{
			From: digits(float64(i) * p.BinWidth), To: digits(float64(i+1) * p.BinWidth), N: c,
			Share: percent(float64(c) / float64(len(values))), UpTo: percent(float64(upTo) / float64(len(values))),
		})
	}
	g.Chart = pauseChart{
		Width: p.BinWidth, Bins: counts, Ecdf: ecdf(values), Max: float64(n) * p.BinWidth, Tick: step(float64(n)*p.BinWidth, 8),
		Marks: []chartMark{{"p50", quantile(values, 0.50)}, {"p95", quantile(values, 0.95)}, {"p99", quantile(values, 0.99)}},
	}
	return g
}

// quantile of values: see farm.Rank.
func quantile(values []float64, q float64) float64 { return farm.Rank(values, q) }

// ecdf are points (value, share of values up to it), at most mostPoints.
func ecdf(sorted []float64) [][2]float64 {
	every := (len(sorted) + mostPoints - 1) / mostPoints
	out := [][2]float64{{sorted[0], 0}}
	for i := range sorted {
		if i%every == 0 || i == len(sorted)-1 {
			out = append(out, [2]float64{math.Round(sorted[i]*1000) / 1000, float64(i+1) / float64(len(sorted))})
		}
	}
	return out
}
