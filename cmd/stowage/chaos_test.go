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
	if os.Getenv(chaosLane) != "" {
		chaosRounds(t)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: faults of the network need root, for a network namespace")
	}
	seed, rounds := number("SEED", 1), number("ROUNDS", 4)
	first, lanes := 1, min(number("LANES", 2), rounds)
	if k := number("ROUND", 0); k > 0 {
		first, rounds, lanes = k, 1, 1
	}
	end := time.Now().Add(time.Duration(number("MINUTES", 600)) * time.Minute)
	if d, ok := t.Deadline(); ok && d.Add(-2*time.Minute).Before(end) {
		end = d.Add(-2 * time.Minute)
	}
	all := chaosInLanes(t, seed, first, rounds, lanes, end)
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
	chaosLane = "STOWAGE_CHAOS" // "seed first last stride unix-end file"
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

// chaosInLanes deals the rounds out to processes with networks of their own.
func chaosInLanes(t *testing.T, seed, first, rounds, lanes int, end time.Time) []chaosRound {
	var wg sync.WaitGroup
	files := make([]string, lanes)
	for lane := range lanes {
		files[lane] = fmt.Sprintf("%s/lane%d", t.TempDir(), lane)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChaos$", "-test.timeout=0")
		cmd.Env = append(os.Environ(), isApart+"=1",
			fmt.Sprintf("%s=%d %d %d %d %d %s", chaosLane, seed, first+lane, first+rounds-1, lanes, end.Unix(), files[lane]))
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
		cmd.Stderr = os.Stderr
		wg.Go(func() {
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("lane %d: %v\n%s", lane, err, out)
			}
		})
	}
	wg.Wait()
	var all []chaosRound
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("a lane left nothing: %v", err)
		}
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

// chaosFarm is the farm of one scene. Its clients rest between rounds.
type chaosFarm struct {
	*liveFarm
	rounds int
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

// chaosRounds carries out the rounds of one lane.
func chaosRounds(t *testing.T) {
	if !apart(t) {
		return
	}
	var seed, first, last, stride int
	var end int64
	var file string
	if _, err := fmt.Sscan(os.Getenv(chaosLane), &seed, &first, &last, &stride, &end, &file); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	farms := map[string]*chaosFarm{}
	for n := first; n <= last && time.Now().Unix() < end; n += stride {
		c := sceneOf(t, seed, n)
		f := farms[c.name]
		if f == nil || f.rounds == roundsPerFarm {
			if f != nil {
				f.down()
			}
			f = &chaosFarm{liveFarm: c.start(t)}
			farms[c.name] = f
		}
		f.rounds++
		r := chaosRound{Number: n, Runbook: c.name, round: f.withFaults(f.next(c), schedule(c, seed, n))}
		if len(r.Wrong) > 0 {
			r.Stderr = r.stderr
			f.rounds = roundsPerFarm // what is broken is not to break the next
		}
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(append(raw, '\n')); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(os.Stderr, "%4d %-13s %-7s %5.1f s  exits %v  %s\n", n, c.name, r.end(), r.Seconds, r.Codes, strings.Join(r.Faults, "; "))
		for _, why := range r.Why {
			fmt.Fprintln(os.Stderr, "     "+why)
		}
	}
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
