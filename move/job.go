package move

import (
	"encoding/json"
	"fmt"
	"sort"

	"stowage/act"

	"stowage/engine"
	"stowage/farm"
	"stowage/placement"
)

// NewJob turns the moves of a plan that are still to be done into the engine's
// job: one lane a pair and stage, in it one part a side, never both sides at
// once. now is the farm as it stands.
func NewJob(id string, moves []placement.Move, now *farm.Farm, parallel int) (engine.Job, error) {
	job := engine.Job{ID: id, Kind: Name, Budgets: map[string]int{act.WholeFarm: max(1, parallel)}}
	byLane, order := groupByLane(moves)
	counts := afterMoves(now, moves)
	options := func(m placement.Move) map[string]string { return now.OptionsOn(m.To.Host, counts[m.To.Host]) }
	where := map[farm.PairName]map[farm.SideName]placement.Place{}
	for _, key := range order {
		lane, err := newLane(key, byLane[key], now, where, options)
		if err != nil {
			return engine.Job{}, err
		}
		for _, hold := range lane.Holds {
			if _, known := job.Budgets[hold]; !known {
				job.Budgets[hold] = act.StreamsPerHost
			}
		}
		job.Lanes = append(job.Lanes, lane)
	}
	return job, nil
}

// laneKey is what a lane is for.
type laneKey struct {
	stage int
	pair  farm.PairName
}

// groupByLane keeps the plan's order: stages, in them pairs by their first
// wave, the sides of one pair by wave.
func groupByLane(moves []placement.Move) (map[laneKey][]placement.Move, []laneKey) {
	sorted := append([]placement.Move(nil), moves...)
	sort.SliceStable(sorted, func(i, j int) bool {
		if sorted[i].Stage != sorted[j].Stage {
			return sorted[i].Stage < sorted[j].Stage
		}
		return sorted[i].Wave < sorted[j].Wave
	})
	byLane := map[laneKey][]placement.Move{}
	var order []laneKey
	for _, m := range sorted {
		key := laneKey{m.Stage, m.Pair}
		if len(byLane[key]) == 0 {
			order = append(order, key)
		}
		byLane[key] = append(byLane[key], m)
	}
	return byLane, order
}

// newOrder chooses the runbook of one part and writes its arguments. sides is
// where the sides of the pair are by then.
func newOrder(p *farm.Pair, m placement.Move, sides map[farm.SideName]placement.Place, options map[string]string) (act.Runbook, json.RawMessage, error) {
	if p.Topology.HasOneWriter() {
		return newSuccession(p, m, sides, options)
	}
	twin := m.Side.Twin()
	book, _ := ByName(Replace)
	args, err := json.Marshal(order{Runbook: book.Name, Move: m, TwinInstance: p.Instance(twin), Twin: sides[twin], Options: options})
	return book, args, err
}

// newLane makes one lane. where says where the sides of each pair are by then,
// and is brought up to date.
func newLane(key laneKey, moves []placement.Move, now *farm.Farm, where map[farm.PairName]map[farm.SideName]placement.Place, options func(placement.Move) map[string]string) (engine.Lane, error) {
	p, ok := now.Pair(key.pair)
	if !ok {
		return engine.Lane{}, fmt.Errorf("%w: plan moves pair %s, which farm.yaml does not know", farm.ErrInput, key.pair)
	}
	sides := where[key.pair]
	if sides == nil {
		sides = map[farm.SideName]placement.Place{}
		for side, s := range p.Sides {
			h, _ := now.Host(s.Host)
			sides[side] = placement.Place{Host: s.Host, Address: h.Address, Port: s.Port, Datadir: s.Datadir, Config: s.Config, GroupSuffix: s.GroupSuffix}
		}
		where[key.pair] = sides
	}
	lane := engine.Lane{Name: string(key.pair), Holds: []string{act.WholeFarm}, Stage: key.stage}
	held := map[string]bool{}
	if p.Topology.HasOneWriter() { // the replica first: the primary's copy is taken from the new one
		sort.SliceStable(moves, func(i, j int) bool { return moves[i].Side > moves[j].Side })
	}
	for _, m := range moves {
		book, args, err := newOrder(p, m, sides, options(m))
		if err != nil {
			return engine.Lane{}, err
		}
		lane.Parts = append(lane.Parts, engine.Part{Subject: string(key.pair) + "/" + string(m.Side), Args: args, Steps: book.EngineSteps()})
		sides[m.Side] = m.To // the next side's twin lives there by then
		if hold := "host " + string(m.To.Host); !held[hold] {
			held[hold] = true
			lane.Holds = append(lane.Holds, hold)
		}
	}
	return lane, nil
}
