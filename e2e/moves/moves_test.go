package moves

import (
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/turns"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

// Each runbook moves a farm of its own while clients write, once undisturbed
// and once with the program and its engine killed at one border; both times
// the ledger is compared with all sides. The border takes turns by commit:
// e2e/long/kills has them all.
func TestEachRunbookIsWhole(t *testing.T) {
	for n, c := range farmtest.Scenes {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			f := c.Start(t)
			r := f.WithFaults(f.Next(c), nil)
			judge(t, r)
			if len(r.Codes) != 1 || r.Codes[0] != farmtest.ExitFine {
				t.Fatalf("undisturbed, the move ended with %v\n%s", r.Codes, r.Said)
			}
			points := c.Points()
			at := points[(farmtest.Turn()*7+n*5)%len(points)] // 7 has no factor in common with the lengths: all have their turn
			victim := []string{"both", "stowage"}[farmtest.Turn()%2]
			r = f.WithFaults(f.Next(c), []farmtest.Fault{{What: victim, At: at}})
			judge(t, r)
			if len(r.Missed) > 0 || len(r.Codes) < 2 {
				t.Errorf("%s was not killed at %q: %v", victim, at, r.Codes)
			}
			t.Logf("%s killed at %q: %s, exits %v, %.1f s", victim, at, r.End(), r.Codes, r.Seconds)
		})
	}
}

// The two runbooks around the moves of single shards: pairs that are made, and
// pairs that have nothing left. The program is killed once in the first half of
// their borders and once in the second, by turns; e2e/long/shards has them all.
func TestPairsAreMadeAndTakenAwayWhole(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	points := farmtest.RegroupPoints()
	half := len(points) / 2
	n := farmtest.Turn() * 7 % half
	points = []string{points[n], points[n+half]}
	t.Logf("killed at %q", points)
	farmtest.StartRegrouping(t, farm.PrimaryReplica, 2, 4).KillRegrouping(points, farm.PrimaryReplica)
}

func judge(t *testing.T, r farmtest.Round) {
	t.Helper()
	for _, wrong := range r.Wrong {
		t.Errorf("%s: %s", r.Faults, wrong)
	}
	if len(r.Wrong) > 0 {
		t.Logf("%v\n%s", r.Log, r.Said)
	}
}
