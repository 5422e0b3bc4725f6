package report

import (
	"cmp"
	"slices"
	"time"

	"stowage/inventory/shardload"
)

// charts are all hosts together over time: processors that were busy, and those that waited for disks.
func (f *HostFacts) charts() (out []*planChart) {
	for _, x := range []struct {
		id, measure, title string
		rows               []HostRow
	}{
		{"chart-busy", shardload.HostCPU, "Processors busy, all hosts", f.Rows},
		{"chart-waiting", shardload.HostWait, "Processors waiting for disks, all hosts", f.Rows},
		{"chart-machine-waiting", shardload.HostWait, "Processors waiting for disks, the machine that these hosts share", f.Machines},
	} {
		at := map[int64]float64{}
		for _, r := range x.rows {
			if r.Measure == x.measure {
				at[r.At.Unix()] += r.Mean
			}
		}
		if len(at) < 2 {
			continue
		}
		out = append(out, f.chart(x.id, x.title, at))
	}
	return out
}

func (f *HostFacts) chart(id, title string, at map[int64]float64) *planChart {
	times := make([]int64, 0, len(at))
	top := 0.0
	for t, v := range at {
		times, top = append(times, t), max(top, v)
	}
	slices.SortFunc(times, cmp.Compare[int64])
	first, last := times[0], times[len(times)-1]
	c := &planChart{ID: id, Title: title, Width: 560, Height: 210, X0: 62, X1: 552, Y0: 14, Y1: 184}
	c.Caption = title + ", by the " + lookWords(1, f.Grain)[2:] + "; the marks are the beginning of the first move and the end of the last"
	c.Desc = title + ", before and after the moves. The table has the means."
	top = max(top*1.06, 1e-9)
	for i := range 5 {
		v := top / 1.06 * float64(i) / 4
		c.YTicks = append(c.YTicks, tick{c.y(v / top), digits(v)})
	}
	day := "2006-01-02"
	if f.Grain < time.Hour {
		day = time.TimeOnly
	}
	x := func(unix int64) float64 { return c.x(float64(unix-first) / float64(max(1, last-first))) }
	for i := range int64(4) {
		t := first + (last-first)*i/3
		c.XTicks = append(c.XTicks, tick{min(max(x(t), c.X0+26), c.X1-26), time.Unix(t, 0).UTC().Format(day)})
	}
	var run []point
	flush := func() {
		if len(run) > 0 {
			c.Lines = append(c.Lines, planLine{Path: linePath(run), Class: "seen", Title: "measured"})
		}
		run = nil
	}
	for i, t := range times {
		if i > 0 && t-times[i-1] > 3*int64(f.Grain/time.Second) { // nothing was measured in between
			flush()
		}
		run = append(run, point{x(t), c.y(at[t] / top)})
	}
	flush()
	marks := []struct {
		at   time.Time
		text string
	}{{f.From, "first move"}, {f.Until, "last move ends"}}
	if x(f.Until.Unix())-x(f.From.Unix()) < 70 { // one name fits
		marks[0].text, marks[1].text = "moves", ""
	}
	for _, m := range marks {
		if u := m.at.Unix(); !m.at.IsZero() && u >= first && u <= last {
			c.Marks = append(c.Marks, planMark{At: x(u), LabelAt: min(x(u)+4, c.X1-80), Text: m.text})
		}
	}
	return c
}
