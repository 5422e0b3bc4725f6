package move

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"stowage/act"

	"stowage/engine"
	"stowage/farm"
	"stowage/placement"
	"stowage/store"
)

// Stages of a run that regroups shards. A shard needs the pair that it goes to,
// a pair that is retired all shards that leave it; the last stage has something to
// do only when a lane failed.
const (
	stageProvision = iota + 1
	stageShards
	stageEmptied
	stageClosing
)

// beginShardPlan begins a plan that regroups single shards: pairs of the plan
// that do not exist yet are made, the shards carried into them, and the pairs
// that are empty then are retired.
func (a *Act) beginShardPlan(ctx context.Context, p placement.Plan, now *farm.Farm) (store.Run, []farm.Finding, error) {
	goals := shardPlaces(p)
	if err := pairsWherePlanned(p, now); err != nil {
		return store.Run{}, nil, err
	}
	if err := shardsNotDrifted(p, goals, now); err != nil {
		return store.Run{}, nil, err
	}
	fresh, err := newPairs(p, goals, now)
	if err != nil {
		return store.Run{}, nil, err
	}
	planned := withPairs(now, fresh)
	var moves []ShardMove
	for _, s := range shardNames(now) {
		if to, there := goals[farm.ShardName(s)]; there {
			moves = append(moves, ShardMove{Shard: farm.ShardName(s), To: string(to), Soak: p.Goals.Soak})
		}
	}
	return a.Act.Begin(ctx, act.Proposal{
		Name: p.Name, Subject: p.Name, ApproveBefore: p.Goals.ApproveBefore, // the soak is a step of the runbooks, not a wait before their last one
		Job: func(run string) (engine.Job, uint32, error) {
			orders, next, err := a.shardOrders(ctx, run, moves, planned)
			if err != nil {
				return engine.Job{}, 0, err
			}
			for i := range orders {
				orders[i].New = slices.ContainsFunc(fresh, func(o provisionOrder) bool { return o.Pair == orders[i].To.Pair })
			}
			job, err := regroupingJob(run, fresh, orders, emptiedBy(p, goals, now))
			job.Spares = act.Spares(p.Goals)
			return job, next, err
		},
		Survey: a.surveyShards, Remedy: "remedy them, then move again; nothing was touched",
	})
}

// newPairs are the orders for the pairs of a plan that farm.yaml does not have.
// Their server ids are those that come next: what the plan reckoned with may
// have been spent since.
func newPairs(p placement.Plan, goals map[farm.ShardName]farm.PairName, now *farm.Farm) ([]provisionOrder, error) {
	var out []provisionOrder
	index := map[farm.PairName]int{}
	onHost := map[farm.HostName]int{}
	for _, h := range p.Hosts {
		onHost[h.Name] = len(h.Instances)
	}
	id := now.NextServerID
	for _, x := range p.Assignments {
		if _, there := now.Pair(x.Pair); there {
			continue
		}
		n, known := index[x.Pair]
		if !known {
			o, err := newPair(p, x.Pair, goals, now)
			if err != nil {
				return nil, err
			}
			n = len(out)
			index[x.Pair] = n
			out = append(out, o)
		}
		if side := out[n].Sides[x.Side]; side.Place.Host == "" {
			h, _ := now.Host(x.Host)
			if h.Dir == "" {
				return nil, act.Refused("move", p.Name, fmt.Errorf("host %s has no dir, where new instances are made", x.Host), "give it one in farm.yaml and plan again")
			}
			dir := filepath.Join(h.Dir, string(x.Instance))
			if err := farm.CheckPlace(h.Dir, filepath.Join(dir, "data"), filepath.Join(dir, "my.cnf")); err != nil {
				return nil, act.Refused("move", p.Name, fmt.Errorf("the place of %s on %s is refused: %w", x.Instance, x.Host, err), "plan again")
			}
			side.Place = placement.Place{Host: h.Name, Address: h.Address, Port: x.Port, Datadir: filepath.Join(dir, "data"), Config: filepath.Join(dir, "my.cnf")}
			side.Options = now.OptionsOn(h.Name, onHost[h.Name])
			out[n].Sides[x.Side] = side
		}
	}
	for n := range out {
		for _, name := range out[n].Topology.Sides() {
			side := out[n].Sides[name]
			side.ServerID, side.Domain = id, id // never used before, so neither is the domain of that number
			if first := out[n].Sides[farm.A]; out[n].Topology.HasOneWriter() && name == farm.B {
				side.Domain = first.Domain // each may be the writer next
			}
			id++
			out[n].Sides[name] = side
		}
	}
	return out, nil
}

