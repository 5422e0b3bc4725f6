package bound

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDualFeasible: for every room up to 40 and every parameter, no sizes that
// fit have images that do not (an unbounded knapsack for each).
func TestDualFeasible(t *testing.T) {
	for c := int64(1); c <= 40; c++ {
		for _, f := range []Function{Threshold, Stairs, Halves} {
			for parameter := int64(1); parameter <= c; parameter++ {
				if f != Stairs && 2*parameter > c {
					continue
				}
				best := make([]int64, c+1)
				for room := int64(1); room <= c; room++ {
					for x := int64(1); x <= room; x++ {
						best[room] = max(best[room], best[room-x]+f.apply(x, c, parameter))
					}
				}
				if full := f.apply(c, c, parameter); best[c] > full {
					t.Fatalf("%s %d in room %d: images of %d fit into %d", f, parameter, c, best[c], full)
				}
				if f.apply(0, c, parameter) != 0 {
					t.Fatalf("%s %d in room %d: nothing has an image", f, parameter, c)
				}
			}
		}
	}
}

// TestSimplex: on random programs the answer is feasible, its dual is too, and
// they cost the same, which makes both optimal.
func TestSimplex(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for range 300 {
		m := 1 + r.IntN(12)
		right := make([]float64, m)
		senses := make([]sense, m)
		for k := range right {
			right[k] = float64(1 + r.IntN(9))
			senses[k] = []sense{atLeast, exactly, atMost}[r.IntN(3)]
		}
		s := newSimplex(right, senses, 1000)
		for range 3 * m {
			c := column{cost: 1 + 9*r.Float64()}
			for k := range m {
				if r.IntN(3) == 0 {
					c.rows = append(c.rows, int32(k))
					c.vals = append(c.vals, float64(1+r.IntN(4)))
				}
			}
			s.add(c)
			if r.IntN(4) == 0 {
				s.solve(3) // columns that come late are taken up as well
			}
		}
		if !s.solve(100_000) {
			t.Fatal("no end")
		}
		checkOptimal(t, s)
		s.invert()
		checkOptimal(t, s)
	}
}

func checkOptimal(t *testing.T, s *simplex) {
	t.Helper()
	sum := make([]float64, s.m)
	for i, v := range s.basis {
		if s.x[i] < -1e-6 {
			t.Fatalf("variable %d is %v", v, s.x[i])
		}
		s.entries(v, func(r int, val float64) { sum[r] += val * s.x[i] })
	}
	worth := 0.0
	for k, b := range s.right {
		if math.Abs(sum[k]-b) > 1e-5 {
			t.Fatalf("row %d comes to %v, want %v", k, sum[k], b)
		}
		worth += b * s.dual[k]
	}
	if math.Abs(worth-s.value()) > 1e-5*(1+worth) {
		t.Fatalf("the dual is worth %v and the answer costs %v", worth, s.value())
	}
	for v := range 3*s.m + len(s.pool) {
		row, kind := v%s.m, v/s.m
		if v < 3*s.m && (kind == 0 && s.sense[row] == exactly || kind == 1 && s.sense[row] == atMost || kind == 2 && s.sense[row] != exactly) {
			continue // there is no such variable
		}
		if rc := s.reduced(v); rc < -1e-6 {
			t.Fatalf("variable %d would improve by %v", v, rc)
		}
	}
}

// TestPricer: the heaviest content is what trying all contents finds.
func TestPricer(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for range 2000 {
		d := 1 + r.IntN(3)
		p := Problem{Bins: []Bin{{MaxItems: r.IntN(5)}}}
		for range d {
			p.Bins[0].Room = append(p.Bins[0].Room, 1+r.Int64N(50))
		}
		for range 1 + r.IntN(9) {
			it := Item{Count: 1 + r.IntN(3)}
			for k := range d {
				it.Needs = append(it.Needs, r.Int64N(p.Bins[0].Room[k]+1))
			}
			p.Items = append(p.Items, it)
		}
		m := newModel(p, Bins)
		pr := newPricer(m, 0)
		for range 3 { // the same pricer again: it keeps its weights
			values := make([]int64, m.n)
			for i := range values {
				values[i] = r.Int64N(1 << 20)
			}
			want := heaviest(m, values, 0, slices.Clone(m.room[0]))
			floor := []int64{0, want - 1, want, want + 5}[r.IntN(4)]
			got, done := pr.search(values, max(0, floor), math.MaxInt32, 5)
			if !done || got != max(want, floor, 0) {
				t.Fatalf("heaviest %d (floor %d, done %v), want %d", got, floor, done, want)
			}
			if want > max(0, floor) && (len(pr.found) == 0 || pr.found[0].worth(values) != want) {
				t.Fatalf("found %v, none weighs %d", pr.found, want)
			}
		}
	}
}

// heaviest tries all contents of items from i on.
func heaviest(m *model, values []int64, i int, room []int64) int64 {
	if i == m.n {
		return 0
	}
	best := int64(0)
	rest := slices.Clone(room)
	for k := int64(0); k <= m.count[i]; k++ {
		if k > 0 {
			for d := range rest {
				if rest[d] -= m.need[i][d]; rest[d] < 0 {
					return best
				}
			}
		}
		best = max(best, k*values[i]+heaviest(m, values, i+1, rest))
	}
	return best
}

// TestCheapestMix: the least cost that satisfies all cuts is what trying all
// numbers of bins finds.
func TestCheapestMix(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	impossible := 0
	for range 1500 {
		types := 1 + r.IntN(3)
		m := &model{n: 1, copies: 12, count: []int64{1}, dims: 1}
		for range types {
			m.price = append(m.price, r.Int64N(30)*10)
			m.avail = append(m.avail, []int64{unlimited, 1 + r.Int64N(6)}[r.IntN(2)])
		}
		var cuts []Cut
		for range 1 + r.IntN(3) {
			c := Cut{Kind: Content, Weights: []int64{r.Int64N(60)}}
			for range types {
				c.Most = append(c.Most, max(0, r.Int64N(20)-2))
			}
			cuts = append(cuts, c)
		}
		want := cheapestByTrying(m, cuts, 0, make([]int64, types), 0)
		got, feasible, _ := m.cheapest(cuts, 1_000_000)
		if want < 0 {
			impossible++
			if feasible && got < 0 {
				t.Fatalf("negative cost %d", got)
			}
			continue
		}
		if !feasible || got != want {
			t.Fatalf("cost %d (feasible %v), want %d: prices %v, available %v, cuts %+v", got, feasible, want, m.price, m.avail, cuts)
		}
	}
	if impossible < 20 {
		t.Errorf("only %d impossible mixes", impossible)
	}
}

func cheapestByTrying(m *model, cuts []Cut, t int, number []int64, cost int64) int64 {
	if t == len(number) {
		for _, c := range cuts {
			var sum int64
			for s, k := range number {
				sum += k * c.Most[s]
			}
			if sum < c.Weights[0] {
				return -1
			}
		}
		return cost
	}
	best := int64(-1)
	for k := int64(0); k <= min(m.avail[t], m.copies); k++ {
		number[t] = k
		if c := cheapestByTrying(m, cuts, t+1, number, cost+k*m.price[t]); c >= 0 && (best < 0 || c < best) {
			best = c
		}
	}
	return best
}
