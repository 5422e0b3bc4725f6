package farmtest

import (
	"os"
)

// AllPoints says whether every series is to be run in full.
func AllPoints() bool { return os.Getenv("STOWAGE_ALL_POINTS") != "" }

// SampleOf is every nth point, unless all are asked for.
func SampleOf(points []string, n int) []string {
	if AllPoints() {
		return points
	}
	return Every(points, n, 1)
}

// Turn says which half of what takes turns is tried: STOWAGE_SEED=n, else that
// of 0. scripts/test.sh counts the commits, so that a commit is always tried
// with the same, and the next one with the other.
func Turn() int { return Number("STOWAGE_SEED", 0) }

// InTurn is every second of a sample's points, unless all are asked for. Steps
// that fail take turns so; kills never do.
func InTurn(sample []string, turn int) []string {
	if AllPoints() {
		return sample
	}
	return Every(sample, 2, turn%2)
}

// Hands is how many farms a series has, in a sample and in full.
func Hands(sample, full int) int {
	if AllPoints() {
		return full
	}
	return sample
}
