package kills

import (
	"slices"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/move"
)

// What takes turns has had its turn after two commits, and none is left out.
// Run with -v it says what is taken of how many.
func TestWhatATurnTakes(t *testing.T) {
	if farmtest.AllPoints() {
		t.Skip("SKIPPED: all points are taken")
	}
	for _, name := range []string{move.Replace, move.Shard} {
		book, _ := move.ByName(name)
		sample := farmtest.SampleOf(book.Points(), 3)
		mustTakeTurns(t, name, sample)
		t.Logf("%s: a step that fails, at %d of %d points", name, len(farmtest.InTurn(sample, farmtest.Turn())), len(book.Points()))
	}
	for k, x := range successions {
		book, _ := move.ByName(x.book)
		sample := inLanes(book.Points(), 3*k)[0]
		mustTakeTurns(t, x.book, sample)
		t.Logf("%s, %s: a step that fails, at %d of %d points", x.book, x.topology, len(farmtest.InTurn(sample, farmtest.Turn())), len(book.Points()))
	}
}

func mustTakeTurns(t *testing.T, name string, sample []string) {
	t.Helper()
	one, other := farmtest.InTurn(sample, 4), farmtest.InTurn(sample, 5)
	if len(one) == 0 || len(other) == 0 {
		t.Errorf("%s: nothing in some turn", name)
	}
	two := slices.Concat(one, other)
	want := slices.Clone(sample)
	slices.Sort(two)
	slices.Sort(want)
	if !slices.Equal(two, want) {
		t.Errorf("%s: two turns take %v, want %v", name, two, want)
	}
}
