package decide_test

import (
	"math"
	"strings"
	"testing"

	"stowage/bench/decide"
	"stowage/bench/result"
	"stowage/bench/stat"
)

// step is a step with runs of these speeds.
func step(id string, durable bool, speeds ...float64) *result.Step {
	s := &result.Step{ID: id, Durable: durable, Valid: true, Runs: len(speeds)}
	for i, v := range speeds {
		s.Samples = append(s.Samples, result.Sample{Seq: i + 1, IOPS: v, MBps: v / 100, Lat: result.Latency{P99: 1e6 / v}})
	}
	s.IOPS, s.CI = stat.Mean(speeds)
	s.MBps, s.Lat = s.IOPS/100, result.Latency{P99: 1e6 / s.IOPS}
	return s
}

func measured(steps ...*result.Step) *result.Result {
	return &result.Result{FormatVersion: result.FormatVersion, Complete: true, Valid: true, Profile: "quick", Steps: steps}
}

func taken(r *result.Result) map[decide.Key]decide.Figure {
	var c decide.Candidate
	c.Take("result.json", r)
	return c.Figures
}

// TestTakeKeepsIntervals: a figure comes with the interval of its runs and of what two results usually differ by, wider where the result drifted or was disturbed
// and on a guest of a hypervisor, and without any from one run.
func TestTakeKeepsIntervals(t *testing.T) {
	iops := decide.Key{What: "iops", Step: reads}
	quiet := measured(step(reads, false, 1000, 1010, 990, 1005))
	f := taken(quiet)[iops]
	ci := quiet.Steps[0].CI
	if f.Basis != decide.Measured || f.Low > ci.Low || f.Low < 0.97*ci.Low || f.High < ci.High || f.High > 1.03*ci.High {
		t.Errorf("%+v, want the interval %+v and a little more", f, ci)
	}
	guest := measured(step(reads, false, 1000, 1010, 990, 1005))
	guest.Environment.Hypervisor = true
	if g := taken(guest)[iops]; g.High/g.Low < 1.2*f.High/f.Low {
		t.Errorf("a guest, and the interval is %v to %v", g.Low, g.High)
	}
	noisy := measured(step(reads, false, 1000, 1010, 990, 1005))
	noisy.Noise.Mean.IO = 0.5
	if g := taken(noisy)[iops]; g.High/g.Low < 1.25*f.High/f.Low {
		t.Errorf("disturbed half of the time, and the interval is %v to %v", g.Low, g.High)
	}
	drifted := measured(step(reads, false, 1000, 1010, 990, 1005))
	drifted.Noise.AA = &result.AA{Step: reads, First: 1000, Last: 1300}
	if g := taken(drifted)[iops]; g.High/g.Low < 2 {
		t.Errorf("the same load was 30 %% faster at the end, and the interval is %v to %v", g.Low, g.High)
	}
	if g := taken(measured(step(reads, false, 1000)))[iops]; g.Basis != decide.Unbounded || g.IsBounded() {
		t.Errorf("one run: %+v", g)
	}
}

// TestTakeLeavesUnknown what a result says is not to be believed, and says why.
func TestTakeLeavesUnknown(t *testing.T) {
	durable := step(decide.Commits, true, 500, 510, 505)
	lying := step(decide.Commits, true, 9000, 9100, 9050)
	lying.Undurable = true
	invalid := step(reads, false, 1000, 1010, 1005)
	invalid.Valid = false
	held := step("MIX-25", false, 100, 101, 102)
	held.AskedIOPS = 100
	foreign := step(decide.Commits, true, 500, 510, 505)
	for i := range foreign.Samples {
		foreign.Samples[i].Check.Foreign = 0.3
	}
	for _, tt := range []struct {
		name, what string
		step       *result.Step
		why        string // "": it is known
	}{
		{"durable", "commits", durable, ""}, {"NOT DURABLE", "commits", lying, "NOT DURABLE"}, {"NOT DURABLE", "iops", lying, ""},
		{"reads", "commits", step(reads, false, 1000, 1001), "does not wait"}, {"invalid", "iops", invalid, "invalid"}, {"invalid", "p99", invalid, "invalid"},
		{"held to a rate", "iops", held, "held to a rate"}, {"held to a rate", "p99", held, ""},
	} {
		f := taken(measured(tt.step))[decide.Key{What: tt.what, Step: tt.step.ID}]
		if f.Known() != (tt.why == "") || !strings.Contains(f.Why, tt.why) {
			t.Errorf("%s of a step that is %s: %+v, want %q", tt.what, tt.name, f, tt.why)
		}
	}
	if f := taken(measured(foreign))[decide.Key{What: "commits", Step: decide.Commits}]; f.IsBounded() {
		t.Errorf("commits beside others' writes are bounded: %+v", f)
	}
	// What a measurement found is not replaced by a later one, or a claim.
	c := decide.Candidate{}
	c.Take("first.json", measured(invalid))
	c.Take("second.json", measured(step(reads, false, 1000, 1010, 1005)))
	if c.Figures[decide.Key{What: "iops", Step: reads}].Known() {
		t.Error("an invalid step was taken from another result")
	}
}

