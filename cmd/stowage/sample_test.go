package main

import (
	"os"
	"slices"
	"testing"

	"stowage/move"
)

// allPoints says whether every series is to be run in full.
func allPoints() bool { return os.Getenv("STOWAGE_ALL_POINTS") != "" }

// sampleOf is every nth point, unless all are asked for.
func sampleOf(points []string, n int) []string {
	if allPoints() {
		return points
	}
	return every(points, n, 1)
}

// turn says which half of what takes turns is tried: STOWAGE_SEED=n, else that
// of 0. scripts/test.sh counts the commits, so that a commit is always tried
// with the same, and the next one with the other.
func turn() int { return number("STOWAGE_SEED", 0) }

// inTurn is every second of a sample's points, unless all are asked for. Steps
// that fail take turns so; kills never do.
func inTurn(sample []string, turn int) []string {
	if allPoints() {
		return sample
	}
	return every(sample, 2, turn%2)
}

// hands is how many farms a series has, in a sample and in full.
func hands(sample, full int) int {
	if allPoints() {
		return full
	}
	return sample
}

// What takes turns has had its turn after two commits, and none is left out.
// Run with -v it says what is taken of how many.
func TestWhatATurnTakes(t *testing.T) {
	if allPoints() {
		t.Skip("SKIPPED: all points are taken")
	}
	for _, name := range []string{move.Replace, move.Shard} {
		book, _ := move.ByName(name)
		sample := sampleOf(book.Points(), 3)
		mustTakeTurns(t, name, sample)
		t.Logf("%s: a step that fails, at %d of %d points", name, len(inTurn(sample, turn())), len(book.Points()))
	}
	for k, x := range successions {
		book, _ := move.ByName(x.book)
		sample := inLanes(book.Points(), 3*k)[0]
		mustTakeTurns(t, x.book, sample)
		t.Logf("%s, %s: a step that fails, at %d of %d points", x.book, x.topology, len(inTurn(sample, turn())), len(book.Points()))
	}
}

func mustTakeTurns(t *testing.T, name string, sample []string) {
	t.Helper()
	one, other := inTurn(sample, 4), inTurn(sample, 5)
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
