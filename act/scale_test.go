package act_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/act"
)

// TestBenchScale measures what a side costs the engine and the program in a run of thousands of pairs, beside what it costs in one of
// sixty, and how full the window stays; the large run is killed in the middle, engine and program, and continued. `make bench
// BENCH=engine-scale` runs it. It prints a line for each figure: SCALE, its name, its value, a remark.
//
// It fails when a side costs more than 1.3 times as much in the large run; when fewer than three quarters of the places of the window
// are ever taken while pairs wait, or fewer than 95 % on average; and when a step was left out, began too early or ran beyond a budget.
func TestBenchScale(t *testing.T) {
	lanes, _ := strconv.Atoi(os.Getenv("BENCH_SCALE"))
	if lanes == 0 {
		t.Skip("NOT MEASURED: runs of thousands of pairs (BENCH_SCALE=6000, a quarter of an hour)")
	}
	rounds, _ := strconv.Atoi(cmp.Or(os.Getenv("SMALL_ROUNDS"), "3"))
	scale, err := strconv.ParseFloat(cmp.Or(os.Getenv("SCALE"), "0.33"), 64)
	if err != nil {
		t.Fatal(err)
	}
	atOnce, err := strconv.Atoi(cmp.Or(os.Getenv("AT_ONCE"), "64"))
	if err != nil {
		t.Fatal(err)
	}
	bench := scaleBench{t, scale, atOnce}
	var engines, programs []float64
	small := func() {
		for range rounds {
			o := bench.measure(60, false)
			engines, programs = append(engines, o.engine), append(programs, o.program)
			fmt.Printf("SCALE small %.1f engine %.1f program, ms CPU a side; load %s\n", o.engine, o.program, loadAverage())
		}
	}
	small()
	large := bench.measure(lanes, true)
	fmt.Printf("SCALE large %.1f engine %.1f program, ms CPU a side; load %s\n", large.engine, large.program, loadAverage())
	small()
	e, p := median(engines), median(programs)
	figure := func(name string, value float64, format string, args ...any) {
		fmt.Printf("SCALE figure|%s|%.2f|%s\n", name, value, fmt.Sprintf(format, args...))
	}
	ratio := (large.engine + large.program) / (e + p)
	figure("cost of a side, of "+strconv.Itoa(lanes)+" pairs / of 60", ratio, "CPU ms a side: engine %.1f / %.1f, program %.1f / %.1f; medians of %d runs of 60", large.engine, e, large.program, p, len(engines))
	figure("places of the window taken while pairs wait, least %", 100*large.least, "of %d; on average %.1f %%, fewer than nine in ten for %.2f %% of the time", atOnce, 100*large.mean, 100*large.below)
	figure("seconds of the large run", large.seconds, "durations times %.2f; killed once", scale)
	figure("peak memory, MB: engine", large.enginePeak, "program %.0f MB", large.programPeak)
	figure("seconds from the start after kill -9 of both to the first step", large.resumed, "and %.1f s until as many steps are at work as before", large.refilled)
	if ratio > 1.3 {
		t.Errorf("a side costs %.2f times as much in a run of %d pairs as in one of 60, at most 1.3 is allowed", ratio, lanes)
	}
	if large.least < 0.75 || large.mean < 0.95 { // also one that was never full: its mean is 0
		t.Errorf("of the window's places %.0f %% were taken at least and %.1f %% on average while pairs waited; 75 and 95 %% are wanted", 100*large.least, 100*large.mean)
	}
}

type scaleBench struct {
	t      *testing.T
	scale  float64
	atOnce int
}

// outcome of one run.
type outcome struct {
	engine, program         float64 // CPU ms a side
	enginePeak, programPeak float64 // MB
	seconds                 float64
	least, mean, below      float64 // shares of the window
	resumed, refilled       float64 // seconds
}

