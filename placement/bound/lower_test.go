package bound_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"stowage/placement/bound"
	"stowage/placement/bound/verify"
)

// readProblem reads a file in the format of testdata/README.md; files of
// public packing instances (.vbp) are alike but for the number of items.
func readProblem(t *testing.T, name string) bound.Problem {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r := strings.NewReader(string(b))
	number := func() int64 {
		var n int64
		if _, err := fmt.Fscan(r, &n); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	d := int(number())
	bin := bound.Bin{Room: make([]int64, d), Cost: 14000, Watts: 450}
	if filepath.Ext(name) != ".vbp" {
		bin.MaxItems = int(number())
	}
	for k := range d {
		bin.Room[k] = number()
	}
	p := bound.Problem{Bins: []bound.Bin{bin}}
	for range number() {
		it := bound.Item{Needs: make([]int64, d)}
		for k := range d {
			it.Needs[k] = number()
		}
		it.Count = int(number())
		p.Items = append(p.Items, it)
	}
	return p
}

// lower is bound.Lower, verified.
func lower(t *testing.T, p bound.Problem, o bound.Objective, opt bound.Options) bound.Result {
	t.Helper()
	r, err := bound.Lower(p, o, opt)
	if err != nil {
		t.Fatal(err)
	}
	want := r.Bound
	if r.Infeasible {
		want = verify.NoPacking
	}
	if b, err := verify.Certificate(p, overTheWire(t, r.Certificate)); err != nil || b != want {
		t.Fatalf("verify says %d, %v; want %d by %s", b, err, want, r.Method)
	}
	if r.Bound < r.Volume {
		t.Fatalf("bound %d is below volume %d", r.Bound, r.Volume)
	}
	return r
}

// TestEtsy: thirty hosts, fifteen a side, are needed for instances; volume
// says 28. By single shards, 14 a side are needed, and a plan with 14 exists.
func TestEtsy(t *testing.T) {
	p := readProblem(t, "testdata/etsy_instances.txt")
	r := lower(t, p, bound.Bins, bound.Options{})
	if r.Bound != 15 || r.Volume != 14 || !r.Settled {
		t.Errorf("instances: %+v, want 15, volume 14, settled", r)
	}
	if r := lower(t, p, bound.Cost, bound.Options{}); r.Bound != 15*14000 {
		t.Errorf("cost of instances: %d", r.Bound)
	}
	if r := lower(t, p, bound.Watts, bound.Options{}); r.Bound != 15*450 {
		t.Errorf("watts of instances: %d", r.Bound)
	}
	shards := lower(t, readProblem(t, "testdata/etsy_shards.txt"), bound.Bins, bound.Options{})
	if shards.Bound != 14 {
		t.Errorf("shards: %d, want 14", shards.Bound)
	}
}

// TestDomains: with the sides of a pair on different power feeds, each feed
// holds one side of every pair, and thirty hosts are needed at least.
func TestDomains(t *testing.T) {
	p := readProblem(t, "testdata/etsy_instances.txt")
	for i := range p.Items {
		p.Items[i].Count, p.Items[i].PerDomain = 2, 1
	}
	a, b := p.Bins[0], p.Bins[0]
	a.Domain, b.Domain = "feed a", "feed b"
	p.Bins = []bound.Bin{a, b}
	if r := lower(t, p, bound.Bins, bound.Options{}); r.Bound != 30 {
		t.Errorf("two feeds: %d by %s, want 30", r.Bound, r.Method)
	}
	p.Bins[0].Available, p.Bins[1].Available = 16, 14
	if r := lower(t, p, bound.Bins, bound.Options{}); !r.Infeasible {
		t.Errorf("16 hosts on feed a and 14 on feed b: bound %d, want a proof that there is no plan", r.Bound)
	}
}

// TestTypeMix: which hosts are cheapest depends on what they are paid in.
func TestTypeMix(t *testing.T) {
	p := readProblem(t, "testdata/farm10_instances.txt")
	p.Bins = []bound.Bin{
		{Name: "ssd7.7", Room: []int64{65280, 4300, 336, 1800000, 120000}, Cost: 14000, Watts: 450, MaxItems: 6},
		{Name: "ssd3.8", Room: []int64{32640, 3225, 240, 1200000, 120000}, Cost: 9500, Watts: 360, MaxItems: 4},
		{Name: "nvme15", Room: []int64{130560, 8601, 576, 5400000, 300000}, Cost: 27000, Watts: 700, MaxItems: 12},
	}
	best := map[bound.Objective]int64{}
	for _, o := range []bound.Objective{bound.Bins, bound.Cost, bound.Watts} {
		best[o] = lower(t, p, o, bound.Options{}).Bound
	}
	if best[bound.Bins] < 68 || best[bound.Cost] < 1_770_000 || best[bound.Watts] < 46_900 {
		t.Errorf("bounds %v, want at least 68 bins, 1770000 and 46900 W", best)
	}
	p.Bins[2].Available = 10
	scarce := lower(t, p, bound.Bins, bound.Options{}).Bound
	if scarce < 125 {
		t.Errorf("with ten large hosts only, %d, want 125", scarce)
	}
}

// uniform makes a problem like the public ones: sizes drawn evenly.
func uniform(seed uint64, n, d int, from, to int64) bound.Problem {
	r := rand.New(rand.NewPCG(seed, 0))
	p := bound.Problem{Bins: []bound.Bin{{Room: make([]int64, d)}}}
	for k := range d {
		p.Bins[0].Room[k] = 1000
	}
	for range n {
		it := bound.Item{Count: 1, Needs: make([]int64, d)}
		for k := range d {
			it.Needs[k] = from + r.Int64N(to-from)
		}
		p.Items = append(p.Items, it)
	}
	return p
}

// TestConfigurationLP: with two to four items in a bin the dual of the
// configuration LP is well above volume.
func TestConfigurationLP(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of column generation")
	}
	for _, x := range []struct {
		p     bound.Problem
		least int64 // above volume
	}{
		{uniform(1, 100, 3, 100, 600), 1},
		{uniform(2, 60, 5, 100, 700), 2},
		{uniform(3, 120, 2, 200, 500), 0},
	} {
		r := lower(t, x.p, bound.Bins, bound.Options{Effort: bound.Normal})
		t.Logf("bound %d, volume %d, settled %v: %s", r.Bound, r.Volume, r.Settled, r.Certificate.Kind)
		if r.Bound < r.Volume+x.least || !r.Settled {
			t.Errorf("bound %d, volume %d, settled %v", r.Bound, r.Volume, r.Settled)
		}
	}
}

