package result

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"stowage/bench/stat"
)

func depth(id string, q, t int, iops, p99 float64) *Step {
	return &Step{ID: id, Outstanding: q, Threads: t, IOPS: iops, Lat: Latency{P99: p99}, Runs: 3, Valid: true}
}

func TestKnee(t *testing.T) {
	for name, x := range map[string]struct {
		points []*Step // IOPS and p99 by depth
		want   int
	}{
		"a wall":                   {[]*Step{depth("a", 1, 1, 1000, 100), depth("b", 8, 1, 7000, 120), depth("c", 8, 4, 7500, 300)}, 1},
		"it goes on":               {[]*Step{depth("a", 1, 1, 1000, 100), depth("b", 8, 1, 7000, 250), depth("c", 8, 4, 9000, 600)}, -1},
		"more, and no wait":        {[]*Step{depth("a", 1, 1, 1000, 100), depth("b", 8, 1, 1010, 150)}, -1},
		"two small steps":          {[]*Step{depth("a", 1, 1, 1000, 100), depth("b", 8, 1, 1030, 160), depth("c", 8, 4, 1060, 250)}, 0},
		"a peak, then less":        {[]*Step{depth("a", 1, 1, 1000, 100), depth("b", 8, 1, 2000, 150), depth("c", 8, 4, 1000, 400)}, 1},
		"exactly twice, not 10 %":  {[]*Step{depth("a", 1, 1, 1000, 100), depth("b", 8, 1, 1099, 200)}, 0},
		"exactly 10 % more":        {[]*Step{depth("a", 1, 1, 1000, 100), depth("b", 8, 1, 1100, 900)}, -1},
		"one point":                {[]*Step{depth("a", 1, 1, 1000, 100)}, -1},
		"the same depth otherwise": {[]*Step{depth("a", 8, 1, 1000, 100), depth("b", 1, 8, 1000, 900)}, -1},
	} {
		if got := knee(x.points); got != x.want {
			t.Errorf("%s: %d, want %d", name, got, x.want)
		}
	}
	spoilt := []*Step{depth("a", 1, 1, 1000, 100), depth("b", 8, 1, 1010, 900)}
	if spoilt[1].Valid = false; knee(spoilt) != -1 {
		t.Error("a figure that is not the storage's makes a knee")
	}
}

// TestKneeThatIsNotSure: figures that may be off by half make no sure knee, nor do single runs.
func TestKneeThatIsNotSure(t *testing.T) {
	r := &Result{Steps: []*Step{depth("RND16K-R-Q1T1", 1, 1, 1000, 100), depth("RND16K-R-Q8T1", 8, 1, 7000, 120), depth("RND16K-R-Q8T4", 8, 4, 7500, 300)}}
	if c := r.Curves()[0]; c.Knee != 1 || c.Sure {
		t.Errorf("single runs: %d, sure %v", c.Knee, c.Sure)
	}
	for _, s := range r.Steps {
		s.CI = &stat.Interval{Low: s.IOPS / 1.05, High: s.IOPS * 1.05}
	}
	r.Steps[0].CI = nil // before the knee
	if c := r.Curves()[0]; c.Knee != 1 || !c.Sure {
		t.Errorf("narrow intervals: %d, sure %v", c.Knee, c.Sure)
	}
	r.Steps[2].CI = &stat.Interval{Low: 5000, High: 11000}
	if c := r.Curves()[0]; c.Knee != 1 || c.Sure {
		t.Errorf("a wide one: %d, sure %v", c.Knee, c.Sure)
	}
	var said bytes.Buffer
	r.writeNotes(&said)
	if !strings.Contains(said.String(), "Saturated, perhaps: RND16K-R beyond Q8T1; intervals are too wide to be sure.\n") {
		t.Errorf("says %q", said.String())
	}
}

func TestCurvesOfAResult(t *testing.T) {
	r := &Result{Steps: []*Step{
		depth("RND16K-R-Q8T4", 8, 4, 9000, 500), depth("MIX", 1, 1, 800, 900), depth("MIX/RND16K-RW70-Q4T4", 4, 4, 5000, 900), depth("STABILITY", 8, 4, 5000, 900),
		depth("RND16K-R-Q1T1", 1, 1, 1000, 100), depth("RND16K-W-FDS-Q1T1", 1, 1, 500, 100), depth("RND16K-R-Q4T1", 4, 1, 3000, 200),
	}}
	curves := r.Curves()
	if len(curves) != 1 || curves[0].Load != "RND16K-R" {
		t.Fatalf("%+v", curves)
	}
	var depths []string
	for _, p := range curves[0].Points {
		depths = append(depths, p.Depth())
	}
	if !slices.Equal(depths, []string{"Q1T1", "Q4T1", "Q8T4"}) {
		t.Errorf("%v", depths)
	}
	if r.Steps[2].Load() != "" || r.Steps[3].Load() != "" || r.Steps[5].Load() != "RND16K-W-FDS" {
		t.Error("what runs beside another is no load of its own")
	}
}
