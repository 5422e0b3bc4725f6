package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"stowage/bench"
	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/farm"
	"stowage/tune"
	"stowage/tune/fix"
)

// machine is one setting in memory, and a storage whose speed depends on it.
type machine struct {
	value   string
	speeds  map[string]float64 // IOPS by value
	durable map[string]bool    // flushes reach the device; nil: it is not asked
	refuses string             // a value that it does not take
	log     []string           // values, run by run
	at      func(run int) error
}

func (m *machine) Get(context.Context, tune.Change) (string, error) { return m.value, nil }

func (m *machine) Set(_ context.Context, _ tune.Change, value string) error {
	if value == m.refuses {
		return errors.New("invalid argument")
	}
	m.value = value
	return nil
}

func (m *machine) Along(context.Context, tune.Change) map[string]string { return nil }

// measure stands for bench.ByTurns, whose own test compares it with a real storage.
func (m *machine) measure(ctx context.Context, _ string, o bench.Order, t bench.Turns) (a, b *result.Result, err error) {
	one := func() *result.Result {
		s := &result.Step{ID: o.Profile.Steps[0].ID, Threads: 1, Durable: m.durable != nil}
		return &result.Result{Steps: []*result.Step{s}, Complete: true, Environment: result.Environment{Device: &result.Device{Queue: map[string]string{"write_cache": "write back"}}}}
	}
	both, inB := [2]*result.Result{one(), one()}, false
	for turn := range 2 * o.Profile.MaxRuns {
		if toB := turn%4 == 1 || turn%4 == 2; toB != inB {
			if err := t.Switch(ctx, toB); err != nil {
				return both[0], both[1], err
			}
			inB = toB
		}
		if m.at != nil {
			if err := m.at(turn); err != nil {
				return both[0], both[1], err
			}
		}
		m.log = append(m.log, m.value)
		x := result.Sample{Seq: turn + 1, IOPS: m.speeds[m.value] * (1 + 0.01*float64(turn%3)), MBps: 1, Lat: result.Latency{P99: 1e6 / m.speeds[m.value]}}
		if m.durable[m.value] {
			x.Check = result.Check{Flushes: 100}
		}
		x.Check.Syncs = 100
		r := both[map[bool]int{true: 1}[inB]]
		r.Steps[0].Add(x, stat.Histogram{{1000, 1}}, nil, 0.05)
		r.Judge()
		if turn%4 == 3 && turn/2+1 >= o.Profile.MinRuns && t.Enough(both[0], both[1]) {
			break
		}
	}
	return both[0], both[1], nil
}

var trial = Trial{Rule: "BLK-SCHED", Subjects: []string{"sda"}, Directory: "/data", Step: "RND16K-RW70-Q32T4", Changes: []tune.Change{{Path: "/sys/block/sda/queue/scheduler", From: "bfq", To: "none"}}}

func order() bench.Order {
	o := bench.Order{Profile: bench.Quick()}
	o.Profile.MinRuns, o.Profile.MaxRuns = 4, 12
	return o
}

func prover(t *testing.T, path string, m *machine, border func(string) error) *Prover {
	t.Helper()
	j, err := fix.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return &Prover{Journal: j, Settings: m, Measure: m.measure, Border: border}
}

func nowhere(string) error { return nil }

// TestProve: what helps stays and is in the journal; everything else is as before and is not.
func TestProve(t *testing.T) {
	for _, tt := range []struct {
		name    string
		m       machine
		value   string // afterwards
		verdict stat.Verdict
		runs    int // in all
	}{
		{"better", machine{speeds: map[string]float64{"bfq": 1000, "none": 1500}}, "none", stat.Better, 12},
		{"worse", machine{speeds: map[string]float64{"bfq": 1000, "none": 700}}, "bfq", stat.Worse, 12},
		{"the same", machine{speeds: map[string]float64{"bfq": 1000, "none": 1001}}, "bfq", stat.Same, 12},
		{"fast because nothing is flushed", machine{speeds: map[string]float64{"bfq": 1000, "none": 17000}, durable: map[string]bool{"bfq": true}}, "bfq", stat.Better, 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tune.journal")
			m := &tt.m
			m.value = "bfq"
			p := prover(t, path, m, nowhere)
			got, err := p.Prove(t.Context(), trial, order())
			if err != nil {
				t.Fatal(err)
			}
			if m.value != tt.value || got.Kept != (tt.value == "none") || got.Verdict != tt.verdict || len(m.log) != tt.runs || len(got.Settings) > 0 || got.Why == "" {
				t.Errorf("%s, %d runs: %+v", m.value, len(m.log), got)
			}
			for i, v := range m.log {
				if want := []string{"bfq", "none", "none", "bfq"}[i%4]; v != want {
					t.Fatalf("run %d was with %s, want A B B A: %v", i+1, v, m.log)
				}
			}
			back, err := p.Journal.Revert(t.Context(), m, fix.Now{}, nowhere)
			if err != nil || (len(back) == 1) != got.Kept || m.value != "bfq" {
				t.Errorf("taken back: %v, %v; %s", back, err, m.value)
			}
		})
	}
}

