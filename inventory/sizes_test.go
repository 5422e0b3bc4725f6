package inventory

import (
	"testing"
	"time"

	"stowage/capacity"
	"stowage/farm"
)

// TestAnEmptiedHostHasNoSizes: what moved away from a host says nothing of its disk.
func TestAnEmptiedHostHasNoSizes(t *testing.T) {
	f := farmOf(3, []farm.ShardName{"s"}, "h:1", "h:2")
	inv := Inventory{Farm: f.Name, Taken: time.Unix(1, 0), Instances: []Instance{{Pair: "dbshard001", Host: "db001"}, {Pair: "dbshard001", Host: "db002"}}}
	hosts := func() (names string) {
		for _, s := range Sizes(f, []Inventory{inv}) {
			if s.Kind == capacity.OfHost {
				names += s.Name + " "
			}
		}
		return names
	}
	if got := hosts(); got != "db001 db002 " {
		t.Errorf("sizes of %s", got)
	}
	side := f.Pairs[0].Sides[farm.A]
	f.Hosts = append(f.Hosts, farm.Host{Name: "db003", Type: "platter", Address: "h:3"})
	side.Host = "db003"
	f.Pairs[0].Sides[farm.A] = side
	if got := hosts(); got != "db002 " {
		t.Errorf("sizes of %s", got)
	}
}
