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
	if testing.Short() && !mine(t.Name(), os.Getenv("STOWAGE_SEED"), n) {
		t.Skipf("this test takes turns in make test: one commit in %d; the part whole of test-all runs it always (docs/internals/tests.md)", n)
	}
}

func mine(name, seed string, n uint32) bool {
	commits, _ := strconv.ParseUint(seed, 10, 32)
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return (uint32(commits)+h.Sum32())%n == 0
}
