package digest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

func told(a *timing) string {
	v := a.view()
	v.series.rewrite(0)
	out := fmt.Sprint(a.extra(), v.series.packed)
	v.latency.each(func(b int, n uint64) bool { out += fmt.Sprint(" ", b, ":", n); return true })
	return out
}

// A list of times tells what a histogram and a series of them do, however it is added to, merged and lengthened.
func TestTimingListEqualsFull(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var list, other timing
		full := timing{all: &allTimes{}}
		level := uint(r.IntN(5))
		for range r.IntN(2 * fewTimes) {
			e := eventTime{ns: r.Uint64() >> uint(r.IntN(64)), dated: r.IntN(6) > 0}
			if e.dated {
				e.number = (int64(r.IntN(50)) - 5) >> level
			}
			full.add(e, false)
			if r.IntN(3) > 0 {
				list.add(e, r.IntN(2) == 0)
			} else {
				other.add(e, false)
			}
		}
		if r.IntN(3) == 0 {
			other.full()
		}
		if r.IntN(2) == 0 {
			list, other = other, list
		}
		list.merge(&other)
		if a, b := told(&list), told(&full); a != b {
			t.Fatalf("a list of %d tells\n%s\nwant\n%s", list.n, a, b)
		}
		up := uint(r.IntN(3))
		list.rewrite(up)
		full.rewrite(up)
		if a, b := told(&list), told(&full); a != b {
			t.Fatalf("lengthened by %d, a list of %d tells\n%s\nwant\n%s", up, list.n, a, b)
		}
		var sum timing
		list.addTo(&sum.full().latency)
		sum.all.series = list.view().series
		if a, b := told(&sum), told(&full); a != b {
			t.Fatalf("added to a histogram\n%s\nwant\n%s", a, b)
		}
	}
}

// Counts that do not fit beside their bucket number move to where they do.
func TestHistogramOfHugeCounts(t *testing.T) {
	var h histogram
	for range 3 {
		h.add(700, fewMost)
		h.add(3, 1)
	}
	h.add(bucketCount-1, math.MaxUint64)
	got := map[int]uint64{}
	h.each(func(b int, n uint64) bool { got[b] = n; return true })
	if want := map[int]uint64{3: 3, 700: 3 * fewMost, bucketCount - 1: math.MaxUint64}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
