package load

import "slices"

// Distribution of times, in milliseconds. Percentiles are exact (nearest
// rank), computed from every sample.
type Distribution struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p999_ms"`
	Max   float64 `json:"max_ms"`
}

// distribute sorts micros in place.
func distribute(micros []uint32) Distribution {
	if len(micros) == 0 {
		return Distribution{}
	}
	slices.Sort(micros)
	rank := func(permille int) float64 {
		n := (len(micros)*permille + 999) / 1000 // nearest rank, counted from 1
		return float64(micros[max(1, n)-1]) / 1000
	}
	return Distribution{
		Count: int64(len(micros)),
		P50:   rank(500), P95: rank(950), P99: rank(990), P999: rank(999), Max: rank(1000),
	}
}
