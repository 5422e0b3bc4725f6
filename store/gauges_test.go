package store_test

import (
	"testing"
	"time"

	"stowage/store"
)

// TestGaugesAreMeansOfTheirWindows by the hour and by the day, with the highest; a store of before has none.
func TestGaugesAreMeansOfTheirWindows(t *testing.T) {
	s := open(t, newPath(t))
	for i, v := range []float64{1, 3, 8} {
		at := noon.Add(time.Duration(i) * 31 * time.Minute)
		must(t, s.PutDuty(duty("hosts", at, true), store.Yield{Gauges: []store.Gauge{{Name: "h", Measure: "cpu", At: at, Mean: v}, {Name: "h", Measure: "wait", At: at, Mean: 0}}}, keepAll))
	}
	hours, err := s.Gauges(noon, false)
	must(t, err)
	if len(hours) != 4 || hours[0].Mean != 2 || hours[0].Most != 3 || hours[0].Windows != 2 || hours[2].Mean != 8 || hours[0].Measure != "cpu" {
		t.Errorf("hours: %+v", hours)
	}
	days, err := s.Gauges(noon.Add(time.Hour), true)
	must(t, err)
	if len(days) != 2 || days[0].Mean != 4 || days[0].Most != 8 || days[0].Windows != 3 {
		t.Errorf("days: %+v", days)
	}
	later, err := s.Gauges(noon.Add(24*time.Hour), false)
	must(t, err)
	if len(later) != 0 {
		t.Errorf("of the day after: %+v", later)
	}
}
