package digest

import (
	"encoding/json"
	"math"

	"stowage/internal/nested"
)

// unknown is the latency of events whose time nobody told: those of a general log.
func unknown() Latency {
	no := math.NaN()
	return Latency{Min: no, Max: no, Avg: no, P50: no, P95: no, P99: no, Stddev: no}
}

func (l Latency) isKnown() bool { return !math.IsNaN(l.Avg) }

// Seconds is a time that is null in JSON where it is not known, and not a number.
type Seconds float64

// MarshalJSON writes null for what is not a number.
func (s Seconds) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(s)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(s))
}

// UnmarshalJSON reads null as not a number.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	v := math.NaN()
	if string(text) != "null" {
		if err := json.Unmarshal(text, &v); err != nil {
			return err
		}
	}
	*s = Seconds(v)
	return nil
}

// latencyJSON is a Latency in which what is not known is null.
type latencyJSON struct {
	Sum    float64  `json:"sum"`
	Min    *float64 `json:"min"`
	Max    *float64 `json:"max"`
	Avg    *float64 `json:"avg"`
	P50    *float64 `json:"p50"`
	P95    *float64 `json:"p95"`
	P99    *float64 `json:"p99"`
	Stddev *float64 `json:"stddev"`
	Summed uint64   `json:"summed"`
}

// MarshalJSON writes null for what is not a number.
func (l Latency) MarshalJSON() ([]byte, error) {
	known := func(v *float64) *float64 {
		if math.IsNaN(*v) {
			return nil
		}
		return v
	}
	return json.Marshal(latencyJSON{l.Sum, known(&l.Min), known(&l.Max), known(&l.Avg), known(&l.P50), known(&l.P95), known(&l.P99), known(&l.Stddev), l.Summed})
}

// UnmarshalJSON reads null as not a number.
func (l *Latency) UnmarshalJSON(text []byte) error {
	var in latencyJSON
	if err := nested.Unmarshal(text, &in); err != nil {
		return err
	}
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	*l = Latency{in.Sum, known(in.Min), known(in.Max), known(in.Avg), known(in.P50), known(in.P95), known(in.P99), known(in.Stddev), in.Summed}
	return nil
}
