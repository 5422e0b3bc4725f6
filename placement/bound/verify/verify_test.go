package verify_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"stowage/placement/bound"
	"stowage/placement/bound/verify"
)

// thirds is a problem of 3n items of which two go together and never three,
// with the weights that prove it.
func thirds(n int) (bound.Problem, bound.Certificate) {
	p := bound.Problem{Bins: []bound.Bin{{Room: []int64{100, 100}}}}
	r := rand.New(rand.NewPCG(1, 1))
	cut := bound.Cut{Kind: bound.Content, Most: []int64{2}}
	for range 3 * n {
		w := 34 + r.Int64N(10)
		p.Items = append(p.Items, bound.Item{Needs: []int64{w, 77 - w}, Count: 1})
		cut.Weights = append(cut.Weights, 1)
	}
	return p, bound.Certificate{Kind: "content", Objective: bound.Bins, Cuts: []bound.Cut{cut}, Bound: int64(3*n+1) / 2}
}

func TestContent(t *testing.T) {
	p, c := thirds(20)
	if b, err := verify.Certificate(p, c); err != nil || b != 30 {
		t.Errorf("got %d, %v, want 30", b, err)
	}
	c.Bound = 31
	if _, err := verify.Certificate(p, c); !errors.Is(err, verify.ErrWrong) {
		t.Errorf("31: %v, want ErrWrong", err)
	}
	c.Bound = 60
	c.Cuts[0].Most[0] = 1
	if _, err := verify.Certificate(p, c); !errors.Is(err, verify.ErrWrong) {
		t.Errorf("two items weigh 2, not 1: %v, want ErrWrong", err)
	}
}

// TestTooLarge: running out of steps is not the same as being wrong.
func TestTooLarge(t *testing.T) {
	p, c := thirds(40)
	if _, err := verify.Within(p, c, 20); !errors.Is(err, verify.ErrTooLarge) || errors.Is(err, verify.ErrWrong) {
		t.Errorf("20 steps: %v, want ErrTooLarge", err)
	}
	if _, err := verify.Certificate(p, c); err != nil {
		t.Errorf("with the usual steps: %v", err)
	}
}

// TestNegativeSizes is the mistake of a prototype: sums of room limit sums of
// needs only while no need is negative.
func TestNegativeSizes(t *testing.T) {
	p := bound.Problem{
		Items: []bound.Item{{Needs: []int64{10}, Count: 2}, {Needs: []int64{-10}, Count: 1}},
		Bins:  []bound.Bin{{Room: []int64{10}}},
	}
	c := bound.Certificate{Kind: "sum", Objective: bound.Bins, Bound: 1, Cuts: []bound.Cut{{Kind: bound.Sum, Factors: []int64{1, 0}, Most: []int64{10}}}}
	if _, err := verify.Certificate(p, c); !errors.Is(err, verify.ErrWrong) {
		t.Errorf("negative need: %v, want ErrWrong", err)
	}
}

