package discover

import (
	"fmt"
	"strings"

	"stowage/farm"
)

// ownDatabases begin the names of databases that Stowage makes for a while.
const ownDatabases = "_stow"

// shards fills in the databases of all pairs. One that farm.yaml cannot hold
// is left out and named.
func (d *derivation) shards() {
	pairs := map[farm.ShardName][]string{}
	for i := range d.Pairs {
		p := &d.Pairs[i]
		for _, name := range sorted(d.databases(*p)) {
			pairs[name] = append(pairs[name], string(p.Name))
		}
	}
	for i := range d.Pairs {
		p := &d.Pairs[i]
		sizes := d.databases(*p)
		for _, name := range sorted(sizes) {
			why, remedy := d.unfit(*p, name)
			if why != "" {
				d.misses("shards", string(p.Name), fmt.Sprintf("database %s %s", name, why), remedy)
			} else if in := pairs[name]; len(in) > 1 {
				why = "is in several pairs, and the name of a shard is unique in the farm: " + few(in)
				if in[0] == string(p.Name) {
					d.misses("shards", few(in), fmt.Sprintf("database %s is in %d pairs, and the name of a shard is unique in the farm", name, len(in)),
						"drop it where nobody needs it; where it is data, it goes along when its server is moved, but it cannot be planned with, and an inventory goes on naming it")
				}
			}
			if why != "" {
				p.LeftOut = append(p.LeftOut, LeftOut{name, why})
				continue
			}
			p.Shards = append(p.Shards, Shard{name, sizes[name]})
		}
		if len(sizes) == 0 {
			d.note("shards", string(p.Name), "has no databases that account stowage may see", "grant it SELECT, if there are some: docs/reference/privileges.md")
		}
	}
}

// databases are those of any side, with the larger size.
func (d *derivation) databases(p Pair) map[farm.ShardName]int64 {
	out := map[farm.ShardName]int64{}
	for _, side := range p.Sides {
		for name, bytes := range d.Servers[side.server].Shards {
			if !strings.HasPrefix(string(name), ownDatabases) {
				out[name] = max(out[name], bytes)
			}
		}
	}
	return out
}

// unfit says why a database cannot be a shard of this pair, or "".
func (d *derivation) unfit(p Pair, name farm.ShardName) (why, remedy string) {
	if strings.HasPrefix(string(name), "#mysql50#") {
		return "is a directory in the datadir and no database", "ignore_db_dirs in the server's option file, if it is lost+found; else move it out of the datadir"
	}
	if !farm.IsName(string(name)) {
		return "has a name that farm.yaml does not take", "rename it, or leave it out: names are " + farm.NamesAre
	}
	var has, lacks []string
	for _, side := range p.Sides {
		if _, there := d.Servers[side.server].Shards[name]; there {
			has = append(has, side.Address)
		} else {
			lacks = append(lacks, side.Address)
		}
	}
	if len(lacks) > 0 {
		return fmt.Sprintf("is on %s and not on %s", few(has), few(lacks)), "drop it, if nobody needs it, or find out why it is not replicated (SHOW SLAVE STATUS: filters)"
	}
	return "", ""
}
