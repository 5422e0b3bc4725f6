package result

import (
	"bytes"
	"strings"
	"testing"

	"stowage/bench/stat"
)

// made is a whole result with one step of the given speeds.
func made(speeds ...float64) *Result {
	s := &Step{ID: "RND16K-R-Q8T4", Op: "R", Outstanding: 8, Threads: 4}
	r := &Result{FormatVersion: FormatVersion, Profile: "quick", Complete: true, Settings: Settings{Target: 0.05}, Steps: []*Step{s}}
	for i, v := range speeds {
		s.Add(Sample{
			Seq: i + 1, Round: i + 1, IOPS: v, MBps: v * 16384 / 1e6, Lat: Latency{Mean: 100, P99: 1e6 / v, Max: 950}, Series: []float64{v, v, v},
			Check: Check{Of: "sda", FioRead: 1e9, Read: 1e9},
		}, stat.Histogram{{100000, 98}, {900000, 2}}, nil, 0.05)
	}
	r.Noise.SetAA(s.ID, 1000, 1010)
	r.Judge()
	return r
}

func TestStepFromItsRuns(t *testing.T) {
	s := made(1000, 1010, 990, 1000).Steps[0]
	if s.Runs != 4 || s.IOPS < 999 || s.IOPS > 1000 || !s.IsTight(0.05) || s.MoreRuns != 0 || !s.Steady || !s.Valid {
		t.Errorf("%+v", s)
	}
	// Percentiles are those of all requests together, and none is beyond the longest.
	if s.Lat.P50 != 100 || s.Lat.P99 != 900 || s.Lat.Max != 950 || s.Histogram.Count() != 400 {
		t.Errorf("%+v", s.Lat)
	}
	s = made(1000, 1500, 700).Steps[0]
	if s.IsTight(0.05) || s.MoreRuns < 10 || s.Steady {
		t.Errorf("uneven: tight %v, %d more, steady %v", s.IsTight(0.05), s.MoreRuns, s.Steady)
	}
	if s = made(1000).Steps[0]; s.CI != nil || s.MoreRuns < 1 {
		t.Errorf("one run: %v, %d", s.CI, s.MoreRuns)
	}
}

func TestResultIsInvalid(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*Result)
		want   string
	}{
		"a cache answered":    {func(r *Result) { r.Steps[0].Samples[1].Check.Short = true }, "a cache answered"},
		"not so many at once": {func(r *Result) { r.Steps[0].Samples[1].Depth1 = 0.99 }, "went out alone"},
		"cut short":           {func(r *Result) { r.Complete = false }, "cut short before its end"},
		"too hot": {func(r *Result) {
			r.Environment.Device = &Device{Thermal: map[string][2]int64{"warning_temp_time": {3, 4}}}
		}, "too hot"},
	} {
		r := made(1000, 1001)
		if r.Judge(); !r.Valid {
			t.Fatalf("%s: invalid before: %q", name, r.InvalidBecause)
		}
		x.change(r)
		r.Judge()
		if r.Valid || !strings.Contains(strings.Join(r.InvalidBecause, "\n"), x.want) {
			t.Errorf("%s: valid %v, %q", name, r.Valid, r.InvalidBecause)
		}
		var text bytes.Buffer
		if err := WriteText(&text, r); err != nil || !strings.Contains(text.String(), "INVALID: ") {
			t.Errorf("%s: %v\n%s", name, err, text.String())
		}
	}
}

func TestNoise(t *testing.T) {
	if r := made(1000, 1001); !r.Noise.Quiet || r.Noise.Disturbed != 0 {
		t.Errorf("%+v", r.Noise)
	}
	for want, d := range map[string]Disturbance{
		"a processor in 1 of 2": {CPU: 0.5}, "for I/O in 1 of 2": {IO: 0.5}, "hypervisor took processor time in 1 of 2": {Steal: 0.1}, "used the device in 1 of 2": {Foreign: 0.2},
	} {
		r := made(1000, 1001)
		r.Steps[0].Samples[0].Noise = d
		r.Judge()
		if r.Noise.Quiet || !strings.Contains(strings.Join(r.Noise.Reasons, "\n"), want) || r.Noise.Disturbed != 1 || !r.Valid {
			t.Errorf("%s: %+v", want, r.Noise)
		}
	}
	r := made(1000, 1001)
	r.Noise.SetAA("RND16K-R-Q1T1", 1000, 880)
	r.Judge()
	if r.Noise.Quiet || !r.Noise.AA.Noisy || !strings.Contains(r.Noise.Reasons[0], "differs from itself by a factor of 0.88") {
		t.Errorf("%+v", r.Noise)
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"": "not JSON", "{": "not JSON", "[]": "not a result of a bench", `{"steps":[]}`: "missing", `{"format_version":2,"steps":[{"id":"x"}]}`: "format version 2",
		`{"format_version":1,"steps":[null]}`: "step 1 has no id", `{"format_version":"x","steps":[]}`: "not a result",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestUndurable(t *testing.T) {
	for name, x := range map[string]struct {
		cache          string
		threads        int
		flushes, syncs int64
		want           bool
	}{
		"a flush each":        {"write back", 1, 100, 100, false},
		"none":                {"write back", 1, 3, 100, true},
		"none needed":         {"write through", 1, 0, 100, false},
		"shared by threads":   {"write back", 16, 20, 100, false},
		"nothing was written": {"write back", 1, 0, 0, false},
	} {
		r := made(1000, 1000)
		s := r.Steps[0]
		s.Durable, s.Threads = true, x.threads
		s.Samples[0].Check.Flushes, s.Samples[0].Check.Syncs = x.flushes, x.syncs
		r.Environment.Device = &Device{Queue: map[string]string{"write_cache": x.cache}}
		r.Judge()
		var text bytes.Buffer
		if err := WriteText(&text, r); err != nil || s.Undurable != x.want || strings.Contains(text.String(), "NOT DURABLE: RND") != x.want {
			t.Errorf("%s: %v, %v\n%s", name, s.Undurable, err, text.String())
		}
		if c := Compare("a", r, "b", made(1000, 1000)); strings.Contains(c.Steps[0].Note, "A is not durable") != x.want {
			t.Errorf("%s: %q", name, c.Steps[0].Note)
		}
	}
}
