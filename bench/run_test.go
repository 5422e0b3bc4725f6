package bench

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/bench/result"
	"stowage/farm"
	"stowage/internal/turns"
)

// storage is an empty directory that fio can measure. Without fio, or on a tmpfs, the test says loudly that nothing was tested.
func storage(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("NOT TESTED: there is no fio on this machine (scripts/setup.sh test installs it)")
	}
	dir := t.TempDir()
	if _, err := checkDirectory(dir); err != nil {
		t.Skipf("NOT TESTED: %v; set TMPDIR to a directory on a disk", err)
	}
	return dir
}

// small is an order that takes a few seconds.
func small(t *testing.T, runs int, ids ...string) Order {
	t.Helper()
	o := Order{Profile: Quick(), Size: 32 * mib, Seed: 5}
	o.Profile.SetRuntime(300 * time.Millisecond)
	o.Profile.MinRuns, o.Profile.MaxRuns = runs, runs
	if err := o.Profile.Only(ids); err != nil {
		t.Fatal(err)
	}
	return o
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind in %s: %v, %v", dir, entries, err)
	}
}

func TestRunMeasures(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	dir := storage(t)
	o := small(t, 2, "RND16K-R-Q8T1", "MIX")
	saves := 0
	o.Save = func(r *result.Result) error {
		saves++
		raw, err := json.Marshal(r)
		if err == nil {
			_, err = result.Read(raw)
		}
		return err
	}
	r, err := Run(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	isEmpty(t, dir)
	if !r.Complete || saves < 5 || len(r.Sessions) != 1 || r.Noise.AA == nil || r.Noise.AA.Last == 0 || r.Noise.Runs != 4 {
		t.Errorf("complete %v, %d saves, %d sessions, noise %+v", r.Complete, saves, len(r.Sessions), r.Noise)
	}
	var ids []string
	var seqs []int
	for _, s := range r.Steps {
		ids = append(ids, s.ID)
		l := s.Lat
		if s.IOPS <= 0 || s.MBps <= 0 || s.Runs != 2 || s.CI == nil || s.CI.Low > s.IOPS || s.CI.High < s.IOPS || s.Job == "" && s.Pattern != "RND" {
			t.Errorf("%s: %+v", s.ID, s)
		}
		if !(0 < l.P50 && l.P50 <= l.P95 && l.P95 <= l.P99 && l.P99 <= l.P999 && l.P999 <= l.Max) {
			t.Errorf("%s: latencies %+v", s.ID, l)
		}
		if (s.WriteLat != nil) != s.Durable || s.Histogram.Count() < 10 {
			t.Errorf("%s: durable %v, write latency %v, %d in the histogram", s.ID, s.Durable, s.WriteLat, s.Histogram.Count())
		}
		for _, x := range s.Samples {
			if s.ID != mix {
				seqs = append(seqs, x.Seq)
			}
			// What went past the page cache is what the kernel counted; that is checked wherever there is one device.
			if c := x.Check; c.Short || c.Of != "" && c.Read+c.Written == 0 || c.Of == "" && c.Why == "" {
				t.Errorf("%s: %+v", s.ID, c)
			}
			if s.Outstanding == 8 && x.Depth1 > 0.5 {
				t.Errorf("%s: %.0f %% went out alone", s.ID, 100*x.Depth1)
			}
		}
	}
	slices.Sort(seqs)
	if !slices.Equal(ids, []string{"RND16K-R-Q8T1", "MIX", "MIX/RND16K-RW70-Q4T4"}) || !slices.Equal(seqs, []int{1, 2, 3, 4}) {
		t.Errorf("steps %v, runs %v", ids, seqs)
	}
	if e := r.Environment; e.Filesystem == "" || e.Mount == "" || e.CPUs == 0 || e.Memory == 0 || e.Fio == "" || e.Kernel == "" {
		t.Errorf("%+v", e)
	}
	if !slices.ContainsFunc(r.Labels, func(l string) bool { return strings.HasPrefix(l, "quick:") }) {
		t.Errorf("labels %q", r.Labels)
	}
}

// TestRunIsResumed: cut short after its second run it leaves nothing in the directory, and continues with the third.
func TestRunIsResumed(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	dir := storage(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := small(t, 2, "RND16K-R-Q1T1", "LOG4K-FDS-Q1T1")
	o.Profile.Target = 0 // never tight
	var kept []byte
	o.Save = func(r *result.Result) (err error) { kept, err = json.Marshal(r); return err }
	o.Tell = func(p Progress) {
		if p.Done == 2 {
			cancel()
		}
	}
	if _, err := Run(ctx, dir, o); !errors.Is(err, farm.ErrInterrupted) {
		t.Fatalf("cut short: %v", err)
	}
	isEmpty(t, dir)
	half, err := result.Read(kept)
	if err != nil || half.Complete || half.Valid {
		t.Fatalf("%+v, %v", half, err)
	}

	other := small(t, 2, "RND16K-R-Q1T1")
	other.Previous = half
	if _, err := Run(t.Context(), dir, other); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "steps") {
		t.Errorf("continued as another: %v", err)
	}
	isEmpty(t, dir)

	elsewhere := *half
	elsewhere.Environment.MountOptions += ",nobarrier"
	other = o
	other.Previous = &elsewhere
	if _, err := Run(t.Context(), dir, other); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "mount options") {
		t.Errorf("continued in another mount: %v", err)
	}

	o.Previous, o.Tell, o.Seed = half, nil, 99
	r, err := Run(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Complete || len(r.Sessions) != 2 || r.Settings.Seed != 5 {
		t.Errorf("complete %v, %d sessions, seed %d", r.Complete, len(r.Sessions), r.Settings.Seed)
	}
	var seqs []int
	for _, s := range r.Steps {
		for i, x := range s.Samples {
			seqs = append(seqs, x.Seq)
			if x.Round != i+1 {
				t.Errorf("%s: run %d is of round %d", s.ID, i+1, x.Round)
			}
		}
	}
	slices.Sort(seqs)
	if !slices.Equal(seqs, []int{1, 2, 3, 4}) {
		t.Errorf("runs %v", seqs)
	}
}

func TestRunIsRefused(t *testing.T) {
	o := small(t, 1, "RND16K-R-Q1T1")
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		t.TempDir() + "/absent": "no such file or directory",
		file:                    "not a directory",
		"/dev/shm":              "tmpfs",
	} {
		_, err := Run(t.Context(), dir, o)
		if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), want) || farm.Hint(err) == "" {
			t.Errorf("%s: %v (%s)", dir, err, farm.Hint(err))
		}
	}
	dir := storage(t)
	o.Size = 1 << 60
	if _, err := Run(t.Context(), dir, o); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "leave a tenth") {
		t.Errorf("more than there is: %v", err)
	}
	o.Size = mib
	if _, err := Run(t.Context(), dir, o); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "too small") {
		t.Errorf("too small: %v", err)
	}
	isEmpty(t, dir)
	t.Setenv("PATH", t.TempDir())
	if _, err := Run(t.Context(), dir, o); !errors.Is(err, farm.ErrInput) || !strings.Contains(farm.Hint(err), "install fio") {
		t.Errorf("no fio: %v", err)
	}
	isEmpty(t, dir)
}

func TestQueuesThatDiffer(t *testing.T) {
	a := &result.Device{Name: "sda", Queue: map[string]string{"scheduler": "[none] bfq", "rotational": "1"}}
	b := &result.Device{Name: "sda", Queue: map[string]string{"scheduler": "none [bfq]", "rotational": "1"}}
	if was, is := queues(a, b); was != "sda scheduler=[none] bfq" || is != "sda scheduler=none [bfq]" {
		t.Errorf("%q, %q", was, is)
	}
	if was, is := queues(a, a); was != is {
		t.Errorf("%q, %q", was, is)
	}
	if was, is := queues(a, nil); was == is {
		t.Error("no device is the same as one")
	}
}
