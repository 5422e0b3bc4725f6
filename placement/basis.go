package placement

import (
	"strconv"

	"stowage/farm"
)

// Basis is the farm a plan was made for, as far as the plan depends on it.
// What shards need is not in it: see farm.Diff.
type Basis struct {
	NextServerID uint32          `json:"next_server_id"`
	HostTypes    []BasisHostType `json:"host_types"`
	Hosts        []BasisHost     `json:"hosts"`
	Pairs        []BasisPair     `json:"pairs"`
}

// BasisHostType is a farm.HostType.
type BasisHostType struct {
	Name         farm.HostTypeName `json:"name"`
	Capacity     farm.Resources    `json:"capacity"`
	MaxInstances int               `json:"max_instances"`
}

// BasisHost is a farm.Host.
type BasisHost struct {
	Name    farm.HostName     `json:"name"`
	Type    farm.HostTypeName `json:"type"`
	Address string            `json:"address"`
	Dir     string            `json:"dir,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`

	Reserved farm.Resources `json:"reserved,omitempty"`
}

// BasisPair is a farm.Pair without what its shards need.
type BasisPair struct {
	Name     farm.PairName               `json:"name"`
	Topology farm.Topology               `json:"topology"`
	Sides    map[farm.SideName]BasisSide `json:"sides"`
	Shards   []farm.ShardName            `json:"shards"`
}

// BasisSide is a farm.Side.
type BasisSide struct {
	Host    farm.HostName `json:"host"`
	Port    int           `json:"port"`
	Datadir string        `json:"datadir"`
	Config  string        `json:"config,omitempty"`

	GroupSuffix string `json:"group_suffix,omitempty"`
}

func basisOf(f *farm.Farm) Basis {
	b := Basis{NextServerID: f.NextServerID}
	for _, t := range f.HostTypes {
		b.HostTypes = append(b.HostTypes, BasisHostType{t.Name, t.Capacity, t.MaxInstances})
	}
	for _, h := range f.Hosts {
		b.Hosts = append(b.Hosts, BasisHost(h))
	}
	for _, p := range f.Pairs {
		bp := BasisPair{Name: p.Name, Topology: p.Topology, Sides: map[farm.SideName]BasisSide{}}
		for n, s := range p.Sides {
			bp.Sides[n] = BasisSide(s)
		}
		for _, s := range p.Shards {
			bp.Shards = append(bp.Shards, s.Name)
		}
		b.Pairs = append(b.Pairs, bp)
	}
	return b
}

// Farm is the basis as a farm whose shards need nothing.
func (b Basis) Farm() *farm.Farm {
	f := &farm.Farm{NextServerID: b.NextServerID}
	for _, t := range b.HostTypes {
		f.HostTypes = append(f.HostTypes, farm.HostType{Name: t.Name, Capacity: t.Capacity, MaxInstances: t.MaxInstances})
	}
	for _, h := range b.Hosts {
		f.Hosts = append(f.Hosts, farm.Host(h))
	}
	for _, bp := range b.Pairs {
		p := farm.Pair{Name: bp.Name, Topology: bp.Topology, Sides: map[farm.SideName]farm.Side{}}
		for n, s := range bp.Sides {
			p.Sides[n] = farm.Side(s)
		}
		for _, s := range bp.Shards {
			p.Shards = append(p.Shards, farm.Shard{Name: s})
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f
}

// Drift is what changed between the farm a plan was made for and the farm as
// it is now. An empty result means that the plan can be executed as reviewed.
//
// done says which sides this very plan has already moved: they are compared
// with the plan's target. A nil done means that the plan was never started;
// then even its server ids must still be unused, because another plan made
// from the same farm may have given them away.
func Drift(p Plan, now *farm.Farm, done func(farm.PairName, farm.SideName) bool) []farm.Difference {
	expected := p.Basis.Farm()
	if done != nil {
		partial := p
		partial.Moves = nil
		for _, m := range p.Moves {
			if done(m.Pair, m.Side) {
				partial.Moves = append(partial.Moves, m)
			}
		}
		expected = partial.Apply(expected)
	}
	ds := farm.Diff(expected, planned(now, p.Goals))
	id := now.NextServerID
	if id == p.Basis.NextServerID || done != nil && id == p.NextServerID {
		return ds
	}
	return append(ds, farm.Difference{
		Subject: "farm", Field: "next_server_id",
		Was: strconv.FormatUint(uint64(p.Basis.NextServerID), 10), Is: strconv.FormatUint(uint64(id), 10),
	})
}
