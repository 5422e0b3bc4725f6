package window

import (
	"stowage/capacity"
	"stowage/farm"
)

// Estimate is how long it takes to read all data once: size by rate, the hosts at the same time and each one pair after the other. Seconds are nil without a rate.
type Estimate struct {
	Pairs        int                `json:"pairs"`
	Bytes        float64            `json:"bytes"` // of all pairs, one side of each
	Rate         *capacity.CopyRate `json:"rate"`  // of one copy; nil: not measured
	Largest      farm.PairName      `json:"largest_pair"`
	LargestBytes float64            `json:"largest_pair_bytes"`
	LargestTakes *float64           `json:"largest_pair_seconds"`
	Busiest      farm.HostName      `json:"busiest_host"`
	BusiestBytes float64            `json:"busiest_host_bytes"`
	Window       *float64           `json:"window_seconds"` // until the busiest host has done
}

// OneByOne is the estimate for a farm, by the sizes in it: the Window of a farm whose hosts back one instance up after the other, and nothing else limits.
func OneByOne(f *farm.Farm, rate *capacity.CopyRate) Estimate {
	known := rate != nil && rate.PerSecond > 0
	stream := 1.0
	if known {
		stream = rate.PerSecond
	}
	w := Of(f, Limits{Stream: stream, PerHost: 1, Sink: Own})
	e := Estimate{Rate: rate, Pairs: len(w.Backups), Bytes: w.Bytes}
	for _, b := range w.Backups {
		if b.Pair == w.Largest && b.Bytes > 0 {
			e.Largest, e.LargestBytes = b.Pair, b.Bytes
		}
	}
	for _, l := range w.Lanes() {
		if l.Bytes > e.BusiestBytes {
			e.Busiest, e.BusiestBytes = l.Host, l.Bytes
		}
	}
	if known {
		largest, window := e.LargestBytes/stream, e.BusiestBytes/stream
		e.LargestTakes, e.Window = &largest, &window
	}
	return e
}
