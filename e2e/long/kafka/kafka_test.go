package kafka

import (
	"testing"
	"time"

	"stowage/demo"
	"stowage/e2e/farmtest"
)

// Two followers write the changes of one shard, into a topic of one partition and one of four. Both are killed again and again, and the
// broker is killed twice: while they go on, and while they are killed, too. What a consumer makes of each topic is what the shard holds.
func TestFollowedIntoARealBroker(t *testing.T) {
	b := startBroker(t)
	f := farmtest.Raise(t, demo.Options{Pairs: 1, Shards: 2, Hosts: 2, Rows: 50}, 60, nil)
	whole := f.FollowInto(farmtest.MovedShard, b.create("whole", 1, nil).lines())
	parts := f.FollowInto(farmtest.MovedShard, b.create("parts", 4, nil).lines())
	both := func() { whole.Soon(); parts.Soon() }
	both()
	time.Sleep(5 * time.Second) // some kills
	whole.Alone(func() {
		parts.Alone(func() {
			both()
			b.kill()
			time.Sleep(3 * time.Second)
			b.start()
			both() // by the same processes
		})
	})
	time.Sleep(5 * time.Second)
	b.kill()
	time.Sleep(2 * time.Second)
	b.start()
	both()
	time.Sleep(5 * time.Second)
	whole.End()
	parts.End()
}
