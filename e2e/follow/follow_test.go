// Package follow reads the changes of a shard under load, killed again and
// again, while logs rotate and a side is away.
package follow

import (
	"testing"

	"stowage/e2e/farmtest"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

// What the lines make of the rows that were there is what is there at the end.
func TestFollowedWhileASideIsAway(t *testing.T) {
	s := farmtest.StartHeldSide(t)
	g := s.F.Follow(farmtest.MovedShard)
	g.Soon()
	g.Do("FLUSH BINARY LOGS")
	g.Soon()
	s.Run(farmtest.ExitFine, "stowage side in "+s.Name, "side", "out", s.Name)
	g.Soon()
	s.Restart()
	g.Soon()
	s.Run(farmtest.ExitFine, "1 of 1 side done in ", "side", "in", s.Name)
	g.Soon()
	g.End()
}