// measure carries one run out in a workspace of its own.
func (b scaleBench) measure(lanes int, kill bool) (o outcome) {
	t := b.t
	dir, err := os.MkdirTemp("/var/tmp", "stowage-scale-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const farmFile = "farm: scale\nhost_types:\n  t: {cores: 1, memory: 1GB, disk: 1GB}\nhosts:\n  - {name: h1, type: t, address: 127.0.0.1}\npairs: []\n"
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(farmFile), 0o600); err != nil {
		t.Fatal(err)
	}
	r := scaleRun{Dir: dir, Lanes: lanes, AtOnce: b.atOnce, Scale: b.scale}
	began := time.Now()
	var killedAt, startedAt time.Time
	var used usage
	if kill {
		used = b.untilKilled(r)
		killedAt, startedAt = time.Now(), time.Now()
	}
	last := b.toTheEnd(r)
	o.seconds = time.Since(began).Seconds()
	sides := float64(2 * lanes)
	o.engine, o.program = 1000*(used.Engine+last.Engine)/sides, 1000*(used.Program+last.Program)/sides
	o.enginePeak, o.programPeak = max(used.EnginePeak, last.EnginePeak), max(used.ProgramPeak, last.ProgramPeak)
	j := readJournal(t, r)
	j.judge(t, r)
	o.least, o.mean, o.below = j.occupancy(lanes, r.AtOnce)
	if kill {
		o.resumed, o.refilled = j.resumption(killedAt, startedAt)
	}
	return o
}

// start starts the program and returns it with what it and its engine had used when the run began.
func (b scaleBench) start(r scaleRun) (*exec.Cmd, usage) {
	text, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(r.Dir, scaleUp)) // of the program before
	cmd := exec.Command(os.Args[0], "-test.run", "^TestScaleProgram$", "-test.timeout", "24h")
	cmd.Env = append(os.Environ(), scaleEnv+"="+string(text))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = cmd.Process.Kill() })
	var up usage
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if raw, err := os.ReadFile(filepath.Join(r.Dir, scaleUp)); err == nil && json.Unmarshal(raw, &up) == nil {
			return cmd, up
		}
		if time.Now().After(deadline) {
			b.t.Fatal("the program does not begin")
		}
	}
}

func (u usage) since(before usage) usage {
	u.Program, u.Engine = u.Program-before.Program, u.Engine-before.Engine
	return u
}

// untilKilled kills program and engine when half of the steps are done.
func (b scaleBench) untilKilled(r scaleRun) usage {
	cmd, before := b.start(r)
	half := int64(r.Lanes) * int64(len(measuredTimes())) * 2 // lines: two a step, two sides, one half of all
	for deadline := time.Now().Add(2 * time.Hour); lineCount(b.t, filepath.Join(r.Dir, scaleJournal)) < half; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatal("half of the steps are never done")
		}
	}
	now, err := r.used(cmd.Process.Pid)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := syscall.Kill(now.EnginePID, syscall.SIGKILL); err != nil {
		b.t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return now.since(before)
}

func (b scaleBench) toTheEnd(r scaleRun) usage {
	cmd, before := b.start(r)
	if err := cmd.Wait(); err != nil {
		b.t.Fatalf("the program: %v", err)
	}
	var after usage
	raw, err := os.ReadFile(filepath.Join(r.Dir, scaleUsed))
	if err == nil {
		err = json.Unmarshal(raw, &after)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return after.since(before)
}

// journal is what the steps have written, in the order of time.
type journal []entry

type entry struct {
	begins              bool
	lane, subject, step string
	at                  time.Time
}

func readJournal(t *testing.T, r scaleRun) (j journal) {
	f, err := os.Open(filepath.Join(r.Dir, scaleJournal))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word := strings.Split(lines.Text(), "\t")
		nanos, err := strconv.ParseInt(word[len(word)-1], 10, 64)
		if err != nil || len(word) != 4 {
			t.Fatalf("journal: %q", lines.Text())
		}
		lane, _, _ := strings.Cut(word[1], "/")
		j = append(j, entry{word[0] == "begin", lane, word[1], word[2], time.Unix(0, nanos)})
	}
	slices.SortStableFunc(j, func(a, b entry) int { return a.at.Compare(b.at) })
	return j
}

func lineCount(t *testing.T, path string) int64 {
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return int64(strings.Count(string(raw), "\n"))
}

// measuredTimes are the names of the steps, in order.
func measuredTimes() (names []string) {
	for _, line := range strings.Split(strings.TrimSpace(measuredSteps), "\n") {
		if !strings.HasPrefix(line, "#") {
			names = append(names, strings.Split(line, "\t")[0])
		}
	}
	return names
}

