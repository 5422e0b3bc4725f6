package move

import (
	"encoding/json"
	"fmt"
	"sort"

	"stowage/engine"
	"stowage/farm"
	"stowage/placement"
)

// wholeFarm is the budget of how many pairs are on their way at once.
const wholeFarm = "farm"

// pieceLanes is how many pairs go into one job of the engine, whose history and
// messages have limits. A larger move is run in pieces, one after the other.
const pieceLanes = 120

// pieces cuts a job into jobs that the engine can hold. They are the same
// every time, so a resumed move finds the ones it has run.
func pieces(job engine.Job) []engine.Job {
	if len(job.Lanes) <= pieceLanes {
		return []engine.Job{job}
	}
	var out []engine.Job
	for n := 0; n*pieceLanes < len(job.Lanes); n++ {
		piece := job
		piece.ID = fmt.Sprintf("%s-%d", job.ID, n+1)
		piece.Lanes = job.Lanes[n*pieceLanes : min((n+1)*pieceLanes, len(job.Lanes))]
		out = append(out, piece)
	}
	return out
}

// streamsPerHost is how many sides may be on their way to one host at once.
const streamsPerHost = 2

// NewJob turns the moves of a plan that are still to be done into the engine's
// job: one lane a pair, in it one part a side, never both sides at once. now
// is the farm as it stands.
func NewJob(id string, moves []placement.Move, now *farm.Farm, parallel int) (engine.Job, error) {
	job := engine.Job{ID: id, Kind: "move", Budgets: map[string]int{wholeFarm: max(1, parallel)}}
	byPair, names := groupByPair(moves)
	for _, name := range names {
		lane, err := newLane(name, byPair[name], now)
		if err != nil {
			return engine.Job{}, err
		}
		for _, hold := range lane.Holds {
			if _, known := job.Budgets[hold]; !known {
				job.Budgets[hold] = streamsPerHost
			}
		}
		job.Lanes = append(job.Lanes, lane)
	}
	return job, nil
}

// groupByPair keeps the plan's order: pairs by their first wave, the sides of
// one pair by wave.
func groupByPair(moves []placement.Move) (map[farm.PairName][]placement.Move, []farm.PairName) {
	sorted := append([]placement.Move(nil), moves...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Wave < sorted[j].Wave })
	byPair := map[farm.PairName][]placement.Move{}
	var names []farm.PairName
	for _, m := range sorted {
		if len(byPair[m.Pair]) == 0 {
			names = append(names, m.Pair)
		}
		byPair[m.Pair] = append(byPair[m.Pair], m)
	}
	return byPair, names
}

func newLane(name farm.PairName, moves []placement.Move, now *farm.Farm) (engine.Lane, error) {
	p, ok := now.Pair(name)
	if !ok {
		return engine.Lane{}, fmt.Errorf("%w: plan moves pair %s, which farm.yaml does not know", farm.ErrInput, name)
	}
	where := map[farm.SideName]placement.Place{}
	for side, s := range p.Sides {
		h, _ := now.Host(s.Host)
		where[side] = placement.Place{Host: s.Host, Address: h.Address, Port: s.Port, Datadir: s.Datadir, Config: s.Config}
	}
	lane := engine.Lane{Name: string(name), Holds: []string{wholeFarm}}
	held := map[string]bool{}
	for _, m := range moves {
		twin := m.Side.Twin()
		args, err := json.Marshal(order{Move: m, TwinInstance: p.Instance(twin), Twin: where[twin]})
		if err != nil {
			return engine.Lane{}, err
		}
		lane.Parts = append(lane.Parts, engine.Part{Subject: string(name) + "/" + string(m.Side), Args: args, Steps: engineSteps()})
		where[m.Side] = m.To // the next side's twin lives there by then
		if hold := "host " + string(m.To.Host); !held[hold] {
			held[hold] = true
			lane.Holds = append(lane.Holds, hold)
		}
	}
	return lane, nil
}

func engineSteps() []engine.Step {
	var out []engine.Step
	for _, s := range Steps() {
		out = append(out, engine.Step{Name: s.Name, Undoable: s.Undo != nil, NoReturn: s.NoReturn, Timeout: s.Timeout})
	}
	return out
}