// newPair chooses the model of a new pair: the pair that most of its shards
// come from.
func newPair(p placement.Plan, name farm.PairName, goals map[farm.ShardName]farm.PairName, now *farm.Farm) (provisionOrder, error) {
	o := provisionOrder{Runbook: Provision, Pair: name, Sides: map[farm.SideName]newSide{}}
	var model *farm.Pair
	most, memory, itsMemory := 0, 0.0, 0.0
	var from []*farm.Pair
	for i := range now.Pairs {
		pair, n := &now.Pairs[i], 0
		for _, s := range pair.Shards {
			if goals[s.Name] == name {
				n++
				o.Bytes += int64(s.Needs[farm.Disk])
				memory += s.Needs[farm.Memory]
			}
		}
		if n == 0 {
			continue
		}
		o.Shards += n
		from = append(from, pair)
		if n > most {
			model, most, itsMemory = pair, n, pair.Needs()[farm.Memory]
		}
		if pair.Topology != from[0].Topology {
			return o, act.Refused("move", p.Name, fmt.Errorf("pair %s of the plan takes shards of %s, which is %s, and of %s, which is %s", name, from[0].Name, from[0].Topology, pair.Name, pair.Topology),
				"plan them apart: frozen, or forbid, in goals.yaml")
		}
	}
	if model == nil {
		return o, act.Refused("move", p.Name, fmt.Errorf("no shard of farm.yaml goes into pair %s of the plan", name), "plan again: stowage plan")
	}
	if memory > 0 && itsMemory > 0 && memory != itsMemory {
		o.Pool = memory / itsMemory
	}
	o.Topology = model.Topology
	for _, side := range o.Topology.Sides() {
		s := model.Sides[side]
		h, _ := now.Host(s.Host)
		o.Sides[side] = newSide{ModelInstance: model.Instance(side), Model: placement.Place{Host: s.Host, Address: h.Address, Port: s.Port, Datadir: s.Datadir, Config: s.Config, GroupSuffix: s.GroupSuffix}}
	}
	slices.SortStableFunc(from, func(x, y *farm.Pair) int { // the model first
		return cmp.Compare(btoi(y == model), btoi(x == model))
	})
	for _, pair := range from {
		o.Accounts = append(o.Accounts, otherReplica{pair.Instance(farm.A), now.Address(pair.Sides[farm.A])})
	}
	return o, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// withPairs is the farm as it will be when the pairs are made.
func withPairs(now *farm.Farm, fresh []provisionOrder) *farm.Farm {
	planned := now.Clone()
	for _, o := range fresh {
		pair := farm.Pair{Name: o.Pair, Topology: o.Topology, Sides: map[farm.SideName]farm.Side{}}
		for name, s := range o.Sides {
			pair.Sides[name] = farm.Side{Host: s.Place.Host, Port: s.Place.Port, Datadir: s.Place.Datadir, Config: s.Place.Config}
			planned.NextServerID = max(planned.NextServerID, s.ServerID+1)
		}
		planned.Pairs = append(planned.Pairs, pair)
	}
	return planned
}

// emptiedBy are the pairs that the plan leaves without a shard.
func emptiedBy(p placement.Plan, goals map[farm.ShardName]farm.PairName, now *farm.Farm) []emptiedOrder {
	var out []emptiedOrder
	for _, was := range p.Basis.Pairs {
		pair, there := now.Pair(was.Name)
		stays := slices.ContainsFunc(was.Shards, func(s farm.ShardName) bool { return goals[s] == was.Name || goals[s] == "" })
		if !there || stays || len(was.Shards) == 0 {
			continue
		}
		o := emptiedOrder{Runbook: Emptied, Pair: pair.Name, Topology: pair.Topology, Sides: map[farm.SideName]placement.Place{}, Soak: p.Goals.Soak}
		for name, s := range pair.Sides {
			h, _ := now.Host(s.Host)
			o.Sides[name] = placement.Place{Host: s.Host, Address: h.Address, Port: s.Port, Datadir: s.Datadir, Config: s.Config, GroupSuffix: s.GroupSuffix}
		}
		out = append(out, o)
	}
	return out
}

// regroupingJob is the whole of it, stage by stage. A pair that was made and
// that no shard came to, because the run failed or was ended, is taken away
// again in the last.
func regroupingJob(id string, fresh []provisionOrder, orders []shardOrder, gone []emptiedOrder) (engine.Job, error) {
	job, err := newShardJob(id, orders)
	if err != nil {
		return job, err
	}
	from := map[farm.PairName][]string{} // the lanes that take its shards
	for _, o := range orders {
		if !contains(from[o.From.Pair], string(o.To.Pair)) {
			from[o.From.Pair] = append(from[o.From.Pair], string(o.To.Pair))
		}
	}
	for i := range job.Lanes {
		lane := &job.Lanes[i]
		lane.Stage, lane.Apart, lane.Needs = stageShards, true, []string{lane.Name} // the pair that it goes to, where that is made
	}
	var made, left, undone []engine.Lane
	for _, o := range fresh {
		lane, err := laneOf(Provision, stageProvision, o.Pair, o)
		if err != nil {
			return job, err
		}
		made = append(made, lane)
		back := lane
		back.Stage, back.Closing = stageClosing, true
		back.Parts = slices.Clone(lane.Parts)
		back.Parts[0].Back = "it was made for shards that did not come"
		undone = append(undone, back)
	}
	for _, o := range gone {
		lane, err := laneOf(Emptied, stageEmptied, o.Pair, o)
		if err != nil {
			return job, err
		}
		lane.Apart, lane.Needs = true, from[o.Pair]
		left = append(left, lane)
	}
	job.Lanes = slices.Concat(made, job.Lanes, left, undone)
	return job, nil
}

// laneOf is a lane of one part that is about a pair.
func laneOf(book string, stage int, pair farm.PairName, order any) (engine.Lane, error) {
	args, err := json.Marshal(order)
	b, _ := ByName(book)
	return engine.Lane{Name: string(pair), Stage: stage, Holds: []string{act.WholeFarm},
		Parts: []engine.Part{{Subject: string(pair), Args: args, Steps: b.EngineSteps()}}}, err
}

// shardPlaces is which pair the plan has each shard in.
func shardPlaces(p placement.Plan) map[farm.ShardName]farm.PairName {
	out := map[farm.ShardName]farm.PairName{}
	for _, x := range p.Assignments {
		if x.Shard != "" {
			out[x.Shard] = x.Pair
		}
	}
	return out
}

// pairsWherePlanned refuses a plan when a pair of its names is elsewhere.
func pairsWherePlanned(p placement.Plan, now *farm.Farm) error {
	var elsewhere []string
	seen := map[farm.InstanceName]bool{}
	for _, x := range p.Assignments {
		if seen[x.Instance] {
			continue
		}
		seen[x.Instance] = true
		pair, ok := now.Pair(x.Pair)
		if !ok {
			continue
		}
		if s := pair.Sides[x.Side]; s.Host != x.Host || s.Port != x.Port {
			elsewhere = append(elsewhere, fmt.Sprintf("%s is on %s port %d, planned on %s port %d", x.Instance, s.Host, s.Port, x.Host, x.Port))
		}
	}
	if len(elsewhere) > 0 {
		return act.Refused("move", p.Name, errors.New(firstOf(elsewhere, 6)), "make farm.yaml and the plan agree, or plan again")
	}
	return nil
}

func firstOf(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(list[:n], "; "), len(list)-n)
}