// span is when a lane ran, from the beginning of its first step to the end of its last.
type span struct{ from, to time.Time }

func (j journal) spans() map[string]span {
	names := measuredTimes()
	out := map[string]span{}
	for _, e := range j {
		s := out[e.lane]
		if s.from.IsZero() {
			s.from = e.at
		}
		if !e.begins && e.step == names[len(names)-1] && strings.HasSuffix(e.subject, "/A") {
			s.to = e.at
		}
		out[e.lane] = s
	}
	return out
}

// judge knows nothing of how the engine works: every step of every side has ended, none began before the one in front of it had, and
// no budget was ever exceeded, whatever was killed.
func (j journal) judge(t *testing.T, r scaleRun) {
	names := measuredTimes()
	place := map[string]int{}
	for i, n := range names {
		place[n] = i
	}
	done := map[string]int{} // steps of a side that have ended
	for _, e := range j {
		at := place[e.step]
		if e.begins && at != done[e.subject] && at != done[e.subject]-1 { // one whose end was not heard runs again
			t.Errorf("%s began %s when %d steps had ended", e.subject, e.step, done[e.subject])
		}
		if !e.begins {
			done[e.subject] = max(done[e.subject], at+1)
		}
		if e.begins && strings.HasSuffix(e.subject, "/A") && done[e.lane+"/B"] != len(names) {
			t.Errorf("%s began before its twin was done", e.subject)
		}
	}
	job := r.job("", nil)
	spans := j.spans()
	type change struct {
		at    time.Time
		token string
		by    int
	}
	var changes []change
	for _, lane := range job.Lanes {
		for _, part := range lane.Parts {
			if done[part.Subject] != len(names) {
				t.Errorf("%s has %d of %d steps done", part.Subject, done[part.Subject], len(names))
			}
		}
		for _, token := range lane.Holds {
			changes = append(changes, change{spans[lane.Name].from, token, 1}, change{spans[lane.Name].to, token, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), a.by-b.by) })
	held := map[string]int{}
	for _, c := range changes {
		if held[c.token] += c.by; held[c.token] > job.Budgets[c.token] {
			t.Errorf("%s was held %d times at once, its budget is %d", c.token, held[c.token], job.Budgets[c.token])
		}
	}
	if len(held) < 60 || held[act.WholeFarm] != 0 {
		t.Errorf("%d budgets were looked at, and %d lanes never ended", len(held), held[act.WholeFarm])
	}
}

// occupancy is how much of the window was taken from when it was first full until no pair waited: the least, the average over time, and
// the share of the time in which it was less than nine tenths.
func (j journal) occupancy(lanes, atOnce int) (least, mean, below float64) {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, s := range j.spans() {
		changes = append(changes, change{s.from, 1}, change{s.to, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	now, begun, full, last := 0, 0, false, time.Time{}
	var all, taken, low time.Duration
	least = 1
	for _, c := range changes {
		share := float64(now) / float64(atOnce)
		if full {
			span := c.at.Sub(last)
			all += span
			taken += time.Duration(share * float64(span))
			if least = min(least, share); share < 0.9 {
				low += span
			}
		}
		last = c.at
		now += c.by
		if c.by > 0 {
			begun++
		}
		full = full || now == atOnce
		if begun == lanes {
			break
		}
	}
	return least, taken.Seconds() / max(all.Seconds(), 1e-9), low.Seconds() / max(all.Seconds(), 1e-9)
}

// resumption is how long after the second program was started the first step began, and until as many were at work as before the kill.
func (j journal) resumption(killed, started time.Time) (first, all float64) {
	now, before := map[string]bool{}, 0
	for _, e := range j {
		if e.at.Before(killed) {
			now[e.subject] = e.begins
			continue
		}
		if before == 0 {
			for _, works := range now {
				if works {
					before++
				}
			}
			now, first = map[string]bool{}, e.at.Sub(started).Seconds()
		}
		now[e.subject] = true
		if len(now) >= before {
			return first, e.at.Sub(started).Seconds()
		}
	}
	return first, all
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func loadAverage() string {
	raw, _ := os.ReadFile("/proc/loadavg")
	word, _, _ := strings.Cut(string(raw), " ")
	return word
}
