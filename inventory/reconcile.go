package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"

	"stowage/farm"
)

// reconcile compares what servers say with each other and against farm.yaml.
func reconcile(f *farm.Farm, instances []Instance) []farm.Finding {
	out := []farm.Finding{} // never null: a program may ask for its length
	out = append(out, unreachable(instances)...)
	out = append(out, sharedIDs(instances)...)
	out = append(out, sharedDomains(f, instances)...)
	out = append(out, spentIDs(f, instances)...)
	out = append(out, strayOptions(f, instances)...)
	for _, p := range f.Pairs {
		out = append(out, reconcilePair(f, p, instances)...)
	}
	return out
}

func unreachable(instances []Instance) []farm.Finding {
	var out []farm.Finding
	for _, i := range instances {
		if i.Error != "" {
			out = append(out, farm.Finding{Check: "reachable", Severity: farm.Blocker, Subject: string(i.Name), Text: i.Error,
				Remedy: cmp.Or(i.remedy, "start it, or correct farm.yaml")})
		}
	}
	return out
}

// sharedIDs: a server skips events that carry its own id. That matters where events
// get to: within a pair, and along replication. Many farms have ids 1 and 2 in each
// pair, which harms nobody.
func sharedIDs(instances []Instance) []farm.Finding {
	source := map[string]string{} // addresses
	for _, i := range instances {
		source[i.Address] = i.Source
	}
	var out []farm.Finding
	owners := map[uint32][]Instance{}
	for _, i := range instances {
		if i.Error != "" {
			continue
		}
		at := slices.IndexFunc(owners[i.ServerID], func(o Instance) bool {
			return o.Pair == i.Pair || gets(source, i.Address, o.Address) || gets(source, o.Address, i.Address)
		})
		if at < 0 {
			owners[i.ServerID] = append(owners[i.ServerID], i)
			continue
		}
		out = append(out, farm.Finding{Check: "server-id-unique", Severity: farm.Blocker, Subject: string(i.Name),
			Text:   fmt.Sprintf("has server_id %d, as %s has", i.ServerID, owners[i.ServerID][at].Name),
			Remedy: "give one another id and restart it; a replica skips events that carry its own id"})
	}
	return append(out, unrelatedIDs(owners)...)
}

// gets reports whether events of one address come to another, directly or through others.
func gets(source map[string]string, address, from string) bool {
	for range source { // a ring has no end
		if address = source[address]; address == from || address == "" {
			break
		}
	}
	return address == from && address != ""
}

// unrelatedIDs notes ids of several pairs, one finding for each id.
func unrelatedIDs(owners map[uint32][]Instance) []farm.Finding {
	var out []farm.Finding
	for _, id := range slices.Sorted(maps.Keys(owners)) {
		var names []string
		for _, i := range owners[id] {
			names = append(names, string(i.Name))
		}
		if len(names) > 1 {
			out = append(out, farm.Finding{Check: "server-id-shared", Severity: farm.Note, Subject: names[0],
				Text:   fmt.Sprintf("has server_id %d, as %s", id, farm.Some(names[1:])),
				Remedy: "nothing to do; a shard between two such pairs is moved by the copier, not by replication, where a server would skip events with its own id"})
		}
	}
	return out
}

// sharedDomains looks at who may write at the same time, and has each other's
// transactions: the two sides of a pair in which both write. MySQL's GTIDs have
// no domains.
func sharedDomains(f *farm.Farm, instances []Instance) []farm.Finding {
	var out []farm.Finding
	pairs := map[uint32][]string{} // in the order of farm.yaml
	for _, p := range f.Pairs {
		writes := map[uint32]farm.InstanceName{}
		for _, i := range instances {
			if i.Pair != p.Name || i.Error != "" || !i.facts.Flavor.HasGTIDDomains() {
				continue
			}
			if first, taken := writes[i.Domain]; taken && !p.Topology.HasOneWriter() {
				out = append(out, OneDomain(p.Name, string(i.Name), string(first), i.Domain))
			} else if !taken {
				pairs[i.Domain] = append(pairs[i.Domain], string(p.Name))
			}
			writes[i.Domain] = i.Name
		}
	}
	return append(out, unrelatedDomains(pairs)...)
}

// OneDomain is the finding that both sides of a pair write one GTID domain:
// one rule for the inventory and for what is asked before a move.
func OneDomain(pair farm.PairName, side, other string, domain uint32) farm.Finding {
	return farm.Finding{Check: "gtid-domain-unique", Severity: farm.Blocker, Subject: side,
		Text:   fmt.Sprintf("has GTID domain %d, as %s has: two that write one domain cannot be distinguished", domain, other),
		Remedy: "give each side its own, live: stowage domains separate " + string(pair)}
}

