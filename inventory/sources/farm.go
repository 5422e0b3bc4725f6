package sources

import (
	"fmt"
	"strconv"

	"stowage/farm"
	"stowage/inventory/claims"
)

// ofFarm makes claims of farm.yaml. line is where a path of it stands.
func (r *reader) ofFarm(f *farm.Farm, line func(path string) int) {
	at := func(path string) claims.Place { return claims.Place{Where: "farm.yaml", Line: line(path)} }
	for i, h := range f.Hosts {
		s, place := claims.Subject{Kind: claims.Host, Name: string(h.Name)}, at(fmt.Sprintf("hosts[%d]", i))
		r.say(s, "address", h.Address, place)
		r.say(s, "type", string(h.Type), place)
		t, _ := f.HostType(h.Type)
		for _, x := range []struct {
			attribute string
			resource  farm.ResourceName
		}{{"cores", farm.CPU}, {"memory", farm.Memory}, {"disk", farm.Disk}, {"iops", farm.IOPS}} {
			if v, ok := t.Capacity[x.resource]; ok {
				r.say(s, x.attribute, strconv.FormatFloat(v, 'f', -1, 64), place)
			}
		}
		for _, label := range sortedKeys(h.Labels) {
			r.say(s, "label_"+label, h.Labels[label], place)
		}
	}
	for i, p := range f.Pairs {
		path := fmt.Sprintf("pairs[%d]", i)
		pair := claims.Subject{Kind: claims.Pair, Name: string(p.Name)}
		r.say(pair, "topology", string(p.Topology), at(path))
		if p.Topology.HasOneWriter() {
			r.say(pair, "primary", string(p.Instance(farm.A)), at(path))
		}
		for _, name := range p.SideNames() {
			side := p.Sides[name]
			s, place := claims.Subject{Kind: claims.Instance, Name: string(p.Instance(name))}, at(path+".sides."+string(name))
			r.say(s, "host", string(side.Host), place)
			r.say(s, "port", strconv.Itoa(side.Port), place)
			r.say(s, "pair", string(p.Name), place)
			if side.Datadir != "" && side.Datadir[0] == '/' {
				r.say(s, "datadir", side.Datadir, place)
			}
			if p.Topology == farm.ActiveActive {
				r.say(s, "replicates_from", string(p.Instance(name.Twin())), place)
			} else if name != farm.A {
				r.say(s, "replicates_from", string(p.Instance(farm.A)), place)
			}
		}
		for j, shard := range p.Shards {
			s, place := claims.Subject{Kind: claims.Shard, Name: string(shard.Name)}, at(fmt.Sprintf("%s.shards[%d]", path, j))
			r.say(s, "pair", string(p.Name), place)
			if v, ok := shard.Needs[farm.Disk]; ok {
				r.say(s, "disk", farm.FormatQuantity(v, farm.KindBytes), place)
			}
		}
	}
}
