package turns

import (
	"fmt"
	"testing"
)

// TestEachTestHasItsTurn once in n commits, and about as many with each.
func TestEachTestHasItsTurn(t *testing.T) {
	const n, tests = 3, 60
	with := map[int]int{}
	for i := range tests {
		turns := 0
		for commit := 638; commit < 638+n; commit++ {
			if mine(ofName(fmt.Sprint("TestThing", i)), fmt.Sprint(commit), n) {
				turns++
				with[commit]++
			}
		}
		if turns != 1 {
			t.Errorf("test %d had %d turns in %d commits", i, turns, n)
		}
	}
	for commit, k := range with {
		if k < tests/n/2 || k > tests/n*2 {
			t.Errorf("with commit %d, %d of %d tests", commit, k, tests)
		}
	}
}
