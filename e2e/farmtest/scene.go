package farmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stowage/act"
	"stowage/alter"
	"stowage/alter/plan"
	"stowage/farm"
	"stowage/host"
	"stowage/move"
	"stowage/placement"
	"stowage/swing"
)

// Scene is what a round of faults moves or alters: a runbook, and a farm to try it on.
type Scene struct {
	Name     string // as RUNBOOK= says it
	Book     string
	topology farm.Topology
	side     farm.SideName // which is moved, where one side takes all writes
	alters   *there        // nil: it moves something
}

var Scenes = []Scene{
	{"replace", move.Replace, farm.ActiveActive, "", nil},
	{"switchover", move.Switchover, farm.PrimaryReplica, farm.A, nil},
	{"replica", move.Replica, farm.PrimaryReplica, farm.B, nil},
	{"single", move.Switchover, farm.Single, farm.A, nil},
	{"shard", move.Shard, farm.ActiveActive, "", nil},
	{"shard-primary", move.Shard, farm.PrimaryReplica, "", nil},
}

// there is a change of tables, and the one that takes it back.
type there struct{ goes, back string }

// Alters are scenes in which tables are changed.
var Alters = []Scene{
	{"alter", string(plan.Held), farm.ActiveActive, "", &there{AddColour, DropColour}},
	{"alter-apart", string(plan.Apart), farm.ActiveActive, "", &there{AddIndex, DropIndex}},
	{"alter-primary", string(plan.Held + plan.OneWriter), farm.PrimaryReplica, "", &there{AddBoth, DropBoth}},
}

// SceneNamed is the scene of RUNBOOK=.
func SceneNamed(t *testing.T, name string) Scene {
	t.Helper()
	for _, c := range slices.Concat(Scenes, Alters) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("RUNBOOK is %s; there are replace, switchover, replica, single, shard, shard-primary, alter, alter-apart and alter-primary", name)
	return Scene{}
}

// Points are the borders of its runbook.
func (c Scene) Points() []string { return c.runbook().Points() }

func (c Scene) runbook() act.Runbook {
	if c.alters != nil {
		book, _ := alter.Kind(nil).Runbook(c.Book)
		return book
	}
	book, _ := move.ByName(c.Book)
	return book
}

