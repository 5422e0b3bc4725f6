// Package follow reads the changes of shards that move, killed again and again.
package follow

import (
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// Both sides of the pair go to other hosts: the servers at the end have nothing
// in common with those at the beginning.
func TestFollowedThroughAMoveOfThePair(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	g := f.Follow(farmtest.MovedShard)
	g.Soon()
	f.Must("move", "first")
	g.Soon()
	g.Do("FLUSH BINARY LOGS")
	g.Soon()
	g.End()
}

// The shard goes to another pair, whose GTIDs are others, comes home, and goes again.
func TestFollowedThroughMovesOfTheShard(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, topology := range []farm.Topology{farm.ActiveActive, farm.PrimaryReplica} {
		t.Run(string(topology), func(t *testing.T) {
			t.Parallel()
			f := farmtest.StartShardFarmOf(t, topology)
			g := f.Follow(farmtest.MovedShard)
			g.Soon()
			for _, to := range []farm.PairName{farmtest.AwayOne, farmtest.HomePair, farmtest.AwayOne} {
				f.Must("move", "shard", farmtest.Goes, "--to", string(to))
				f.ShardIsAt(farmtest.MovedShard, to)
			}
			g.Soon()
			g.End()
		})
	}
}

// A move of the shard that is taken back while its way back is open: what was
// written at the other pair meanwhile is read there, and once.
func TestFollowedThroughAMoveThatIsTakenBack(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartShardFarm(t)
	g := f.Follow(farmtest.MovedShard)
	g.Soon()
	b := f.Start("move", "shard", farmtest.Goes, "--to", farmtest.Away, "--approve-before", "settle")
	f.Await(b, "it waits for its approval", func() bool { return len(f.Status().Waiting) == 1 })
	g.Soon()
	b.Kill()
	f.Must("undo")
	f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
	g.Soon()
	g.End()
}
