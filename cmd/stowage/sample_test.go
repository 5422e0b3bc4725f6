package main

import (
	"os"
	"slices"
	"testing"
	"time"

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

// day is the seed of a run: of what takes turns, all has had its turn after two
// days. STOWAGE_SEED=n is a day of one's own, for a run that takes what another
// took: scripts/test.sh names it.
func day() int { return number("STOWAGE_SEED", int(time.Now().Unix()/(24*60*60))) }

// todays is every second of a sample's points, unless all are asked for. Steps
// that fail take turns so; kills never do.
func todays(sample []string, day int) []string {
	if allPoints() {
		return sample
	}
	return every(sample, 2, day%2)
}

// hands is how many farms a series has, in a sample and in full.
func hands(sample, full int) int {
	if allPoints() {
		return full
	}
	return sample
}

// What takes turns has had its turn after two days, and none is left out. Run
// with -v it says what the day takes of how many.
func TestWhatADayTakes(t *testing.T) {
	if allPoints() {
		t.Skip("SKIPPED: all points are taken")
	}
	for _, name := range []string{move.Replace, move.Shard} {
		book, _ := move.ByName(name)
		sample := sampleOf(book.Points(), 3)
		mustTakeTurns(t, name, sample)
		t.Logf("%s: a step that fails, at %d of %d points", name, len(todays(sample, day())), len(book.Points()))
	}
	for k, x := range successions {
		book, _ := move.ByName(x.book)
		sample := inLanes(book.Points(), 3*k)[0]
		mustTakeTurns(t, x.book, sample)
		t.Logf("%s, %s: a step that fails, at %d of %d points", x.book, x.topology, len(todays(sample, day())), len(book.Points()))
	}
}

func mustTakeTurns(t *testing.T, name string, sample []string) {
	t.Helper()
	one, other := todays(sample, 4), todays(sample, 5)
	if len(one) == 0 || len(other) == 0 {
		t.Errorf("%s: nothing on some day", name)
	}
	two := slices.Concat(one, other)
	want := slices.Clone(sample)
	slices.Sort(two)
	slices.Sort(want)
	if !slices.Equal(two, want) {
		t.Errorf("%s: two days take %v, want %v", name, two, want)
	}
}
