package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"stowage/bench/engine/sheet"
)

// TestKeys: within the table; uniform ones all alike, zipf ones not, and not beside each other.
func TestKeys(t *testing.T) {
	const rows, draws = 1000, 100_000
	for _, kind := range []string{"uniform", "zipf"} {
		k := newKeys(rand.New(rand.NewPCG(3, 4)), rows, kind)
		counts := map[int64]int{}
		for range draws {
			id := k.next()
			if id < 1 || id > rows {
				t.Fatalf("%s drew %d", kind, id)
			}
			counts[id]++
		}
		var ids []int64
		for id := range counts {
			ids = append(ids, id)
		}
		slices.SortFunc(ids, func(a, b int64) int { return counts[b] - counts[a] })
		top := 0
		for _, id := range ids[:10] {
			top += counts[id]
		}
		if part := float64(top) / draws; kind == "uniform" && part > 0.02 || kind == "zipf" && part < 0.3 {
			t.Errorf("%s: the hottest hundredth gets %.2f", kind, part)
		}
		if d := ids[0] - ids[1]; kind == "zipf" && d*d <= 100 {
			t.Errorf("the two hottest rows are %d and %d: on one page", ids[0], ids[1])
		}
	}
	for _, n := range []uint64{1, 2, 10, 1000, 99991, 1 << 20} {
		if g := gcd(scatter(n), n); g != 1 {
			t.Errorf("scatter(%d) shares %d", n, g)
		}
	}
}

// TestOwnRows: no two clients delete the same row.
func TestOwnRows(t *testing.T) {
	owner := map[int64]int{}
	for n := range 4 {
		c := &client{keys: newKeys(rand.New(rand.NewPCG(5, uint64(n))), 1001, "uniform"), number: n, clients: 4}
		for range 5000 {
			id := c.own()
			if was, taken := owner[id]; id < 1 || id > 1001 || taken && was != n {
				t.Fatalf("clients %d and %d both delete %d", was, n, id)
			}
			owner[id] = n
		}
	}
}

// TestUndone: after going on in the middle of a round only what it has not run is ahead.
func TestUndone(t *testing.T) {
	row := func(rounds ...int) point {
		r := &sheet.Row{}
		for _, n := range rounds {
			r.Samples = append(r.Samples, sheet.Sample{Round: n})
		}
		return point{row: r}
	}
	if n := undone([]point{row(1, 2), row(1), row(1, 2), row()}, 2); n != 2 {
		t.Errorf("%d", n)
	}
}