// unrelatedDomains notes pairs that share a domain. Neither has the other's
// transactions, so that harms nobody, but for a shard that replication is to
// carry from one into the other.
func unrelatedDomains(pairs map[uint32][]string) []farm.Finding {
	var out []farm.Finding
	for _, domain := range slices.Sorted(maps.Keys(pairs)) {
		if names := pairs[domain]; len(names) > 1 {
			out = append(out, farm.Finding{Check: "gtid-domain-shared", Severity: farm.Note, Subject: names[0],
				Text:   fmt.Sprintf("writes GTID domain %d, as %s", domain, farm.Some(names[1:])),
				Remedy: "nothing to do; only a shard that is moved by replication from one to the other needs different ones: stowage domains separate"})
		}
	}
	return out
}

// spentIDs warns when farm.yaml would give out a server id that was used.
func spentIDs(f *farm.Farm, instances []Instance) []farm.Finding {
	high := Inventory{Instances: instances}.HighestServerID()
	if f.NextServerID > high {
		return nil
	}
	return []farm.Finding{{Check: "server-id-spent", Severity: farm.Blocker, Subject: "farm.yaml",
		Text:   fmt.Sprintf("next_server_id is %d, and servers know ids up to %d", f.NextServerID, high),
		Remedy: fmt.Sprintf("set next_server_id: %d (stowage inventory accept does)", high+1)}}
}

func reconcilePair(f *farm.Farm, p farm.Pair, instances []Instance) []farm.Finding {
	var out []farm.Finding
	say := func(check string, sev farm.Severity, subject farm.InstanceName, text, remedy string) {
		out = append(out, farm.Finding{Check: check, Severity: sev, Subject: string(subject), Text: text, Remedy: remedy})
	}
	agreed := map[farm.ShardName]bool{}
	for _, s := range p.Shards {
		agreed[s.Name] = true
	}
	for _, i := range instances {
		if i.Pair != p.Name || i.Error != "" {
			continue
		}
		if primary := f.Address(p.Sides[farm.A]); p.Topology == farm.PrimaryReplica && i.Side != farm.A && i.Source != primary {
			say("primary", farm.Blocker, i.Name, fmt.Sprintf("replicates from %q, its primary is at %s", i.Source, primary), "point it there, or correct farm.yaml")
		}
		if p.Topology.HasOneWriter() && i.Side == farm.A && i.Source != "" {
			say("primary", farm.Blocker, i.Name, fmt.Sprintf("takes the writes and replicates from %q", i.Source), "RESET SLAVE ALL there, or correct farm.yaml (is it active-active, or are the sides the other way round?)")
		}
		if twin := f.Address(p.Sides[i.Side.Twin()]); p.Topology == farm.ActiveActive && i.Source != twin {
			say("ring", farm.Blocker, i.Name, fmt.Sprintf("replicates from %q, its twin is at %s", i.Source, twin), "repair the ring, or correct farm.yaml")
		}
		if err := i.facts.Replication.Ailing(); err != nil && i.Source != "" {
			say("replication", farm.Blocker, i.Name, err.Error(), "repair replication")
		} else if why := i.facts.Replication.Unconnected(); why != "" && i.Source != "" {
			say("replication", farm.Warning, i.Name, "has no connection to its source: "+why, "it tries again by itself; stop replication there and start it, and it tries at once")
		}
		for _, name := range sortedShards(i.Shards) {
			if !agreed[name] {
				say("shards", farm.Warning, i.Name, fmt.Sprintf("has a database %s that farm.yaml does not know", name), remedyOfUnknown(name))
			}
		}
		for _, s := range p.Shards {
			if _, there := i.Shards[s.Name]; !there {
				say("shards", farm.Blocker, i.Name, fmt.Sprintf("lacks shard %s of farm.yaml", s.Name), "correct farm.yaml, or find the shard")
			}
		}
	}
	return out
}

// remedyOfUnknown is what to do about a database that farm.yaml does not name. Not each of them can be named there.
func remedyOfUnknown(name farm.ShardName) string {
	if !farm.IsName(string(name)) {
		return "rename it, or leave it: farm.yaml takes " + farm.NamesAre + "; it goes along when its server is moved"
	}
	return "add it to the pair's shards, or drop it"
}

func sortedShards(m map[farm.ShardName]int64) []farm.ShardName {
	out := make([]farm.ShardName, 0, len(m))
	for n := range m {
		out = append(out, n)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}
