package graph

import (
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/inventory/claims"
)

// Effect is what follows if a source is wrong.
type Effect struct {
	FormatVersion int      `json:"format_version"`
	Source        string   `json:"source"`
	Reached       []Reach  `json:"reached"` // who is wrong, too, the nearest first
	Perhaps       []string `json:"perhaps"` // linked to it by an edge without direction
	Decides       []string `json:"decides"` // attributes of which it is the declared authority
	Rests         []Rest   `json:"rests"`   // what it claims, the most alone first
}

// Reach is somebody downstream.
type Reach struct {
	Name string   `json:"name"`
	Path []string `json:"path"` // from the source to Name, both included
	How  How      `json:"how"`  // of the last step
}

// Rest is one attribute that the source claims.
type Rest struct {
	claims.Tally
	// Consequence is what a wrong value leads to.
	Consequence string `json:"consequence,omitempty"`
}

// consequences of wrong values, by attribute. They say what verbs and clients do with it.
var consequences = map[string]string{
	"host.address": "connections and agents reach another machine, or none", "host.memory": "plans put too much on the host, or waste it",
	"host.cores": "plans put too much on the host, or waste it", "host.disk": "plans fill the disk, or waste it", "host.iops": "plans ask more of the disk than it gives",
	"host.type": "plans take the host for another machine", "instance.host": "acts and clients go to another machine", "instance.port": "acts and clients reach another server on the same machine",
	"instance.pair": "an act swings a server of another pair", "instance.server_id": "a new server gets an id that is taken, and skips events",
	"instance.domain": "two writers share a GTID domain", "instance.replicates_from": "a replica is pointed at the wrong source", "instance.role": "writes go to a replica",
	"instance.datadir": "an act works on another directory", "instance.backup": "servers count as backed up that are not", "pair.backup": "pairs count as backed up that are not",
	"pair.topology": "an act takes a replica for a writer", "pair.primary": "writes go to a replica", "shard.pair": "clients ask the wrong pair for the shard", "shard.disk": "plans fill a disk, or waste it",
	"instance.alive": "a dead server counts as serving",
}

// If says what follows if a source is wrong.
func (g Graph) If(source string) (Effect, error) {
	at := slices.IndexFunc(g.Nodes, func(n Node) bool { return strings.EqualFold(n.Name, source) && !n.IsUse })
	if at < 0 {
		var known []string
		for _, n := range g.Nodes {
			if !n.IsUse {
				known = append(known, n.Name)
			}
		}
		return Effect{}, &farm.Error{Op: "find source", Subject: source, Err: fmt.Errorf("%w: there is no such source", farm.ErrInput), Hint: "known are " + farm.Some(known)}
	}
	n := g.Nodes[at]
	e := Effect{FormatVersion: FormatVersion, Source: n.Name, Reached: []Reach{}, Perhaps: []string{}, Decides: append([]string{}, n.Decides...), Rests: []Rest{}}
	paths, queue := map[string][]string{n.Name: {n.Name}}, []string{n.Name}
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		for _, x := range g.Edges {
			if x.From != from || !x.HasDirection || paths[x.To] != nil {
				continue
			}
			paths[x.To] = append(slices.Clone(paths[from]), x.To)
			e.Reached = append(e.Reached, Reach{x.To, paths[x.To], x.How})
			queue = append(queue, x.To)
		}
	}
	for _, x := range g.Edges {
		if other := map[string]string{x.From: x.To, x.To: x.From}[n.Name]; other != "" && !x.HasDirection && paths[other] == nil {
			e.Perhaps = append(e.Perhaps, other)
		}
	}
	for _, t := range g.Tallies {
		if t.Source == n.Name {
			e.Rests = append(e.Rests, Rest{t, consequences[t.Attribute]})
		}
	}
	slices.SortStableFunc(e.Rests, func(a, b Rest) int { return b.Alone - a.Alone })
	return e, nil
}
