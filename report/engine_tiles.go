package report

import (
	"fmt"

	"stowage/bench/engine/sheet"
	"stowage/farm"
)

// tiles are the figures that a DBA asks for first.
func (d *EngineDocument) tiles() []tile {
	switch d.r.Mode {
	case sheet.Instances:
		return d.hostTiles()
	case sheet.Apply:
		return d.applyTiles()
	}
	return d.costTiles()
}

// costTiles are of the base, under the load that does most: the last of the table of loads that was run.
func (d *EngineDocument) costTiles() []tile {
	var x *sheet.Row
	for _, l := range sheet.Loads {
		for _, r := range d.measured() {
			if r.Cell == d.r.Base && !r.Again && r.Load == l.ID && (x == nil || x.Load != l.ID) {
				x = r
			}
		}
	}
	if x == nil {
		return nil
	}
	note := x.Cell + ", " + x.Load
	out := []tile{
		{Name: "transactions by processor second", Link: "#" + d.ID + "-cost", After: digits(x.PerCPU.Mean), Note: note},
		{Name: "transactions a second", Link: "#" + d.ID + "-cost", After: digits(x.TPS.Mean), Note: note + ", " + count(x.Clients, "client")},
		{Name: "p99 of a transaction", Link: "#" + d.ID + "-latency", After: micros(x.Lat.P99), Note: note},
	}
	if x.Amplification != nil {
		out = append(out, tile{Name: "written by transaction", Link: "#" + d.ID + "-cost", After: digits(x.Written.Settled/1024) + " KiB", Note: "settled; " + digits(x.Amplification.Settled) + times + " what it changed"})
	}
	if aa := d.r.Noise.AA; aa != nil && aa.Ratio > 0 {
		out = append(out, tile{Name: "the same cell twice", Link: "#" + d.ID + "-origin", After: ratioText(aa.Ratio), Note: aa.Step + ", tps: the measurement's own error"})
	}
	return out
}

// hostTiles are of the first cell: from the fewest instances to the most.
func (d *EngineDocument) hostTiles() []tile {
	var few, many *sheet.Row
	for _, x := range d.measured() {
		switch {
		case few != nil && (x.Cell != few.Cell || x.Load != few.Load || x.Ratio != few.Ratio):
		case few == nil:
			few, many = x, x
		default:
			if x.Instances < few.Instances {
				few = x
			}
			if x.Instances > many.Instances {
				many = x
			}
		}
	}
	if few == nil {
		return nil
	}
	link := "#" + d.ID + "-host"
	note := fmt.Sprintf("%d, then %s; %s, %s", few.Instances, farm.Counted(many.Instances, "server"), few.Cell, few.Load)
	var out []tile
	for _, k := range d.r.Knees {
		if k.Cell == few.Cell && k.Load == few.Load && k.Ratio == few.Ratio {
			out = append(out, tile{Name: "servers that still add something", Link: link, After: whole(float64(k.At)), Note: map[bool]string{true: "surely, and the next more do not", false: "surely; whether more do cannot be said"}[k.Sure]})
		}
	}
	if few == many {
		return append(out, tile{Name: "transactions a second", Link: link, After: digits(few.TPS.Mean), Note: few.ID})
	}
	return append(out,
		tile{Name: "transactions a second, together", Link: link, Before: digits(few.TPS.Mean), After: digits(many.TPS.Mean), Note: note},
		tile{Name: "p99 of the slowest server", Link: link, Before: micros(worst(few)), After: micros(worst(many)), Note: note},
		tile{Name: "processor time by transaction", Link: link, Before: micros(few.CPUPerTx), After: micros(many.CPUPerTx), Note: note},
	)
}

// applyTiles are one applier, the best of all, and what the primary wrote.
func (d *EngineDocument) applyTiles() []tile {
	var one, best *sheet.Row
	for _, x := range d.measured() {
		if one == nil && x.Threads == 0 {
			one = x
		}
		if best == nil || x.TPS.Mean > best.TPS.Mean {
			best = x
		}
	}
	if best == nil {
		return nil
	}
	link := "#" + d.ID + "-apply"
	t := tile{Name: "applied a second, at most", Link: link, After: digits(best.TPS.Mean), Note: best.ID}
	if one != nil && one != best {
		t.Before, t.Note = digits(one.TPS.Mean), "one applier, then "+applyWord(best)+" "+best.Parallel
	}
	out := []tile{t}
	if p := best.PrimaryTPS; p != nil && p.Mean > 0 {
		note := "of such a primary"
		if best.TPS.CI == nil || best.TPS.CI.Low < p.Mean != (best.Keeps < 1) {
			note += ", not surely"
		}
		out = append(out, tile{Name: "written a second by the primary", Link: link, After: digits(p.Mean), Note: count(best.Clients, "client")},
			tile{Name: "keeps up with", Link: link, After: percent(best.Keeps), Note: note})
	}
	return out
}
