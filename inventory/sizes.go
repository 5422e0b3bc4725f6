package inventory

import (
	"slices"

	"stowage/capacity"
	"stowage/farm"
)

// Sizes are the bytes of data on hosts, in pairs and in shards over time, as inventories found them: a pair and a shard by the
// larger of their sides. An inventory in which a server did not answer says nothing of that server's host and pair, for a sum
// without it would look like a purge. What the farm does not have any more is left out, and so are hosts without instances: their
// last sizes are of what was moved away.
func Sizes(f *farm.Farm, taken []Inventory) []capacity.Series {
	type subject struct {
		kind capacity.Kind
		name string
	}
	inUse := f.HostsInUse()
	at := map[subject]int{}
	var all []capacity.Series
	add := func(kind capacity.Kind, name string, inv Inventory, bytes int64) {
		s := subject{kind, name}
		i, ok := at[s]
		if !ok {
			i = len(all)
			at[s] = i
			all = append(all, capacity.Series{Kind: kind, Name: name, Resource: farm.Disk, Source: "inventory"})
		}
		all[i].Samples = append(all[i].Samples, capacity.Sample{At: inv.Taken, Value: float64(bytes)})
	}
	for _, inv := range taken {
		hosts, pairs, silent := map[farm.HostName]int64{}, map[farm.PairName]int64{}, map[any]bool{}
		for _, i := range inv.Instances {
			if i.Error != "" {
				silent[i.Host], silent[i.Pair] = true, true
			}
			hosts[i.Host] += i.Bytes()
			pairs[i.Pair] = max(pairs[i.Pair], i.Bytes())
		}
		shards := inv.ShardBytes()
		for _, h := range inUse {
			if n, ok := hosts[h]; ok && !silent[h] {
				add(capacity.OfHost, string(h), inv, n)
			}
		}
		for _, p := range f.Pairs {
			n, ok := pairs[p.Name]
			if !ok || silent[p.Name] {
				continue
			}
			add(capacity.OfPair, string(p.Name), inv, n)
			for _, s := range p.Shards {
				if n, ok := shards[s.Name]; ok {
					add(capacity.OfShard, string(s.Name), inv, n)
				}
			}
		}
	}
	return slices.Clip(all)
}
