package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// Random fault schedules: ROUNDS of them, from SEED; the same seed gives the
// same schedules. ROUND=k carries out the k-th alone. MINUTES bounds the time.
// `make chaos` runs it; make test-all runs a sample.
//
// What is random besides is the machine: a fault that strikes after so many
// milliseconds strikes a slow machine elsewhere. One that strikes at a border
// does not.
func TestChaos(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: random faults during moves")
	}
	seed := farmtest.Number("SEED", 1)
	series{
		name: fmt.Sprintf("chaos, seed %d", seed),
		alone: func(n int) string {
			return fmt.Sprintf("RUNBOOK=%s SEED=%d ROUND=%d make chaos", sceneOf(t, seed, n).Name, seed, n)
		},
		rounds: farmtest.Number("ROUNDS", 4),
		scene:  func(n int) farmtest.Scene { return sceneOf(t, seed, n) },
		faults: func(n int) []farmtest.Fault { return schedule(sceneOf(t, seed, n), seed, n) },
	}.carryOut(t)
}

// scenes are all that rounds play.
var scenes = slices.Concat(farmtest.Scenes, farmtest.Alters)

// sceneOf is what the n-th round of a seed moves, or what RUNBOOK= says. Each is
// in its turn within as many rounds as there are, in an order that is drawn.
func sceneOf(t *testing.T, seed, n int) farmtest.Scene {
	if name := os.Getenv("RUNBOOK"); name != "" {
		return farmtest.SceneNamed(t, name)
	}
	turn := rand.New(rand.NewPCG(uint64(seed), uint64((n-1)/len(scenes))|1<<63)).Perm(len(scenes))
	return scenes[turn[(n-1)%len(scenes)]]
}

// schedule is the n-th of a seed: one to three faults, each at a border or at
// some moment, each for a while.
func schedule(c farmtest.Scene, seed, n int) []farmtest.Fault {
	rnd := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
	points, roles := c.Points(), c.Roles()
	var phases []string
	for _, p := range points {
		if strings.Contains(p, "/") {
			phases = append(phases, p)
		}
	}
	kinds := append([]string{"kill", "kill", "kill", "cut", "cut", "freeze", "freeze", "stowage", "stowage", "engine", "both", "interrupt", "fail", "fail"}, c.Visits()...)
	var out []farmtest.Fault
	if rnd.IntN(6) == 0 { // a step fails for good, and what is taken back is disturbed
		out = append(out, farmtest.Fault{What: "fail", At: points[rnd.IntN(len(points))]})
		points = c.UndoPoints()
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "fail" })
	}
	for range 1 + rnd.IntN(3)*rnd.IntN(2) {
		x := farmtest.Fault{What: kinds[rnd.IntN(len(kinds))]}
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
		if again := rnd.IntN(3) == 0 && (c.Name == "replace" || rnd.IntN(3) == 0); again && x.At != "" {
			x.At += "#2"
		}
		out = append(out, x)
	}
	return out
}
