package replay

import "stowage/bench/stat"

// Spread sums up durations, in seconds.
type Spread struct {
	Count uint64  `json:"count"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

func spreadOf(h *stat.Times) Spread {
	return Spread{h.N, h.Quantile(0.5).Seconds(), h.Quantile(0.95).Seconds(), h.Quantile(0.99).Seconds(), h.Most.Seconds()}
}
