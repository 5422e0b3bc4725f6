package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// series is a numbered list of rounds, from 1, that are dealt out to farms: at
// random (TestChaos) or one at each border (TestFaultAtBorders).
//
// ROUND=k carries out the k-th alone, MINUTES= bounds the time, LANES= says how
// many farms are at it side by side.
type series struct {
	name   string
	alone  func(n int) string // the command for one round
	rounds int
	scene  func(n int) farmtest.Scene   // what is moved in a round
	faults func(n int) []farmtest.Fault // what strikes in it
}

const (
	seriesBlock = "STOWAGE_ROUNDS" // "unix-end file round,round,...": what a process of a series carries out
	// roundsPerFarm keeps a ledger short: it is read in every round.
	roundsPerFarm = 25
)

// carryOut carries out the rounds of a series, or, in a process that was
// started for it, those of one block. The calling test does nothing else.
func (s series) carryOut(t *testing.T) {
	t.Helper()
	if os.Getenv(seriesBlock) != "" {
		s.carryOutBlock(t)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: faults of the network need root, for a network namespace")
	}
	first, last := 1, s.rounds
	if k := farmtest.Number("ROUND", 0); k > 0 {
		if k > last {
			t.Fatalf("ROUND=%d: there are %d", k, last)
		}
		first, last = k, k
	}
	end := time.Now().Add(time.Duration(farmtest.Number("MINUTES", 600)) * time.Minute)
	if d, ok := t.Deadline(); ok && d.Add(-2*time.Minute).Before(end) {
		end = d.Add(-2 * time.Minute)
	}
	all := s.inLanes(t, s.blocks(first, last), farmtest.Number("LANES", 2), end)
	for _, r := range all {
		if len(r.Wrong) > 0 {
			t.Errorf("round %d failed; alone: %s\n%s", r.Number, s.alone(r.Number), r.Text())
		}
	}
	if rounds := last - first + 1; len(all) < rounds {
		t.Logf("%d of %d rounds: the time is up", len(all), rounds)
	}
	fmt.Print(seriesTable(s.name, all))
}

// blocks deals rounds out to farms: those of one scene together, so that
// their farm is the only one that runs for them, in blocks of about one size,
// the lowest numbers first.
func (s series) blocks(first, last int) [][]int {
	byScene := map[string][]int{}
	for n := first; n <= last; n++ {
		name := s.scene(n).Name
		byScene[name] = append(byScene[name], n)
	}
	var out [][]int
	for _, all := range byScene {
		blocks := (len(all) + roundsPerFarm - 1) / roundsPerFarm
		for k := range blocks {
			out = append(out, all[len(all)*k/blocks:len(all)*(k+1)/blocks])
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return a[0] - b[0] })
	return out
}

// Each round is carried out once, on a farm of its scene, and no farm becomes
// old.
func TestSeriesBlocks(t *testing.T) {
	if os.Getenv("RUNBOOK") != "" {
		t.Skip("SKIPPED: RUNBOOK leaves one scene")
	}
	const seed, first, last = 3, 5, 1000
	s := series{scene: func(n int) farmtest.Scene { return sceneOf(t, seed, n) }}
	met := map[int]int{}
	for _, block := range s.blocks(first, last) {
		if len(block) < roundsPerFarm-3 || len(block) > roundsPerFarm {
			t.Errorf("a block of %d rounds", len(block))
		}
		for _, n := range block {
			met[n]++
			if a, b := s.scene(n).Name, s.scene(block[0]).Name; a != b {
				t.Errorf("round %d is of %s, its block of %s", n, a, b)
			}
		}
	}
	for n := first; n <= last; n++ {
		if met[n] != 1 {
			t.Errorf("round %d is carried out %d times", n, met[n])
		}
	}
	if len(met) != last-first+1 {
		t.Errorf("%d rounds, want %d", len(met), last-first+1)
	}
}

