package stat

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestTimesAreExactEnough(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var h, halves Times
	var parts [2]Times
	var all []time.Duration
	for i := range 20_000 {
		d := time.Duration(rnd.ExpFloat64() * 1e6)
		h.Add(d)
		parts[i%2].Add(d)
		all = append(all, d)
	}
	slices.Sort(all)
	for _, q := range []float64{0.5, 0.95, 0.99, 0.999} {
		want, got := float64(all[int(q*float64(len(all)))-1]), float64(h.Histogram().Quantile(q))
		if got < want*0.985 || got > want*1.015 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
		if of := float64(h.Quantile(q)); of != got {
			t.Errorf("quantile %v is %v of the counts and %v of their histogram", q, of, got)
		}
	}
	halves.Merge(&parts[0])
	halves.Merge(&parts[1])
	if halves.N != h.N || halves.Most != h.Most || halves.Least != h.Least || halves.Sum != h.Sum || !slices.Equal(halves.Histogram(), h.Histogram()) {
		t.Error("two halves are not the whole")
	}
	// Every bucket's middle is in that bucket, and they rise.
	for at := range 64 * 40 {
		if got := bucketOf(middleOf(at)); got != at {
			t.Fatalf("the middle of bucket %d, %d ns, falls into %d", at, middleOf(at), got)
		}
	}
}
