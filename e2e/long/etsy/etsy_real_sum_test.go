package etsy

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/demo/load"
)

// etsySum is what a run of the farm of 2016 came to.
type etsySum struct {
	Pairs       int
	Shards      int
	HostsBefore int
	HostsAfter  int
	Moves       int
	Seed        int

	Seconds     float64
	MoveSeconds float64
	PeakMB      int64

	Acknowledged int64
	Lost         int64
	Duplicated   int64
	Failed       int64
	Stale        int64
	Differences  int64
	Retried      int64
	Pauses       load.Distribution

	Recorded       int // servers at once, after the move
	RecordedOf     int
	RecordedEvents uint64
	RecordSeconds  float64

	Faults  map[string]int
	Codes   []int // of the program, in turn
	Resumes int
	Again   int
	Wrong   []string
	Log     []string
}

func (s *etsySum) fill(c load.Summary, v load.Verdict) {
	s.Acknowledged, s.Lost, s.Duplicated, s.Differences = v.Acknowledged, v.Lost, v.Duplicated, v.Differences
	s.Failed, s.Stale, s.Retried, s.Pauses = c.Failed, c.StaleReads, c.Retried, c.Pauses
}

// kinds are the faults that struck, by kind.
func (s *etsySum) kinds() string {
	n, out := 0, []string{}
	for _, kind := range slices.Sorted(maps.Keys(s.Faults)) {
		n += s.Faults[kind]
		out = append(out, fmt.Sprintf("%s %d", kind, s.Faults[kind]))
	}
	return fmt.Sprintf("%d (%s)", n, strings.Join(out, ", "))
}

// tell prints the figures, and keeps them in a file when there is a name for it.
func (s *etsySum) tell(file string, t *testing.T) {
	t.Helper()
	fmt.Fprintf(os.Stderr, `
  farm              %d pairs, %d shards, %d hosts -> %d
  time              %.0f s, of these moving %.0f s
  memory            %d MB at the peak
  writes            %d acknowledged, %d lost, %d duplicated, %d rows differ
  queries           %d failed, %d stale, %d tried again
  pauses            %d: p50 %.0f ms, p95 %.0f ms, p99 %.0f ms, longest %.0f ms
  faults            %s
  recorded          %s
  the program       resumed %d times, planned again %d times, exit codes %v
`, s.Pairs, s.Shards, s.HostsBefore, s.HostsAfter, s.Seconds, s.MoveSeconds, s.PeakMB, s.Acknowledged, s.Lost, s.Duplicated, s.Differences,
		s.Failed, s.Stale, s.Retried, s.Pauses.Count, s.Pauses.P50, s.Pauses.P95, s.Pauses.P99, s.Pauses.Max, s.kinds(), s.recorded(), s.Resumes, s.Again, s.Codes)
	if file == "" {
		return
	}
	if err := os.WriteFile(file, []byte(s.row()+"\n"), 0o644); err != nil {
		t.Error(err)
	}
}

// row are the cells of the table in docs/measuring/benchmarks.md, without the date and
// the noise of the machine.
func (s *etsySum) row() string {
	return fmt.Sprintf("%d / %d | %d to %d | %d | %.0f | %.0f | %d | %d | %d | %d | %d | %d | %d | %d: %.0f / %.0f / %.0f / %.0f | %s | %d / %d | %s",
		2*s.Pairs, s.Shards, s.HostsBefore, s.HostsAfter, s.Seed, s.Seconds, s.MoveSeconds, s.PeakMB,
		s.Acknowledged, s.Lost, s.Duplicated, s.Failed, s.Stale, len(s.Wrong),
		s.Pauses.Count, s.Pauses.P50, s.Pauses.P95, s.Pauses.P99, s.Pauses.Max, s.kinds(), s.Resumes, s.Again, s.recorded())
}

// memory is the highest sum of the proportional set sizes (Pss) of a farm's
// processes: servers, agents, the program, its engine, copies, and the clients.
type memory struct {
	dir  string
	over chan struct{}
	once sync.Once
	wait sync.WaitGroup
	peak int64
}

func watchMemory(dir string) *memory {
	m := &memory{dir: dir, over: make(chan struct{})}
	m.wait.Go(func() {
		for {
			m.peak = max(m.peak, m.now())
			select {
			case <-m.over:
				return
			case <-time.After(2 * time.Second):
			}
		}
	})
	return m
}

// stop ends the watch, and says the peak in MB.
func (m *memory) stop() int64 {
	m.once.Do(func() { close(m.over) })
	m.wait.Wait()
	return m.peak >> 10
}

// now is the sum in kB. Processes of the farm name its directory; the clients
// are this one.
func (m *memory) now() int64 {
	var sum int64
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		proc := filepath.Dir(line)
		if args, _ := os.ReadFile(line); !bytes.Contains(args, []byte(m.dir)) && filepath.Base(proc) != strconv.Itoa(os.Getpid()) {
			continue
		}
		rollup, _ := os.ReadFile(filepath.Join(proc, "smaps_rollup"))
		for row := range strings.Lines(string(rollup)) {
			var kb int64
			if _, err := fmt.Sscanf(row, "Pss: %d kB", &kb); err == nil {
				sum += kb
			}
		}
	}
	return sum
}