// shardsNotDrifted is notDrifted for a plan whose own pairs have been made
// since, and some of whose shards may have been moved.
func shardsNotDrifted(p placement.Plan, goals map[farm.ShardName]farm.PairName, now *farm.Farm) error {
	ours, gone := map[string]bool{}, map[string]bool{}
	for _, x := range p.Assignments {
		ours["pair "+string(x.Pair)], ours[string(x.Instance)] = true, true
	}
	for _, o := range emptiedBy(p, goals, p.Basis.Farm()) {
		gone["pair "+string(o.Pair)] = true
		for side := range o.Sides {
			gone[string(farm.Pair{Name: o.Pair}.Instance(side))] = true
		}
	}
	differ := slices.DeleteFunc(placement.Drift(p, now, func(farm.PairName, farm.SideName) bool { return false }), func(d farm.Difference) bool {
		if shard, is := strings.CutPrefix(d.Subject, "shard "); is {
			return d.Field == "pair" && d.Is == string(goals[farm.ShardName(shard)])
		}
		// Making the pairs has spent server ids, and what reads for a shard's move
		// takes its own from farm.yaml as it is now.
		return ours[d.Subject] && d.Was == "" || gone[d.Subject] && d.Field == "" && d.Is == "" || d.Field == "next_server_id"
	})
	if len(differ) == 0 {
		return nil
	}
	var lines []string
	for _, d := range differ {
		lines = append(lines, d.String())
	}
	return act.Refused("move", p.Name, fmt.Errorf("the farm has changed since the plan was made: %s", firstOf(lines, 10)),
		"look at the difference and plan again: stowage plan")
}
