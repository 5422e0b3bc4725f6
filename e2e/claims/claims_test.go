// Package claims has runs that go on side by side in one workspace.
package claims

import (
	"fmt"
	"testing"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/internal/turns"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

// One way of killing one of two takes its turn by commit: e2e/long/claims has all.
func TestRunsSideBySide(t *testing.T) {
	t.Parallel() // it mostly waits
	n := farmtest.Turn() % len(farmtest.SideBySideRounds)
	farmtest.RunsSideBySide(t, farmtest.SideBySideRounds[n:n+1])
}

// Runs that begin at the same moment begin one after the other: no server id, no line of farm.yaml and no client is lost.
func TestRunsBegunAtTheSameMoment(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	f := farmtest.Raise(t, demo.Options{Pairs: 3, Shards: 1, Hosts: 3, Rows: 50}, 40, nil)
	f.Onto, f.Wanted = "", "anywhere"
	free := f.FreeHosts()
	ended := make(chan farmtest.Program)
	for n := range 3 {
		go func() {
			ended <- farmtest.RunIn(t, f, "move", "instance", fmt.Sprintf("dbshard%03d/A", n+1), "--to", free[n])
		}()
	}
	for range 3 {
		if p := <-ended; p.Code != 0 {
			t.Errorf("exit %d\n%s", p.Code, p.Stderr)
		}
	}
	f.CheckWhole()
	ids := map[uint32]bool{}
	for _, id := range f.ServerIDs() {
		if ids[id] {
			t.Errorf("server id %d is given to two servers", id)
		}
		ids[id] = true
	}
}
