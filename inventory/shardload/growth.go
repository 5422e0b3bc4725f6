package shardload

import (
	"fmt"

	"stowage/farm"
)

// A growth is said from a day on, and is sure from three weeks on: package capacity has why.
const (
	dayLeast = 1
	dayFair  = 7
	dayGood  = 21
)

// Grow fills in growth from earlier reports, in any order: the difference of sizes between the earliest and this one.
// What is between gives the interval.
func (r *Report) Grow(earlier []Report) {
	const secondsPerDay = 86400
	for n := range r.Shards {
		s := &r.Shards[n]
		if !s.Disk.Measured() {
			continue
		}
		longest, rates := 0.0, []float64{}
		value := 0.0
		for _, old := range earlier {
			days := r.Began.Sub(old.Began).Seconds() / secondsPerDay
			was := old.shard(s.Shard)
			if days < dayLeast || was == nil || !was.Disk.Measured() {
				continue
			}
			rate := (*s.Disk.Value - *was.Disk.Value) / days
			rates = append(rates, rate)
			if days > longest {
				longest, value = days, rate
			}
		}
		if len(rates) == 0 {
			continue
		}
		f := figure(value, fmt.Sprintf("difference of file sizes over %.0f days", longest), rates...)
		switch {
		case longest < dayFair:
			f = f.atMost(Poor)
		case longest < dayGood:
			f = f.atMost(Fair)
		}
		s.Growth = f
	}
}

func (r Report) shard(name farm.ShardName) *Shard {
	for n := range r.Shards {
		if r.Shards[n].Shard == name {
			return &r.Shards[n]
		}
	}
	return nil
}
