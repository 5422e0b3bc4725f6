package digest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// twoWeeks are the same day of two weeks on two servers with three shards: every class has a load a second that goes up and down with the day, times its
// factor in the second week.
func twoWeeks(r *rand.Rand, classes map[string][2]float64) (hours []Hour, watches []Watch) {
	for w := range 2 {
		for h := range 24 {
			at := monday.Add(time.Duration(w)*week + time.Duration(h)*time.Hour)
			for s, server := range []string{"a", "b"} {
				seconds := int64(60)
				if s == 1 {
					seconds = 30 // shorter windows count no less
				}
				watches = append(watches, Watch{Server: server, At: at, Millis: seconds * 1000})
				for name, factor := range classes {
					for shard := range 3 {
						of := 1.0
						if w == 1 {
							of = factor[0]
						}
						calls := float64(seconds) * 100 * (1 + 0.5*math.Sin(float64(h)/4)) * math.Exp(0.05*r.NormFloat64()) * float64(shard+1)
						perCall := 1e3
						if w == 1 {
							calls, perCall = calls*factor[1], perCall*of/math.Max(factor[1], 1e-9)
						}
						if calls >= 1 {
							hours = append(hours, Hour{Server: server, Shard: fmt.Sprint("shard", shard), Checksum: name, Fingerprint: "select " + name, At: at, Calls: int64(calls), Micros: int64(calls * perCall), Rows: 1})
						}
					}
				}
			}
		}
	}
	return hours, watches
}

// TestWhatGotHeavierIsFound and nothing else: classes with a load and a number of calls that is this many times last week's.
func TestWhatGotHeavierIsFound(t *testing.T) {
	for seed := range uint64(20) {
		hours, watches := twoWeeks(rand.New(rand.NewPCG(seed, 1)), map[string][2]float64{
			"STEADY": {1, 1}, "LIGHTER": {0.5, 0.5}, "SLOWER": {2, 1}, "MORE": {2, 2}, "LITTLE": {1.1, 1.1},
		})
		o := LoadOverTime(slices.Values(hours), watches)
		var found []string
		for _, f := range o.Findings {
			found = append(found, f.Check+" "+f.Subject)
		}
		slices.Sort(found)
		if !slices.Equal(found, []string{"query-more class MORE", "query-slower class SLOWER"}) {
			t.Errorf("seed %d: %q", seed, found)
		}
		i := slices.IndexFunc(o.Classes, func(c ClassLoad) bool { return c.Checksum == "SLOWER" })
		if c := o.Classes[i]; math.Abs(*c.Change-2) > 0.1 || math.Abs(*c.TimeChange-2) > 0.1 || math.Abs(*c.CallsChange-1) > 0.05 || c.TopShard != "shard2" || c.Shards != 3 {
			t.Errorf("seed %d: %+v", seed, c)
		}
		if o.HoursBefore != 48 || o.Hours != 48 || o.Shards[0].Shard != "shard2" {
			t.Errorf("%d of %d hours, %+v", o.HoursBefore, o.Hours, o.Shards)
		}
	}
}

// TestSharesAddUp: loads of classes and of shards are both the whole, whatever was looked at for how long.
func TestSharesAddUp(t *testing.T) {
	hours, watches := twoWeeks(rand.New(rand.NewPCG(9, 9)), map[string][2]float64{"A": {1, 1}, "B": {3, 1}})
	o := LoadOverTime(slices.Values(hours), watches)
	classes, shards := 0.0, 0.0
	for _, c := range o.Classes {
		classes += c.Load
	}
	for _, s := range o.Shards {
		shards += s.Load
	}
	if math.Abs(classes-o.Load) > 1e-9 || math.Abs(shards-o.Load) > 1e-9 || o.Load == 0 {
		t.Errorf("%v in classes, %v in shards, %v in all", classes, shards, o.Load)
	}
}

// TestHoursThatWereNotReadCountForNothing: without the week before there is no change, and a class is not new because nobody looked.
func TestHoursThatWereNotReadCountForNothing(t *testing.T) {
	hours, watches := twoWeeks(rand.New(rand.NewPCG(1, 1)), map[string][2]float64{"A": {1, 1}})
	hours = slices.DeleteFunc(hours, func(h Hour) bool { return h.At.Before(monday.Add(week)) })
	watches = slices.DeleteFunc(watches, func(w Watch) bool { return w.At.Before(monday.Add(week)) })
	watches = append(watches, Watch{Server: "c", At: monday.Add(week), Failed: 1})
	o := LoadOverTime(slices.Values(hours), watches)
	if c := o.Classes[0]; c.Change != nil || c.IsNew || len(o.Findings) != 0 {
		t.Errorf("%+v", c)
	}
	if !slices.Equal(o.NotMeasured, []string{"c"}) {
		t.Errorf("not measured: %q", o.NotMeasured)
	}
	for i := range 24 {
		watches = append(watches, Watch{Server: "a", At: monday.Add(time.Duration(i) * time.Hour), Millis: 1000})
	}
	if o := LoadOverTime(slices.Values(hours), watches); !o.Classes[0].IsNew || len(o.Findings) != 1 || o.Findings[0].Check != "query-new" {
		t.Errorf("%+v", o.Findings)
	}
}