// inLanes carries blocks out, so many at a time, each in a process with a
// network of its own.
func (s series) inLanes(t *testing.T, blocks [][]int, lanes int, end time.Time) []farmtest.SeriesRound {
	var wg sync.WaitGroup
	files := make([]string, len(blocks))
	free := make(chan struct{}, lanes)
	for k, block := range blocks {
		files[k] = fmt.Sprintf("%s/block%d", t.TempDir(), k)
		free <- struct{}{}
		if time.Now().After(end) {
			break
		}
		wg.Go(func() {
			defer func() { <-free }()
			rounds := strings.Trim(strings.ReplaceAll(fmt.Sprint(block), " ", ","), "[]")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=0")
			cmd.Env = append(os.Environ(), farmtest.IsApart+"=1", fmt.Sprintf("%s=%d %s %s", seriesBlock, end.Unix(), files[k], rounds))
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
			cmd.Stderr = os.Stderr
			if out, err := cmd.Output(); err != nil {
				t.Errorf("rounds %s: %v\n%s", rounds, err, out)
			}
		})
	}
	wg.Wait()
	var all []farmtest.SeriesRound
	for _, file := range files {
		raw, _ := os.ReadFile(file) // none, when the time was up before
		for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
			var r farmtest.SeriesRound
			if json.Unmarshal([]byte(line), &r) == nil {
				all = append(all, r)
			}
		}
	}
	slices.SortFunc(all, func(a, b farmtest.SeriesRound) int { return a.Number - b.Number })
	return all
}

// carryOutBlock carries out the rounds of one block, on one farm for as long as
// nothing goes wrong. Its clients rest between rounds.
func (s series) carryOutBlock(t *testing.T) {
	if !farmtest.Apart(t) {
		return
	}
	var end int64
	var file, list string
	if _, err := fmt.Sscan(os.Getenv(seriesBlock), &end, &file, &list); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var f *farmtest.LiveFarm
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().Unix() >= end {
			return
		}
		c := s.scene(n)
		if f == nil {
			f = c.Start(t)
		}
		r := farmtest.SeriesRound{Number: n, Runbook: c.Name, Round: f.WithFaults(f.Next(c), s.faults(n))}
		if len(r.Wrong) > 0 {
			r.Stderr = r.Said
			f.Down() // what is broken is not to break the next
			f = nil
		}
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(append(raw, '\n')); err != nil {
			t.Fatal(err)
		}
		r.Print()
	}
}

// seriesTable sums the rounds up, by kind of fault.
func seriesTable(name string, all []farmtest.SeriesRound) string {
	type row struct{ rounds, done, forward, undone, refused, failed, resumes, missed int }
	rows, total := map[string]*row{}, &row{}
	var seconds []float64
	for _, r := range all {
		seconds = append(seconds, r.Seconds)
		for k, x := range append([]string{""}, r.Faults...) {
			at := total
			if k > 0 {
				kind, _, _ := strings.Cut(x, " @")
				if rows[kind] == nil {
					rows[kind] = &row{}
				}
				at = rows[kind]
			}
			at.rounds++
			at.resumes += len(r.Codes) - 1
			if slices.Contains(r.Missed, x) {
				at.missed++
			}
			switch r.End() {
			case "done":
				at.done++
			case "forward":
				at.forward++
			case "undone":
				at.undone++
			case "refused":
				at.refused++
			default:
				at.failed++
			}
		}
	}
	total.missed = 0
	var names []string
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	text := fmt.Sprintf("\n%s: rounds in which a fault struck (a round may have several)\n%-16s %7s %6s %8s %7s %8s %7s %8s %9s\n", name, "fault", "rounds", "done", "forward", "undone", "refused", "FAILED", "resumes", "too late")
	line := func(name string, r *row) {
		text += fmt.Sprintf("%-16s %7d %6d %8d %7d %8d %7d %8d %9d\n", name, r.rounds, r.done, r.forward, r.undone, r.refused, r.failed, r.resumes, r.missed)
	}
	for _, name := range names {
		line(name, rows[name])
	}
	line("all rounds", total)
	if len(seconds) > 0 {
		slices.Sort(seconds)
		text += fmt.Sprintf("a round takes %.1f s (median), %.1f s at most\n", seconds[len(seconds)/2], seconds[len(seconds)-1])
	}
	return text
}
