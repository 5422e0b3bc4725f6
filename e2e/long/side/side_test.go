// Package side kills what takes a side out and brings it back, at every border.
package side

import (
	"testing"

	"stowage/e2e/farmtest"
	"stowage/roll"
)

// Kill the program, with its engine or without, at each border: the next
// command goes on, and nothing is lost.
func TestSideKilledAtEveryBorder(t *testing.T) {
	s := farmtest.StartHeldSide(t)
	was := s.Options()
	points := roll.Kind(nil).Runbooks[0].Points()
	for n, at := range points {
		victim := []string{"both", "stowage"}[n%2]
		s.Killed(victim+" @ "+at, at)
		if is := s.Options(); is != was {
			t.Fatalf("killed at %q, the option file is afterwards\n%s", at, is)
		}
	}
	s.F.CheckLedger()
}