var errKilled = errors.New("killed")

// TestProveAfterEveryKill: killed at any border, the journal leads back to before, by --revert or by whoever proves next; killed when it was to
// be kept, too.
func TestProveAfterEveryKill(t *testing.T) {
	for _, point := range []string{"tune journal", "tune set", "tune revert", "tune keep"} {
		for n := 1; n <= 4; n++ {
			path := filepath.Join(t.TempDir(), "tune.journal")
			m := &machine{value: "bfq", speeds: map[string]float64{"bfq": 1000, "none": 1500}}
			left := n
			killed := false
			p := prover(t, path, m, func(p string) error {
				if killed {
					return errKilled // a process that is dead does nothing more
				}
				if p == point {
					left--
				}
				if killed = left == 0; killed {
					return errKilled
				}
				return nil
			})
			_, err := p.Prove(t.Context(), trial, order())
			if killed != (err != nil) {
				t.Fatalf("%s %d: %v", point, n, err)
			}
			p.Journal.Close()
			next := prover(t, path, m, nowhere)
			if _, err := next.Leftover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]string{true: "bfq", false: "none"}[killed]; m.value != want {
				t.Errorf("killed at border %d of %s: it is %s", n, point, m.value)
			}
			if _, err := os.Stat(path); killed != os.IsNotExist(err) {
				t.Errorf("killed at border %d of %s: journal %v", n, point, err)
			}
		}
	}
}

// TestProveIsCutShort: Ctrl-C, a benchmark that fails, someone else who sets the same, a value that is not taken.
func TestProveIsCutShort(t *testing.T) {
	for name, x := range map[string]struct {
		arrange func(m *machine)
		want    error
		value   string
	}{
		"Ctrl-C with it":    {func(m *machine) { m.at = failAt(m, 1, farm.ErrInterrupted, "") }, farm.ErrInterrupted, "bfq"},
		"Ctrl-C without it": {func(m *machine) { m.at = failAt(m, 4, farm.ErrInterrupted, "") }, farm.ErrInterrupted, "bfq"},
		"fio fails":         {func(m *machine) { m.at = failAt(m, 2, farm.ErrInput, "") }, farm.ErrInput, "bfq"},
		"someone else":      {func(m *machine) { m.at = failAt(m, 2, nil, "kyber") }, farm.ErrUndone, "kyber"},
		"put back by hand":  {func(m *machine) { m.at = failAt(m, 2, nil, "bfq") }, farm.ErrUndone, "bfq"},
		"not taken":         {func(m *machine) { m.refuses = "none" }, farm.ErrUndone, "bfq"},
		"not taken back":    {func(m *machine) { m.at = func(int) error { m.refuses = "bfq"; return nil } }, farm.ErrOutcomeUnknown, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tune.journal")
			m := &machine{value: "bfq", speeds: map[string]float64{"bfq": 1000, "none": 1500, "kyber": 1}}
			x.arrange(m)
			ctx, cancel := context.WithCancel(t.Context())
			if errors.Is(x.want, farm.ErrInterrupted) {
				cancel() // as it is when the benchmark comes back
			}
			defer cancel()
			got, err := prover(t, path, m, nowhere).Prove(ctx, trial, order())
			if !errors.Is(err, x.want) || m.value != x.value || got.Kept {
				t.Errorf("%v; it is %s, %+v", err, m.value, got.Settings)
			}
			if _, statErr := os.Stat(path); os.IsNotExist(statErr) == errors.Is(err, farm.ErrOutcomeUnknown) {
				t.Errorf("the journal: %v", statErr)
			}
		})
	}
}

// failAt fails at one run, or sets another value there, as someone else would.
func failAt(m *machine, run int, err error, value string) func(int) error {
	return func(n int) error {
		if n != run {
			return nil
		}
		if value != "" {
			m.value = value
		}
		if err != nil {
			return fmt.Errorf("at run %d: %w", n, err)
		}
		return nil
	}
}