// TestTenEtsys: a plan with 138 hosts for the instances of ten Etsys is known;
// volume says 136, the dual 137.
func TestTenEtsys(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of column generation")
	}
	p := readProblem(t, "testdata/farm10_instances.txt")
	r := lower(t, p, bound.Bins, bound.Options{Effort: bound.Normal, Upper: 137})
	if r.Bound != 137 || r.Volume != 136 {
		t.Errorf("bound %d, volume %d by %s; want 137 and 136", r.Bound, r.Volume, r.Method)
	}
}

// TestFarmOfHundredThousand: a farm a hundred times Etsy's takes sums, and not
// much more; its bound is never below volume.
func TestFarmOfHundredThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("100,000 items")
	}
	r := rand.New(rand.NewPCG(9, 9))
	p := bound.Problem{Bins: []bound.Bin{{Room: []int64{6_528_000, 430_080, 33_600}}}}
	for range 96_000 {
		p.Items = append(p.Items, bound.Item{Count: 1, Needs: []int64{20_000 + r.Int64N(130_000), 2_000 + r.Int64N(8_000), 50 + r.Int64N(500)}})
	}
	if res := lower(t, p, bound.Bins, bound.Options{Effort: bound.Normal}); res.Bound < 1200 {
		t.Errorf("bound %d", res.Bound)
	}
}

// TestManyTypes: hosts that are partly full already are each a type of their
// own.
func TestManyTypes(t *testing.T) {
	p := uniform(5, 150, 3, 50, 400)
	for k := range int64(120) {
		p.Bins = append(p.Bins, bound.Bin{Room: []int64{1000 - 5*k, 900 - 3*k, 500 + 4*k}, Available: 1, Cost: 90 + k%7})
	}
	p.Bins[0].Available, p.Bins[0].Cost = 10, 100
	for _, o := range []bound.Objective{bound.Bins, bound.Cost} {
		if r := lower(t, p, o, bound.Options{Effort: bound.Normal}); r.Infeasible || r.Bound < 20 {
			t.Errorf("%s: %+v", o, r.Bound)
		}
	}
}