// TestClaims are certificates written by hand, each with the answer it gets.
func TestClaims(t *testing.T) {
	p := bound.Problem{
		Items: []bound.Item{
			{Needs: []int64{6, 1}, Count: 2}, {Needs: []int64{1, 7}, Count: 1}, {Needs: []int64{4, 4}, Count: 3, PerBin: 1}, {Needs: []int64{1, 1}, Count: 4},
		},
		Bins:  []bound.Bin{{Room: []int64{10, 10}, Cost: 7, MaxItems: 5}, {Room: []int64{5, 10}, Cost: 4, Available: 2}},
		Apart: [][]int{{0, 1}},
	}
	tests := []struct {
		name string
		c    bound.Certificate
		want int64 // -1: wrong
	}{
		{"sum", bound.Certificate{Bound: 3, Cuts: []bound.Cut{{Kind: bound.Sum, Factors: []int64{1, 0, 0}, Most: []int64{10, 5}}}}, 3},
		{"sum of both", bound.Certificate{Bound: 3, Cuts: []bound.Cut{{Kind: bound.Sum, Factors: []int64{1, 1, 0}, Most: []int64{20, 15}}}}, 3},
		{"room understated", bound.Certificate{Bound: 3, Cuts: []bound.Cut{{Kind: bound.Sum, Factors: []int64{1, 0, 0}, Most: []int64{9, 5}}}}, -1},
		{"negative factor", bound.Certificate{Bound: 1, Cuts: []bound.Cut{{Kind: bound.Sum, Factors: []int64{1, -1, 0}, Most: []int64{10, 5}}}}, -1},
		{"too few factors", bound.Certificate{Bound: 1, Cuts: []bound.Cut{{Kind: bound.Sum, Factors: []int64{1, 0}, Most: []int64{10, 5}}}}, -1},
		{"number of items", bound.Certificate{Bound: 1, Cuts: []bound.Cut{{Kind: bound.Sum, Factors: []int64{0, 0, 1}, Most: []int64{5, 10}}}}, 1},
		{"copies", bound.Certificate{Bound: 3, Cuts: []bound.Cut{{Kind: bound.Copies, Items: []int{2}, Most: []int64{1, 1}}}}, 3},
		{"more copies than that", bound.Certificate{Bound: 4, Cuts: []bound.Cut{{Kind: bound.Copies, Items: []int{2}, Most: []int64{1, 1}}}}, -1},
		{"clique by group", bound.Certificate{Bound: 3, Cuts: []bound.Cut{{Kind: bound.Clique, Items: []int{0, 1}, Most: []int64{1, 1}}}}, 3},
		{"no clique", bound.Certificate{Bound: 4, Cuts: []bound.Cut{{Kind: bound.Clique, Items: []int{0, 1, 2}, Most: []int64{1, 1}}}}, -1},
		{"clique names an item twice", bound.Certificate{Bound: 4, Cuts: []bound.Cut{{Kind: bound.Clique, Items: []int{0, 0}, Most: []int64{1, 1}}}}, -1},
		{"threshold", bound.Certificate{Bound: 2, Cuts: []bound.Cut{{Kind: bound.Shape, Factors: []int64{1, 0, 0}, Function: bound.Threshold, Parameter: 5, Most: []int64{10, 10}}}}, 2},
		{"threshold too high", bound.Certificate{Bound: 2, Cuts: []bound.Cut{{Kind: bound.Shape, Factors: []int64{1, 0, 0}, Function: bound.Threshold, Parameter: 6, Most: []int64{10, 10}}}}, -1},
		{"unknown kind", bound.Certificate{Bound: 1, Cuts: []bound.Cut{{Kind: "faith", Most: []int64{1, 1}}}}, -1},
		{"limits missing", bound.Certificate{Bound: 1, Cuts: []bound.Cut{{Kind: bound.Sum, Factors: []int64{1, 0, 0}, Most: []int64{10}}}}, -1},
		{"nothing", bound.Certificate{Bound: 0}, 0},
		{"something from nothing", bound.Certificate{Bound: 1}, -1},
		{"negative", bound.Certificate{Bound: -1}, -1},
		{"infeasible without reason", bound.Certificate{Infeasible: true}, -1},
		{"domains where there are none", bound.Certificate{Kind: "domains"}, -1},
		{"crowded where nothing is", bound.Certificate{Kind: "crowded", Infeasible: true, Items: []int{0}}, -1},
		{"oversized and is not", bound.Certificate{Kind: "oversized", Infeasible: true, Items: []int{0}}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.Objective = bound.Bins
			b, err := verify.Certificate(p, tt.c)
			if tt.want < 0 && !errors.Is(err, verify.ErrWrong) || tt.want >= 0 && (err != nil || b != tt.want) {
				t.Errorf("got %d, %v, want %d", b, err, tt.want)
			}
		})
	}
	// 29 in dimension 0: three bins of 10 at 7 each; two of them and both of 5
	// at 4 cost 22.
	cost := bound.Certificate{Objective: bound.Cost, Bound: 21, Cuts: []bound.Cut{{Kind: bound.Sum, Factors: []int64{1, 0, 0}, Most: []int64{10, 5}}}}
	if b, err := verify.Certificate(p, cost); err != nil || b != 21 {
		t.Errorf("cost: %d, %v, want 21", b, err)
	}
	cost.Bound = 22
	if _, err := verify.Certificate(p, cost); !errors.Is(err, verify.ErrWrong) {
		t.Errorf("cost 22: %v, want ErrWrong", err)
	}
}
