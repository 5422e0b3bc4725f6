package demo

import (
	"fmt"
	"path/filepath"

	"stowage/farm"
	"stowage/host"
)

// DefaultPort is the port of every server unless Options name another: hosts are
// addresses of their own.
const DefaultPort = 23306

// Ports that a demo may use: below 1024 only root may listen, and from 32768 on
// Linux takes the source ports of outgoing connections, which would be in the way.
const lowestPort, highestPort = 1024, 32767

// hostsPerBlock addresses share their third number.
const hostsPerBlock = 250

// The two shapes of host. Capacities are the story's; what binds in the demo
// is the number of instances.
const (
	oldType   farm.HostTypeName = "platter-22"
	denseType farm.HostTypeName = "r630-ssd"
)

// lay draws the farm: each instance on an old host of its own, the dense
// hosts empty.
func lay(o Options, block int) *farm.Farm {
	f := &farm.Farm{
		Name: "demo", Accounts: "accounts.cnf",
		HostTypes: []farm.HostType{
			{Name: oldType, Watts: 200, Price: 4000, Capacity: farm.Resources{
				farm.CPU: 16, farm.Memory: 96 << 30, farm.Disk: 2.2e12, farm.IOPS: 1800, farm.Network: 1e9}},
			{Name: denseType, Watts: 267, Price: 16000, MaxInstances: (o.Instances() + o.Hosts - 1) / o.Hosts, Capacity: farm.Resources{
				farm.CPU: 32, farm.Memory: 512 << 30, farm.Disk: 14e12, farm.IOPS: 70000, farm.Network: 1e10}},
		},
	}
	sides := o.sides()
	for n := range o.Instances() {
		f.Hosts = append(f.Hosts, newHost(fmt.Sprintf("db%03d", n+1), oldType, block, n, n%2))
	}
	// Dense hosts get addresses well apart from the old ones.
	denseBlock := block + 1 + 2*o.Pairs/hostsPerBlock
	for n := range o.Hosts {
		f.Hosts = append(f.Hosts, newHost(fmt.Sprintf("ssd%02d", n+1), denseType, denseBlock, n, n%2))
	}
	for n := range o.Pairs {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("dbshard%03d", n+1)), Topology: o.topology(), Sides: map[farm.SideName]farm.Side{}}
		for i, side := range sides {
			h := f.Hosts[len(sides)*n+i]
			p.Sides[side] = sideOn(h, o.port(), p.Instance(side))
		}
		for s := range o.Shards {
			p.Shards = append(p.Shards, farm.Shard{Name: farm.ShardName(fmt.Sprintf("etsy_shard_%04d", n*o.Shards+s+1)),
				Needs: farm.Resources{farm.Disk: 1 << 20, farm.Memory: 2 << 20}})
		}
		f.Pairs = append(f.Pairs, p)
	}
	f.NextServerID = firstServerID + uint32(o.Instances())
	return f
}

const firstServerID = 1001

func newHost(name string, t farm.HostTypeName, block, n, rack int) farm.Host {
	return farm.Host{
		Name: farm.HostName(name), Type: t,
		Address: fmt.Sprintf("127.0.%d.%d", block+n/hostsPerBlock, n%hostsPerBlock+1),
		Dir:     filepath.Join("hosts", name),
		Labels:  map[string]string{"rack": fmt.Sprintf("r%d", rack+1)},
	}
}

func sideOn(h farm.Host, port int, i farm.InstanceName) farm.Side {
	dir := filepath.Join(h.Dir, string(i))
	return farm.Side{Host: h.Name, Port: port, Datadir: filepath.Join(dir, "data"), Config: filepath.Join(dir, "my.cnf")}
}

// instance is one side as package host knows it.
func instance(dir string, f *farm.Farm, name farm.InstanceName, s farm.Side) host.Instance {
	h, _ := f.Host(s.Host)
	in := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	return host.Instance{Name: name, Address: h.Address, Port: s.Port, Datadir: in(s.Datadir), Config: in(s.Config)}
}
