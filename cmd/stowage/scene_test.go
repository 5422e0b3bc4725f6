package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/move"
	"stowage/placement"
	"stowage/swing"
)

// scene is what a round of faults moves: a runbook, and a farm to try it on.
type scene struct {
	name     string // as RUNBOOK= says it
	book     string
	topology farm.Topology
	side     farm.SideName // which is moved, where one side takes all writes
}

var scenes = []scene{
	{"replace", move.Replace, farm.ActiveActive, ""},
	{"switchover", move.Switchover, farm.PrimaryReplica, farm.A},
	{"replica", move.Replica, farm.PrimaryReplica, farm.B},
	{"single", move.Switchover, farm.Single, farm.A},
	{"shard", move.Shard, farm.ActiveActive, ""},
	{"shard-primary", move.Shard, farm.PrimaryReplica, ""},
}

// sceneNamed is the scene of RUNBOOK=.
func sceneNamed(t *testing.T, name string) scene {
	t.Helper()
	for _, c := range scenes {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("RUNBOOK is %s; there are replace, switchover, replica, single, shard and shard-primary", name)
	return scene{}
}

// points are the borders of its runbook.
func (c scene) points() []string {
	book, _ := move.ByName(c.book)
	return book.Points()
}

// undoPoints are the borders that an undo meets.
func (c scene) undoPoints() []string {
	book, _ := move.ByName(c.book)
	phases := map[string][]string{}
	switch c.book {
	case move.Replace:
		phases["in"], phases["out"] = swing.OutPhases, swing.InPhases
	case move.Switchover:
		phases["cutover"] = swing.CutoverPhases
	case move.Shard:
		phases["cutover"] = []string{"hold", "drain", "lock", "gather", "reach", "rename", "unlock", "flip"}
	}
	var out []string
	for _, s := range slices.Backward(book.Steps) {
		if s.Undo == nil {
			continue
		}
		out = append(out, "before undo "+s.Name)
		for _, p := range phases[s.Name] {
			out = append(out, "before undo "+s.Name+"/"+p, "after undo "+s.Name+"/"+p)
		}
		out = append(out, "after undo "+s.Name)
	}
	return out
}

// roles are those that the scene has servers for.
func (c scene) roles() []role {
	switch {
	case c.topology == farm.Single:
		return []role{target, peer}
	case c.book == move.Shard:
		return []role{twin, target, peer, beyond}
	}
	return []role{twin, target, peer}
}

func (c scene) start(t *testing.T) *liveFarm {
	t.Helper()
	var f *liveFarm
	switch c.book {
	case move.Replace:
		f = startFarm(t)
	case move.Shard:
		f = startShardFarmOf(t, c.topology)
		f.goesAlone = []farm.ShardName{movedShard}
	default:
		f = startOneWriter(t, c.topology)
	}
	f.settlePeople()
	return f
}

// visits are what people do while the scene is played. A SUPER writer on an
// active-active side that is replaced is a line of its own in docs/failures.md:
// no fence stops it there.
func (c scene) visits() []string {
	if c.book == move.Replace {
		return []string{"ddl", "long"}
	}
	return []string{"ddl", "long", "super"}
}

// journey is what one round moves: a command, and who plays which role in it.
type journey struct {
	args  []string
	casts []cast // one for each side, in the order they are moved
}

// cast are the servers that one side's or shard's move meets.
type cast struct {
	pair farm.PairName
	side farm.SideName // "" when it is a shard that moves
	who  map[role]host.Instance
}

// next is another move of the scene: on with what was undone, or back to where
// it came from.
func (f *liveFarm) next(c scene) journey {
	f.t.Helper()
	switch c.book {
	case move.Replace:
		return f.planned(f.anotherPlan())
	case move.Shard:
		return f.shardJourney()
	}
	f.clearUnused()
	return f.instanceJourney(c.side)
}

// planned is the move of a plan of active-active pairs.
func (f *liveFarm) planned(plan string) journey {
	f.t.Helper()
	ws, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	p, err := ws.Plan(plan)
	if err != nil {
		f.t.Fatal(err)
	}
	j := journey{args: []string{"move", plan, "-C", f.dir}}
	for n, m := range p.Moves {
		other := placeOf(fm, m.Pair, m.Side.Twin())
		for k, o := range p.Moves {
			if o.Pair == m.Pair && o.Side != m.Side {
				if other = o.From; k < n {
					other = o.To // by then
				}
			}
		}
		j.casts = append(j.casts, cast{m.Pair, m.Side, map[role]host.Instance{
			peer: f.at(m.Instance, m.From), target: f.at(m.Instance, m.To), twin: f.at(m.Instance, other)}})
	}
	return j
}

// instanceJourney moves one side of a pair with one writer to a host that is
// free.
func (f *liveFarm) instanceJourney(side farm.SideName) journey {
	f.t.Helper()
	args := f.instance(side)
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	p := fm.Pairs[0]
	h, _ := fm.Host(farm.HostName(args[4]))
	from := placeOf(fm, p.Name, side)
	home := filepath.Join(h.Dir, string(p.Instance(side)))
	to := placement.Place{Host: h.Name, Address: h.Address, Port: from.Port, Datadir: home + "/data", Config: home + "/my.cnf"}
	c := cast{p.Name, side, map[role]host.Instance{peer: f.at(p.Instance(side), from), target: f.at(p.Instance(side), to)}}
	if _, has := p.Sides[side.Twin()]; has {
		c.who[twin] = f.at(p.Instance(side.Twin()), placeOf(fm, p.Name, side.Twin()))
	}
	return journey{args: args, casts: []cast{c}}
}

// shardJourney moves a shard to the pair that it is not in. The two servers of
// each pair are twin and peer where it comes from, target and beyond where it
// goes.
func (f *liveFarm) shardJourney() journey {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	from, to := homePair, awayOne
	if p, _ := fm.Pair(awayOne); slices.ContainsFunc(p.Shards, func(s farm.Shard) bool { return s.Name == movedShard }) {
		from, to = awayOne, homePair
	}
	c := cast{pair: from, who: map[role]host.Instance{}}
	for r, at := range map[role]struct {
		pair farm.PairName
		side farm.SideName
	}{twin: {from, farm.A}, peer: {from, farm.B}, target: {to, farm.A}, beyond: {to, farm.B}} {
		c.who[r] = f.at(farm.Pair{Name: at.pair}.Instance(at.side), placeOf(fm, at.pair, at.side))
	}
	return journey{args: []string{"move", "shard", goes, "--to", string(to), "-C", f.dir}, casts: []cast{c}}
}

// placeOf is where farm.yaml has a side.
func placeOf(fm *farm.Farm, pair farm.PairName, side farm.SideName) placement.Place {
	p, _ := fm.Pair(pair)
	x := p.Sides[side]
	h, _ := fm.Host(x.Host)
	return placement.Place{Host: x.Host, Address: h.Address, Port: x.Port, Datadir: x.Datadir, Config: x.Config}
}

func (f *liveFarm) at(name farm.InstanceName, p placement.Place) host.Instance {
	return host.Instance{Name: name, Address: p.Address, Port: p.Port, Datadir: f.path(p.Datadir), Config: f.path(p.Config)}
}

// clearUnused removes what servers that have left have left behind: they are
// retired, and perhaps started again by whoever looks after servers.
func (f *liveFarm) clearUnused() {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	local, err := host.NewLocal(quietLog())
	if err != nil {
		f.t.Fatal(err)
	}
	used := fm.HostsInUse()
	for _, h := range fm.Hosts {
		if slices.Contains(used, h.Name) {
			continue
		}
		configs, _ := filepath.Glob(filepath.Join(f.dir, h.Dir, "*", "my.cnf"))
		for _, c := range configs {
			_ = local.Kill(f.t.Context(), host.Instance{Name: "retired", Config: c}, 10*time.Second)
		}
		os.RemoveAll(filepath.Join(f.dir, h.Dir))
	}
}

// isRetired reports that an instance had its place at the beginning and that
// farm.yaml has another there now.
func (s *striker) isRetired(i host.Instance) bool {
	_, fm, _, err := demoAccess(s.f.dir)
	if err != nil {
		return false
	}
	for _, c := range s.casts {
		if c.side != "" && c.who[peer].Address == i.Address && fmt.Sprint(placeOf(fm, c.pair, c.side).Address) != i.Address {
			return true
		}
	}
	return false
}