// UndoPoints are the borders that an undo meets.
func (c Scene) UndoPoints() []string {
	book := c.runbook()
	phases := map[string][]string{}
	switch c.Book {
	case move.Replace:
		phases["in"], phases["out"] = swing.OutPhases, swing.InPhases
	case move.Switchover:
		phases["cutover"] = swing.CutoverPhases
	case move.Shard:
		phases["cutover"] = []string{"close", "drain", "lock", "gather", "barrier", "rename", "unlock", "flip"}
	}
	if c.alters != nil && c.topology == farm.ActiveActive {
		phases["in"], phases["twin-in"] = swing.OutPhases, swing.OutPhases
		phases["out"], phases["twin-out"] = swing.InPhases[:len(swing.InPhases)-1], swing.InPhases[:len(swing.InPhases)-1]
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

// Roles are those that the scene has servers for.
func (c Scene) Roles() []Role {
	switch {
	case c.alters != nil:
		return []Role{Twin, Peer}
	case c.topology == farm.Single:
		return []Role{Target, Peer}
	case c.Book == move.Shard:
		return []Role{Twin, Target, Peer, beyond}
	}
	return []Role{Twin, Target, Peer}
}

func (c Scene) Start(t *testing.T) *LiveFarm {
	t.Helper()
	var f *LiveFarm
	switch {
	case c.alters != nil:
		f = StartAlteredFarm(t, c.topology, 1).F
	case c.Book == move.Replace:
		f = StartFarm(t)
	case c.Book == move.Shard:
		f = StartShardFarmOf(t, c.topology)
		f.goesAlone = []farm.ShardName{MovedShard}
	default:
		f = StartOneWriter(t, c.topology)
	}
	f.settlePeople()
	return f
}

// Visits are what people do while the scene is played. A SUPER writer on an
// active-active side that is replaced is a line of its own in docs/reference/failures.md:
// no fence stops it there.
func (c Scene) Visits() []string {
	switch {
	case c.alters != nil: // tables that people change meanwhile are refused, and have a test of their own
		return []string{"long"}
	case c.Book == move.Replace:
		return []string{"ddl", "long"}
	}
	return []string{"ddl", "long", "super"}
}

// Journey is what one round moves: a command, and who plays which role in it.
type Journey struct {
	args  []string
	Casts []Cast // one for each side, in the order they are moved
}

// Cast are the servers that one side's or shard's move meets.
type Cast struct {
	Pair farm.PairName
	Side farm.SideName // "" when it is a shard that moves
	Who  map[Role]host.Instance
}

// Next is another move of the scene: on with what was undone, or back to where
// it came from.
func (f *LiveFarm) Next(c Scene) Journey {
	f.T.Helper()
	switch {
	case c.alters != nil:
		return f.alterJourney(*c.alters)
	case c.Book == move.Replace:
		return f.Planned(f.anotherPlan())
	case c.Book == move.Shard:
		return f.shardJourney()
	}
	f.clearUnused()
	return f.instanceJourney(c.side)
}

// Planned is the move of a plan of active-active pairs.
func (f *LiveFarm) Planned(plan string) Journey {
	f.T.Helper()
	ws, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	p, err := ws.Plan(plan)
	if err != nil {
		f.T.Fatal(err)
	}
	j := Journey{args: []string{"move", plan, "-C", f.Dir}}
	for n, m := range p.Moves {
		other := PlaceOf(fm, m.Pair, m.Side.Twin())
		for k, o := range p.Moves {
			if o.Pair == m.Pair && o.Side != m.Side {
				if other = o.From; k < n {
					other = o.To // by then
				}
			}
		}
		j.Casts = append(j.Casts, Cast{m.Pair, m.Side, map[Role]host.Instance{
			Peer: f.At(m.Instance, m.From), Target: f.At(m.Instance, m.To), Twin: f.At(m.Instance, other)}})
	}
	return j
}

// instanceJourney moves one side of a pair with one writer to a host that is
// free.
func (f *LiveFarm) instanceJourney(side farm.SideName) Journey {
	f.T.Helper()
	args := f.Instance(side)
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	p := fm.Pairs[0]
	h, _ := fm.Host(farm.HostName(args[4]))
	from := PlaceOf(fm, p.Name, side)
	home := filepath.Join(h.Dir, string(p.Instance(side)))
	to := placement.Place{Host: h.Name, Address: h.Address, Port: from.Port, Datadir: home + "/data", Config: home + "/my.cnf"}
	c := Cast{p.Name, side, map[Role]host.Instance{Peer: f.At(p.Instance(side), from), Target: f.At(p.Instance(side), to)}}
	if _, has := p.Sides[side.Twin()]; has {
		c.Who[Twin] = f.At(p.Instance(side.Twin()), PlaceOf(fm, p.Name, side.Twin()))
	}
	return Journey{args: args, Casts: []Cast{c}}
}

// shardJourney moves a shard to the pair that it is not in. The two servers of
// each pair are twin and peer where it comes from, target and beyond where it
// goes.
func (f *LiveFarm) shardJourney() Journey {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	from, to := HomePair, AwayOne
	if p, _ := fm.Pair(AwayOne); slices.ContainsFunc(p.Shards, func(s farm.Shard) bool { return s.Name == MovedShard }) {
		from, to = AwayOne, HomePair
	}
	c := Cast{Pair: from, Who: map[Role]host.Instance{}}
	for r, at := range map[Role]struct {
		pair farm.PairName
		side farm.SideName
	}{Twin: {from, farm.A}, Peer: {from, farm.B}, Target: {to, farm.A}, beyond: {to, farm.B}} {
		c.Who[r] = f.At(farm.Pair{Name: at.pair}.Instance(at.side), PlaceOf(fm, at.pair, at.side))
	}
	return Journey{args: []string{"move", "shard", Goes, "--to", string(to), "-C", f.Dir}, Casts: []Cast{c}}
}

// PlaceOf is where farm.yaml has a side.
func PlaceOf(fm *farm.Farm, pair farm.PairName, side farm.SideName) placement.Place {
	p, _ := fm.Pair(pair)
	x := p.Sides[side]
	h, _ := fm.Host(x.Host)
	return placement.Place{Host: x.Host, Address: h.Address, Port: x.Port, Datadir: x.Datadir, Config: x.Config}
}

func (f *LiveFarm) At(name farm.InstanceName, p placement.Place) host.Instance {
	return host.Instance{Name: name, Address: p.Address, Port: p.Port, Datadir: f.Path(p.Datadir), Config: f.Path(p.Config)}
}

// clearUnused removes what servers that have left have left behind: they are
// retired, and perhaps started again by whoever looks after servers.
func (f *LiveFarm) clearUnused() {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	local, err := host.NewLocal(QuietLog())
	if err != nil {
		f.T.Fatal(err)
	}
	used := fm.HostsInUse()
	for _, h := range fm.Hosts {
		if slices.Contains(used, h.Name) {
			continue
		}
		configs, _ := filepath.Glob(filepath.Join(f.Dir, h.Dir, "*", "my.cnf"))
		for _, c := range configs {
			_ = local.Kill(f.T.Context(), host.Instance{Name: "retired", Config: c}, 10*time.Second)
		}
		os.RemoveAll(filepath.Join(f.Dir, h.Dir))
	}
}

// isRetired reports that an instance had its place at the beginning and that
// farm.yaml has another there now.
func (s *Striker) isRetired(i host.Instance) bool {
	_, fm, _, err := FarmAccess(s.f.Dir)
	if err != nil {
		return false
	}
	for _, c := range s.Casts {
		if c.Side != "" && c.Who[Peer].Address == i.Address && fmt.Sprint(PlaceOf(fm, c.Pair, c.Side).Address) != i.Address {
			return true
		}
	}
	return false
}
