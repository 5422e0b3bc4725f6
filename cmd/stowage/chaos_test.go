package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/move"
)

// Random fault schedules: ROUNDS of them, from SEED; the same seed gives the
// same schedules. ROUND=k carries out the k-th alone. MINUTES bounds the time.
// `make chaos` runs it; make test runs a sample.
//
// What is random besides is the machine: a fault that strikes after so many
// milliseconds strikes a slow machine elsewhere. One that strikes at a border
// does not.
func TestChaos(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: random faults during moves")
	}
	if os.Getenv(chaosBlock) != "" {
		chaosRounds(t)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: faults of the network need root, for a network namespace")
	}
	seed, rounds := number("SEED", 1), number("ROUNDS", 4)
	first := 1
	if k := number("ROUND", 0); k > 0 {
		first, rounds = k, 1
	}
	end := time.Now().Add(time.Duration(number("MINUTES", 600)) * time.Minute)
	if d, ok := t.Deadline(); ok && d.Add(-2*time.Minute).Before(end) {
		end = d.Add(-2 * time.Minute)
	}
	all := chaosInLanes(t, seed, chaosBlocks(t, seed, first, first+rounds-1), number("LANES", 2), end)
	for _, r := range all {
		if len(r.Wrong) > 0 {
			t.Errorf("round %d failed; alone: RUNBOOK=%s SEED=%d ROUND=%d make chaos\n%s", r.Number, r.Runbook, seed, r.Number, r.text())
		}
	}
	if len(all) < rounds {
		t.Logf("%d of %d rounds: the time is up", len(all), rounds)
	}
	fmt.Print(chaosTable(seed, all))
}

const (
	chaosBlock = "STOWAGE_CHAOS" // "seed unix-end file round,round,..."
	// roundsPerFarm keeps a ledger short: it is read in every round.
	roundsPerFarm = 25
)

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// chaosRound is one round and its number.
type chaosRound struct {
	Number  int    `json:"number"`
	Runbook string `json:"runbook"`
	round
	Stderr string `json:"stderr,omitempty"`
}

func (r chaosRound) text() string {
	return fmt.Sprintf("  faults: %s\n  wrong: %s\n  %s\n  the program said:\n%s",
		strings.Join(r.Faults, "; "), strings.Join(r.Wrong, "\n         "), strings.Join(r.Log, "\n  "), r.Stderr)
}

