package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/bench/engine/flame"
	"stowage/bench/engine/sheet"
	"stowage/internal/keeper"
)

// profiler runs perf (Debian's linux-perf) beside a server. What it cannot do is said once, in gaps, and fails nothing.
type profiler struct {
	path, dir string
	gaps      []sheet.Gap
}

// samplesPerSecond of each processor: no multiple of what timers do.
const samplesPerSecond = 197

func newProfiler(dir string) *profiler {
	p := &profiler{dir: dir}
	var err error
	if p.path, err = exec.LookPath("perf"); err != nil {
		p.gap("where processor time goes, and futex and other system calls", "there is no program perf", "apt-get install linux-perf, or scripts/setup.sh bench")
		return p
	}
	if entries, _ := filepath.Glob("/sys/bus/event_source/devices/cpu*"); len(entries) == 0 {
		p.gap("cycles, cache misses and branches", "the processor has no counters (most hypervisors hide them); samples are those of a clock", "a machine that is not a guest, or a guest with a virtual PMU")
	}
	return p
}

func (p *profiler) gap(what, why, how string) {
	g := sheet.Gap{What: what, Why: strings.TrimSuffix(why, "."), How: how}
	if !slices.ContainsFunc(p.gaps, func(x sheet.Gap) bool { return x.What == what }) {
		p.gaps = append(p.gaps, g)
	}
}

// beside runs the load for as long as perf looks, which begins late and ends late; it returns how many transactions a second there were.
func (p *profiler) beside(ctx context.Context, crews []*crew, look func(context.Context)) (rate float64, err error) {
	if p.path == "" {
		return 0, nil
	}
	done := make(chan struct{})
	go func() { defer close(done); look(ctx) }()
	defer func() { <-done }()
	var n, seconds float64
	for {
		took, err := drive(ctx, crews, 250*time.Millisecond)
		if err != nil {
			return 0, err
		}
		for _, w := range crews {
			h, _ := w.times()
			n += float64(h.N)
		}
		seconds += took.Seconds()
		select {
		case <-done:
			return n / seconds, nil
		default:
		}
	}
}

// run runs perf to its end. It dies with us and with ctx.
func (p *profiler) run(ctx context.Context, args ...string) (out, said []byte, err error) {
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PERF_CONFIG=/dev/null", "PERF_PAGER=cat", "DEBUGINFOD_URLS=")
	cmd.WaitDelay = 5 * time.Second
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = keeper.Run(cmd)
	return o.Bytes(), e.Bytes(), err
}

// refused says in words why perf did nothing.
func (p *profiler) refused(what string, said []byte, err error) {
	why := firstOf(said)
	if why == "" && err != nil {
		why = err.Error()
	}
	how := "run as root, or sysctl kernel.perf_event_paranoid=1"
	if paranoid, e := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); e == nil {
		how += " (it is " + strings.TrimSpace(string(paranoid)) + " here)"
	}
	if strings.Contains(why, "tracefs") || strings.Contains(why, "tracing") || strings.Contains(why, "trace events") {
		how = "mount -t tracefs tracefs /sys/kernel/tracing, as root"
	}
	p.gap(what, why, how)
}

// firstOf is the first line that says anything.
func firstOf(said []byte) string {
	for line := range bytes.Lines(said) {
		if text := strings.TrimSpace(string(line)); text != "" && text != "Error:" {
			return text
		}
	}
	return ""
}

// record samples a process for a time: where its processors are, with callers. nil where that cannot be done.
func (p *profiler) record(ctx context.Context, pid int, length time.Duration) *flame.Graph {
	const what = "where processor time goes"
	data := filepath.Join(p.dir, "perf.data")
	defer os.Remove(data)
	_, said, err := p.run(ctx, "record", "-F", strconv.Itoa(samplesPerSecond), "--call-graph", "dwarf,8192", "-p", strconv.Itoa(pid), "-o", data, "--", "sleep", fmt.Sprintf("%.1f", length.Seconds()))
	if err != nil {
		if ctx.Err() == nil {
			p.refused(what, said, err)
		}
		return nil
	}
	out, said, err := p.run(ctx, "script", "-i", data, "--no-inline", "-F", "comm,ip,sym,dso")
	if err != nil {
		if ctx.Err() == nil {
			p.refused(what, said, err)
		}
		return nil
	}
	g, err := flame.Parse(bytes.NewReader(out))
	if err != nil {
		p.gap(what, "perf script printed what cannot be read: "+err.Error(), "another version of linux-perf")
		return nil
	}
	if g.Samples == 0 {
		p.gap(what, "perf took no sample", "a longer --runtime")
		return nil
	}
	return g
}

// calls counts the system calls of a process for a time, and the time in them, the most time first; nil where that cannot be done.
func (p *profiler) calls(ctx context.Context, pid int, length time.Duration) []sheet.Call {
	const what = "futex and other system calls"
	to := filepath.Join(p.dir, "perf.calls")
	defer os.Remove(to)
	_, said, err := p.run(ctx, "trace", "-s", "-m", "8M", "-o", to, "-p", strconv.Itoa(pid), "--", "sleep", fmt.Sprintf("%.1f", length.Seconds()))
	if err != nil {
		if ctx.Err() == nil {
			p.refused(what, said, err)
		}
		return nil
	}
	text, err := os.ReadFile(to)
	calls, lost, err2 := parseCalls(text)
	if err := errors.Join(err, err2); err != nil {
		p.gap(what, "perf trace -s printed what cannot be read: "+err.Error(), "another version of linux-perf")
		return nil
	}
	if lost > 0 {
		p.gap("all system calls", fmt.Sprintf("perf trace lost %.0f of them, so that their numbers and times are too low", lost), "use a machine with an idle processor, or fewer --clients")
	}
	return calls
}

// parseCalls adds up the tables that perf trace -s prints, one for each thread: name, calls, errors (not in all versions), milliseconds, and more. lost is
// how many events it says that it has not seen.
func parseCalls(text []byte) (_ []sheet.Call, lost float64, _ error) {
	sums := map[string]*sheet.Call{}
	hasErrors, isTable := false, false
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		switch {
		case len(f) > 2 && f[0] == "syscall" && f[1] == "calls":
			hasErrors, isTable = f[2] == "errors", true
			continue
		case len(f) == 3 && f[0] == "LOST":
			n, _ := strconv.ParseFloat(f[1], 64)
			lost += n
			continue
		case len(f) < 4 || !isTable || strings.HasPrefix(f[0], "-") || strings.HasPrefix(f[0], "("):
			continue
		}
		at := 2
		if hasErrors {
			at = 3
		}
		n, err := strconv.ParseFloat(f[1], 64)
		ms, err2 := strconv.ParseFloat(f[at], 64)
		if errors.Join(err, err2) != nil {
			continue // the head of the next thread: mariadbd (123), 4000 events, 50.0%
		}
		c := sums[f[0]]
		if c == nil {
			c = &sheet.Call{Name: f[0]}
			sums[f[0]] = c
		}
		c.PerTx, c.Micros = c.PerTx+n, c.Micros+1000*ms
	}
	if !isTable {
		return nil, 0, fmt.Errorf("there is no table of system calls in it: %.80q", firstOf(text))
	}
	out := []sheet.Call{}
	for _, c := range sums {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b sheet.Call) int {
		if a.Micros != b.Micros {
			if a.Micros > b.Micros {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, lost, nil
}
