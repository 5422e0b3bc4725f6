package workspace

import (
	"maps"
	"slices"

	"stowage/farm"
)

// sameFarm reports whether two farms say the same. A map or list that is
// missing is one that is empty.
func sameFarm(a, b *farm.Farm) bool {
	return a.Name == b.Name && a.NextServerID == b.NextServerID && a.Accounts == b.Accounts && sameRouting(a.Routing, b.Routing) && a.Agents.Same(b.Agents) && a.Due == b.Due && a.Backup == b.Backup &&
		slices.EqualFunc(a.HostTypes, b.HostTypes, sameHostType) &&
		slices.Equal(a.Profiles, b.Profiles) &&
		slices.EqualFunc(a.Hosts, b.Hosts, sameHost) &&
		slices.EqualFunc(a.Pairs, b.Pairs, samePair)
}

func sameHostType(a, b farm.HostType) bool {
	return a.Name == b.Name && a.MaxInstances == b.MaxInstances && a.Watts == b.Watts && a.Price == b.Price &&
		maps.Equal(a.Capacity, b.Capacity) && slices.Equal(a.Options, b.Options)
}

func sameHost(a, b farm.Host) bool {
	return a.Name == b.Name && a.Type == b.Type && a.Address == b.Address && a.Dir == b.Dir &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Reserved, b.Reserved)
}

func samePair(a, b farm.Pair) bool {
	return a.Name == b.Name && a.Topology == b.Topology && maps.Equal(a.Sides, b.Sides) &&
		slices.EqualFunc(a.Shards, b.Shards, sameShard)
}

func sameShard(a, b farm.Shard) bool {
	return a.Name == b.Name && a.Growth == b.Growth && a.Profile == b.Profile && a.Customer == b.Customer &&
		maps.Equal(a.Needs, b.Needs)
}