// chaosBlocks deals rounds out to farms: those of one scene together, so that
// their farm is the only one that runs for them, in blocks of about one size,
// the lowest numbers first.
func chaosBlocks(t *testing.T, seed, first, last int) [][]int {
	byScene := map[string][]int{}
	for n := first; n <= last; n++ {
		name := sceneOf(t, seed, n).name
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
func TestChaosBlocks(t *testing.T) {
	if os.Getenv("RUNBOOK") != "" {
		t.Skip("SKIPPED: RUNBOOK leaves one scene")
	}
	const seed, first, last = 3, 5, 1000
	met := map[int]int{}
	for _, block := range chaosBlocks(t, seed, first, last) {
		if len(block) < roundsPerFarm-2 || len(block) > roundsPerFarm {
			t.Errorf("a block of %d rounds", len(block))
		}
		for _, n := range block {
			met[n]++
			if a, b := sceneOf(t, seed, n).name, sceneOf(t, seed, block[0]).name; a != b {
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

// chaosInLanes carries blocks out, so many at a time, each in a process with a
// network of its own.
func chaosInLanes(t *testing.T, seed int, blocks [][]int, lanes int, end time.Time) []chaosRound {
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
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChaos$", "-test.timeout=0")
			cmd.Env = append(os.Environ(), isApart+"=1", fmt.Sprintf("%s=%d %d %s %s", chaosBlock, seed, end.Unix(), files[k], rounds))
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
			cmd.Stderr = os.Stderr
			if out, err := cmd.Output(); err != nil {
				t.Errorf("rounds %s: %v\n%s", rounds, err, out)
			}
		})
	}
	wg.Wait()
	var all []chaosRound
	for _, file := range files {
		raw, _ := os.ReadFile(file) // none, when the time was up before
		for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
			var r chaosRound
			if json.Unmarshal([]byte(line), &r) == nil {
				all = append(all, r)
			}
		}
	}
	slices.SortFunc(all, func(a, b chaosRound) int { return a.Number - b.Number })
	return all
}

// sceneOf is what the n-th round of a seed moves, or what RUNBOOK= says. Each is
// in its turn within as many rounds as there are, in an order that is drawn.
func sceneOf(t *testing.T, seed, n int) scene {
	if name := os.Getenv("RUNBOOK"); name != "" {
		return sceneNamed(t, name)
	}
	turn := rand.New(rand.NewPCG(uint64(seed), uint64((n-1)/len(scenes))|1<<63)).Perm(len(scenes))
	return scenes[turn[(n-1)%len(scenes)]]
}

// chaosRounds carries out the rounds of one block, on one farm for as long as
// nothing goes wrong. Its clients rest between rounds.
func chaosRounds(t *testing.T) {
	if !apart(t) {
		return
	}
	var seed int
	var end int64
	var file, list string
	if _, err := fmt.Sscan(os.Getenv(chaosBlock), &seed, &end, &file, &list); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var f *liveFarm
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().Unix() >= end {
			return
		}
		c := sceneOf(t, seed, n)
		if f == nil {
			f = c.start(t)
		}
		r := chaosRound{Number: n, Runbook: c.name, round: f.withFaults(f.next(c), schedule(c, seed, n))}
		if len(r.Wrong) > 0 {
			r.Stderr = r.stderr
			f.down() // what is broken is not to break the next
			f = nil
		}
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(append(raw, '\n')); err != nil {
			t.Fatal(err)
		}
		r.print()
	}
}

func (r chaosRound) print() {
	text := fmt.Sprintf("%4d %-13s %-7s %5.1f s  exits %v  %s\n", r.Number, r.Runbook, r.end(), r.Seconds, r.Codes, strings.Join(r.Faults, "; "))
	for _, why := range r.Why {
		text += "     " + why + "\n"
	}
	fmt.Fprint(os.Stderr, text)
}

// schedule is the n-th of a seed: one to three faults, each at a border or at
// some moment, each for a while.
func schedule(c scene, seed, n int) []fault {
	rnd := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
	points, roles := c.points(), c.roles()
	var phases []string
	for _, p := range points {
		if strings.Contains(p, "/") {
			phases = append(phases, p)
		}
	}
	kinds := append([]string{"kill", "kill", "kill", "cut", "cut", "freeze", "freeze", "stowage", "stowage", "engine", "both", "interrupt", "fail", "fail"}, c.visits()...)
	var out []fault
	if rnd.IntN(6) == 0 { // a step fails for good, and what is taken back is disturbed
		out = append(out, fault{What: "fail", At: points[rnd.IntN(len(points))]})
		points = c.undoPoints()
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "fail" })
	}
	for range 1 + rnd.IntN(3)*rnd.IntN(2) {
		x := fault{What: kinds[rnd.IntN(len(kinds))]}
		long := time.Duration(20*(1<<rnd.IntN(8))+rnd.IntN(100)) * time.Millisecond // 20 ms to 2.6 s
		whom := roles[rnd.IntN(len(roles))]
		switch x.What {
		case "kill", "cut", "freeze":
			x.Whom, x.Long = whom, long
		case "ddl", "long", "super":
			x.Long = long
		}
		switch rnd.IntN(3) {
		case 0:
			x.After, x.Early = time.Duration(rnd.IntN(5000))*time.Millisecond, rnd.IntN(8) == 0
		case 1: // where clients are held, and around it
			x.At = phases[rnd.IntN(len(phases))]
		default:
			x.At = points[rnd.IntN(len(points))]
		}
		if x.What == "fail" && x.At == "" {
			x.After, x.Early, x.At = 0, false, points[rnd.IntN(len(points))]
		}
		// The second side, where a plan moves two; the second attempt where not.
		if again := rnd.IntN(3) == 0 && (c.book == move.Replace || rnd.IntN(3) == 0); again && x.At != "" {
			x.At += "#2"
		}
		out = append(out, x)
	}
	return out
}

// chaosTable sums the rounds up, by kind of fault.
func chaosTable(seed int, all []chaosRound) string {
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
			switch r.end() {
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
	text := fmt.Sprintf("\nchaos, seed %d: rounds in which a fault struck (a round may have several)\n%-16s %7s %6s %8s %7s %8s %7s %8s %9s\n", seed, "fault", "rounds", "done", "forward", "undone", "refused", "FAILED", "resumes", "too late")
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