// TestUpperAndStop: a known packing of the value of a bound ends the search,
// and so does whoever asks to stop; what is there by then holds.
func TestUpperAndStop(t *testing.T) {
	p := uniform(2, 60, 5, 100, 700)
	quick := lower(t, p, bound.Bins, bound.Options{Upper: 1})
	if quick.Bound < 1 || quick.Certificate.Kind != "sum" {
		t.Errorf("with a packing of 1 known: %d by %s", quick.Bound, quick.Certificate.Kind)
	}
	stopped := lower(t, p, bound.Bins, bound.Options{Effort: bound.Deep, Stop: func() bool { return true }})
	if stopped.Settled || stopped.Bound < quick.Bound {
		t.Errorf("stopped: %+v", stopped)
	}
}

// TestSameAgain: the same question has the same answer, to the last digit.
func TestSameAgain(t *testing.T) {
	p := uniform(4, 50, 3, 100, 600)
	a := lower(t, p, bound.Bins, bound.Options{Effort: bound.Normal})
	b := lower(t, p, bound.Bins, bound.Options{Effort: bound.Normal})
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v, then %+v", a, b)
	}
}

func TestInvalidProblems(t *testing.T) {
	good := func() bound.Problem {
		return bound.Problem{Items: []bound.Item{{Needs: []int64{1, 2}, Count: 1}}, Bins: []bound.Bin{{Room: []int64{10, 10}}}}
	}
	if _, err := bound.Lower(good(), bound.Bins, bound.Options{}); err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(p *bound.Problem){
		"no bin":               func(p *bound.Problem) { p.Bins = nil },
		"no dimension":         func(p *bound.Problem) { p.Bins[0].Room = nil },
		"negative need":        func(p *bound.Problem) { p.Items[0].Needs[1] = -1 },
		"negative room":        func(p *bound.Problem) { p.Bins[0].Room[0] = -1 },
		"negative cost":        func(p *bound.Problem) { p.Bins[0].Cost = -1 },
		"huge cost":            func(p *bound.Problem) { p.Bins[0].Cost = 1 << 62 },
		"negative watts":       func(p *bound.Problem) { p.Bins[0].Watts = -1 },
		"negative available":   func(p *bound.Problem) { p.Bins[0].Available = -1 },
		"no copies":            func(p *bound.Problem) { p.Items[0].Count = 0 },
		"negative per bin":     func(p *bound.Problem) { p.Items[0].PerBin = -1 },
		"huge per domain":      func(p *bound.Problem) { p.Items[0].PerDomain = 1 << 60 },
		"other dimensions":     func(p *bound.Problem) { p.Items[0].Needs = []int64{1} },
		"bins of other shapes": func(p *bound.Problem) { p.Bins = append(p.Bins, bound.Bin{Room: []int64{1}}) },
		"too large":            func(p *bound.Problem) { p.Items[0].Needs[0] = 11 },
		"sum overflows": func(p *bound.Problem) {
			p.Items[0].Count = 1 << 30
			p.Items[0].Needs[0] = 1 << 40
			p.Bins[0].Room[0] = 1 << 50
		},
		"unknown in group": func(p *bound.Problem) { p.Apart = [][]int{{0, 1}} },
		"twice in group":   func(p *bound.Problem) { p.Apart = [][]int{{0, 0}} },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			p := good()
			spoil(&p)
			if r, err := bound.Lower(p, bound.Bins, bound.Options{}); !errors.Is(err, bound.ErrInvalid) || r.Bound != 0 {
				t.Errorf("got %d, %v, want ErrInvalid", r.Bound, err)
			}
		})
	}
	if _, err := bound.Lower(good(), "beauty", bound.Options{}); !errors.Is(err, bound.ErrInvalid) {
		t.Errorf("unknown objective: %v", err)
	}
}
