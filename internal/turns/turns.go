// Package turns samples tests that take long: `make test` runs each of them with some commits, test-all always.
//
// It answers: "is it this test's turn?" What is sampled is a test that has a neighbour: the promise it holds is held, less closely, by
// another that always runs.
package turns

import (
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

// One skips a test with -short but for one commit of n: STOWAGE_SEED is the number of commits (scripts/test.sh). Which one it is
// depends on the test's name, so that neighbours do not skip together.
func One(t testing.TB, n uint32) {
	t.Helper()
	skipUnless(t, ofName(t.Name()), n)
}

// OneOf does so with the ith of n neighbours that all take long: with each commit exactly one of them runs.
func OneOf(t testing.TB, i, n uint32) {
	t.Helper()
	skipUnless(t, i, n)
}

// Heavies is how many tests say Heavy.
const Heavies = 12

// Heavy is said by those that take a processor for ten seconds or more, each with a number of its own below Heavies: with each commit one of them
// runs. By their names alone three of them would fall on some commits, which took a minute more than others.
func Heavy(t testing.TB, i uint32) {
	t.Helper()
	OneOf(t, i, Heavies)
}

func ofName(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return h.Sum32()
}

func skipUnless(t testing.TB, i, n uint32) {
	t.Helper()
	if testing.Short() && !mine(i, os.Getenv("STOWAGE_SEED"), n) {
		t.Skipf("this test takes turns in make test: one commit in %d; the part whole of test-all runs it always (docs/internals/tests.md)", n)
	}
}

func mine(i uint32, seed string, n uint32) bool {
	commits, _ := strconv.ParseUint(seed, 10, 32)
	return (uint32(commits)+i)%n == 0
}
