package foreign

import (
	"testing"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// Servers that share option files and were started by others are taken out, restarted by their owner, and rolled, as sides of active-active pairs and as primaries and
// replicas; nobody's file, owner, mode or link has changed.
func TestForeignServersAreRolled(t *testing.T) {
	for _, topology := range []farm.Topology{farm.ActiveActive, farm.PrimaryReplica} {
		t.Run(string(topology), func(t *testing.T) {
			t.Parallel() // it mostly waits
			f := farmtest.RaiseForeign(t, demo.Options{Topology: topology, Pairs: 2, Shards: 1, Hosts: 2, Rows: 50}, 40,
				farmtest.Machine{Name: "m1", Way: farmtest.ByMulti, Instances: []farm.InstanceName{"dbshard001a", "dbshard002a"}},
				farmtest.Machine{Name: "m2", Way: farmtest.BySuffix, Instances: []farm.InstanceName{"dbshard001b"}},
				farmtest.Machine{Name: "m3", Way: farmtest.AsDebian, Instances: []farm.InstanceName{"dbshard002b"}})
			if err := f.StartClients(); err != nil {
				t.Fatal(err)
			}
			for _, side := range []string{"A", "B"} {
				f.Must("side", "out", "dbshard001/"+side)
				f.RestartAsOwner(farm.Pair{Name: "dbshard001"}.Instance(farm.SideName(side)))
				f.Must("side", "in", "dbshard001/"+side)
				f.CheckFiles()
			}
			f.Must("roll", "--hosts", "*", "--restart", "--name", "all")
			f.Must("roll", "all")
			f.CheckFiles()
			f.CheckLedger()
			if topology == farm.PrimaryReplica {
				f.Onto, f.Wanted = "", "anywhere"
				f.CheckOneServes()
			}
		})
	}
}
