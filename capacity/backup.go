package capacity

import (
	"slices"

	"stowage/farm"
)

// CopyRate is how fast data leaves a server, and who says so.
type CopyRate struct {
	PerSecond float64 `json:"bytes_per_second"`
	Source    string  `json:"source"`
	Copies    int     `json:"copies"` // that it is the median of; 0: given by hand
}

// Backup is how long it takes to read all data once: size by rate. Seconds are nil without a rate.
type Backup struct {
	Pairs        int           `json:"pairs"`
	Bytes        float64       `json:"bytes"` // of all pairs, one side of each
	Rate         *CopyRate     `json:"rate"`  // of one copy; nil: not measured
	Largest      farm.PairName `json:"largest_pair"`
	LargestBytes float64       `json:"largest_pair_bytes"`
	LargestTakes *float64      `json:"largest_pair_seconds"`
	// A host backs its instances up one after the other; each pair is taken from the side whose host has least to do.
	Busiest      farm.HostName `json:"busiest_host"`
	BusiestBytes float64       `json:"busiest_host_bytes"`
	Window       *float64      `json:"window_seconds"` // until the busiest host has done
}

// BackupOf is the backup window of a farm, by the sizes in it.
func BackupOf(f *farm.Farm, rate *CopyRate) Backup {
	b := Backup{Rate: rate}
	pairs := slices.Clone(f.Pairs)
	slices.SortStableFunc(pairs, func(x, y farm.Pair) int { // the largest first, so that the rest evens out
		switch a, c := x.Needs()[farm.Disk], y.Needs()[farm.Disk]; {
		case a > c:
			return -1
		case a < c:
			return 1
		}
		return 0
	})
	on := map[farm.HostName]float64{}
	for _, p := range pairs {
		size := p.Needs()[farm.Disk]
		var least farm.HostName
		for _, side := range p.SideNames() {
			if h := p.Sides[side].Host; least == "" || on[h] < on[least] {
				least = h
			}
		}
		on[least] += size
		b.Pairs, b.Bytes = b.Pairs+1, b.Bytes+size
		if size > b.LargestBytes {
			b.Largest, b.LargestBytes = p.Name, size
		}
	}
	for _, h := range f.HostsInUse() {
		if on[h] > b.BusiestBytes {
			b.Busiest, b.BusiestBytes = h, on[h]
		}
	}
	if rate != nil && rate.PerSecond > 0 {
		largest, window := b.LargestBytes/rate.PerSecond, b.BusiestBytes/rate.PerSecond
		b.LargestTakes, b.Window = &largest, &window
	}
	return b
}

// CopyRates are the rates at which the copies of a run went from server to server, in bytes a second: from the first to the last report of each that
// told how many bytes were there. Copies that took less than a second say nothing.
func CopyRates(events []farm.Event) []float64 {
	type lane struct {
		run  string
		pair farm.PairName
		side farm.SideName
	}
	type copied struct{ first, last farm.Event }
	at := map[lane]*copied{}
	var order []lane
	for _, e := range events {
		if e.Step != "seed" || e.Kind != farm.StepProgress || e.Bytes <= 0 {
			continue
		}
		l := lane{e.Run, e.Pair, e.Side}
		switch c := at[l]; {
		case c == nil:
			at[l], order = &copied{e, e}, append(order, l)
		case e.Bytes < c.last.Bytes: // it was begun again
			*c = copied{e, e}
		case e.Bytes > c.last.Bytes: // the same number comes again while the copy's log is applied
			c.last = e
		}
	}
	var out []float64
	for _, l := range order {
		c := at[l]
		if took := c.last.Time.Sub(c.first.Time).Seconds(); took >= 1 {
			out = append(out, float64(c.last.Bytes-c.first.Bytes)/took)
		}
	}
	return out
}

// MedianRate is the middle one of several; nil of none.
func MedianRate(rates []float64, source string) *CopyRate {
	if len(rates) == 0 {
		return nil
	}
	return &CopyRate{PerSecond: median(rates), Source: source, Copies: len(rates)}
}
