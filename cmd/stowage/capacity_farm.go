package main

import (
	"fmt"
	"io"
	"path/filepath"

	"stowage/backup/window"
	"stowage/bench/engine/sheet"
	"stowage/capacity"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/session"
)

// farmOutlook is what the farm can stand: one host that dies, more instances on a host, a backup of all. Of the farm as it is, or after a plan.
type farmOutlook struct {
	Deaths  []capacity.Death   `json:"deaths"` // each host in use by itself, the worst first
	Scaling []capacity.Scaling `json:"scaling"`
	Backup  window.Estimate    `json:"backup"`
}

func outlook(f *farm.Farm, c *capacity.Curve, rate *capacity.CopyRate) farmOutlook {
	return farmOutlook{Deaths: capacity.Deaths(f), Scaling: capacity.Scale(f, c), Backup: window.OneByOne(f, rate)}
}

// newestCurve is the newest bench of several instances on one host that is in bench/; nil where there is none.
func (a *app) newestCurve(d *session.Session) *capacity.Curve {
	paths, err := filepath.Glob(d.Path("bench/*.json"))
	if err != nil {
		return nil
	}
	var all []*sheet.Result
	from := map[*sheet.Result]string{}
	for _, path := range paths {
		if r, err := readEngine(path); err == nil && r != nil && r.Mode == sheet.Instances && r.Valid {
			all, from[r] = append(all, r), filepath.Base(path)
		}
	}
	for _, r := range newestOfEach(all) {
		return curveOf(r, from[r])
	}
	return nil
}

// curveOf is the curve of the result's base, at the load that reads and writes where there is one.
func curveOf(r *sheet.Result, name string) *capacity.Curve {
	load := ""
	for _, x := range r.Rows {
		if x.Cell == r.Base && len(x.Samples) > 0 && (load == "" || x.Load == "rw") {
			load = x.Load
		}
	}
	c := &capacity.Curve{}
	var first *sheet.Row
	for _, x := range r.Rows {
		if x.Cell != r.Base || x.Load != load || x.Again || len(x.Samples) == 0 || x.CPUPerTx <= 0 || first != nil && (x.Ratio != first.Ratio || x.Instances <= c.Points[len(c.Points)-1].Instances) {
			continue
		}
		if first == nil {
			first = x
		}
		p := capacity.Point{Instances: x.Instances, CPU: x.CPUPerTx / first.CPUPerTx}
		if first.Operations > 0 && x.Operations > 0 {
			f := x.Operations / first.Operations
			p.IOPS = &f
		}
		c.Points = append(c.Points, p)
	}
	if len(c.Points) < 2 {
		return nil
	}
	c.Source = fmt.Sprintf("%s: %s, %s, data/cache %.3g", name, r.Base, load, first.Ratio)
	return c
}

// mostRuns is of how many moves the copies count.
const mostRuns = 5

// copyRate is what was given, or what the copies of the newest moves ran at; nil where nothing was copied yet.
func (a *app) copyRate(d *session.Session, given string) (*capacity.CopyRate, error) {
	if given != "" {
		v, err := byteRate("--backup-rate", given)
		if err != nil {
			return nil, err
		}
		return &capacity.CopyRate{PerSecond: v, Source: "--backup-rate"}, nil
	}
	runs, err := d.Store.Runs("move")
	if err != nil {
		return nil, err
	}
	var rates []float64
	for _, r := range runs[max(0, len(runs)-mostRuns):] {
		events, _, err := d.Store.Events(r.ID, 0)
		if err != nil {
			return nil, err
		}
		rates = append(rates, capacity.CopyRates(events)...)
	}
	return capacity.MedianRate(rates, "copies of moves"), nil
}

// text says it for people: the worst first, and no more than needed.
func (o farmOutlook) text(w io.Writer, when string, c *capacity.Curve) error {
	safe := 0
	for _, d := range o.Deaths {
		if d.IsSafe() {
			safe++
		}
	}
	fmt.Fprintf(w, "\nIf one host dies%s: of %s, %d can be lost with no other over its limits.\n", when, farm.Counted(len(o.Deaths), "host"), safe)
	t := table.New(w, "DEAD HOST\tPAIRS\tNOT SERVED\tLOAD GOES TO\tFULLEST OF THESE").Cut("FULLEST OF THESE").Names("DEAD HOST")
	for _, d := range o.Deaths[:min(3, len(o.Deaths))] {
		t.Row("%s\t%d\t%d\t%s\t%s", d.Host, d.Pairs, len(d.Gone), farm.Counted(len(d.Heirs), "host"), heirText(d))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range o.Scaling {
		fmt.Fprintf(w, "\nInstances on a host of type %s%s:\n", s.HostType, when)
		t := table.Figures(w, "INSTANCES\tHOSTS\tCPU, LINEAR\tMEASURED\tOF\tIOPS, LINEAR\tMEASURED\tOF")
		for _, x := range s.Rows {
			t.Row("%d\t%d\t%.3g\t%s\t%s\t%.0f\t%s\t%s", x.Instances, x.Hosts, x.CPU, orNot(x.CPUMeasured, "%.3g"), orNot(s.CPULimit, "%.0f"), x.IOPS, orNot(x.IOPSMeasured, "%.0f"), orNot(s.IOPSLimit, "%.0f"))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if c == nil {
		fmt.Fprintln(w, "Linear, not measured: stowage bench engine DIR --n-instances 1,2,4,8 --save bench/instances.json measures it.")
	} else {
		fmt.Fprintf(w, "Measured: as in %s.\n", c.Source)
	}
	b := o.Backup
	if b.Rate == nil {
		fmt.Fprintf(w, "\nBackup of %s%s: the window is not measured, because nothing was copied yet; --backup-rate gives a rate.\n", farm.RoundQuantity(b.Bytes, farm.KindBytes), when)
		return nil
	}
	from := b.Rate.Source
	if b.Rate.Copies > 0 {
		from = fmt.Sprintf("the median of %s", farm.Counted(b.Rate.Copies, "copy"))
	}
	_, err := fmt.Fprintf(w, "\nBackup of %s%s at %s (%s): %s, until %s has sent its %s; the largest pair, %s, takes %s.\n", farm.RoundQuantity(b.Bytes, farm.KindBytes), when,
		farm.RoundQuantity(b.Rate.PerSecond, farm.KindByteRate), from, hoursText(*b.Window), b.Busiest, farm.RoundQuantity(b.BusiestBytes, farm.KindBytes), b.Largest, hoursText(*b.LargestTakes))
	return err
}

func heirText(d capacity.Death) string {
	if len(d.Heirs) == 0 || len(d.Heirs[0].Uses) == 0 {
		return "-"
	}
	h := d.Heirs[0]
	u := h.Uses[0]
	text := fmt.Sprintf("%s: %s at %.0f %%, was %.0f %%", h.Host, u.Resource, 100*u.Then/u.Limit, 100*u.Before/u.Limit)
	if h.IsOver() {
		text += ", over its limit"
	}
	return text
}

func orNot(v *float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}

// hoursText is a length of time in the unit that suits it.
func hoursText(seconds float64) string {
	switch {
	case seconds >= 2*3600:
		return fmt.Sprintf("%.1f hours", seconds/3600)
	case seconds >= 120:
		return fmt.Sprintf("%.0f minutes", seconds/60)
	}
	return fmt.Sprintf("%.1f seconds", seconds)
}