// TestTakeEntered: what was published has its source, no interval, and nothing where nothing was published.
func TestTakeEntered(t *testing.T) {
	s := step("fileio", false, 1830.24)
	s.MBps, s.Lat = 0, result.Latency{P95: 2060}
	r := measured(s)
	r.Kind, r.Source = result.Entered, "a blog"
	got := taken(r)
	for what, known := range map[string]bool{"iops": true, "p95": true, "mbps": false, "p99": false, "mean": false} {
		f := got[decide.Key{What: what, Step: "fileio"}]
		if f.Known() != known || known && (f.Basis != decide.Entered || f.Source != "a blog" || f.IsBounded()) {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

// TestEndurance by hand: six drives of 2 PB in RAID 10 get a third of 600 GB a day each, and write 1.5 times that: 6,667 days.
func TestEndurance(t *testing.T) {
	for _, tt := range []struct {
		a    decide.Array
		want float64
	}{
		{decide.Array{Level: decide.RAID10, Devices: 6}, 2e15 / (200e9 * 1.5)}, {decide.Array{Level: decide.RAID1, Devices: 2}, 2e15 / (600e9 * 1.5)},
		{decide.Array{Level: decide.RAID5, Devices: 6}, 2e15 / (200e9 * 1.5)}, {decide.Array{Level: decide.RAID6, Devices: 6}, 2e15 / (300e9 * 1.5)}, {decide.Array{Level: decide.None, Devices: 1}, 2e15 / (600e9 * 1.5)},
	} {
		d := decide.Decision{
			Workload: decide.Workload{Writes: decide.Exactly(600e9, ""), Amplification: decide.Exactly(1.5, "")},
			Aspects:  []decide.Aspect{{Name: decide.Safe, Weight: 1, Goals: []decide.Goal{{Figure: "endurance", Weight: 1}, {Figure: "endurance flat out", Step: writes}}}},
			Candidates: []decide.Candidate{{Name: "a", Array: tt.a, Figures: map[decide.Key]decide.Figure{
				{What: "tbw"}: decide.Claimed(2e15, decide.Sheet, "page 3"), {What: "mbps", Step: writes}: {Value: 100, Low: 90, High: 110, Basis: decide.Measured},
			}}},
		}
		o := decide.Judge(d)
		f := o.Candidates[0].Figures[0]
		if f.Value == nil || math.Abs(*f.Value/tt.want-1) > 1e-9 || f.Basis != decide.Sheet {
			t.Errorf("%s: %+v, want %v days", tt.a, f, tt.want)
		}
		// 100 MB/s all day are 8,640 GB: 14.4 times as much.
		if g := o.Candidates[0].Figures[1]; g.Value == nil || math.Abs(*g.Value*14.4/tt.want-1) > 1e-9 {
			t.Errorf("%s flat out: %+v", tt.a, g)
		}
		// Nobody says what is written: unknown, not for ever.
		d.Workload = decide.Workload{}
		if f := decide.Judge(d).Candidates[0].Figures[0]; f.Value != nil || !strings.Contains(f.Why, "written a day") {
			t.Errorf("nothing is said of writes: %+v", f)
		}
	}
}
