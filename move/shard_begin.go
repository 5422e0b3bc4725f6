package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stowage/act"

	"stowage/engine"
	"stowage/farm"
	"stowage/mysql"
	"stowage/store"
)

// ShardMove is one shard to be moved, as a person asks for it.
type ShardMove struct {
	Shard farm.ShardName
	To    string // a pair, or one instance of it
	How   How    // empty: what suits
	Soak  time.Duration
}

// ShardWay is what will happen, before it does.
type ShardWay struct {
	Shard farm.ShardName    `json:"shard"`
	From  farm.InstanceName `json:"from"`
	To    farm.InstanceName `json:"to"`
	Bytes int64             `json:"bytes"`
	How   How               `json:"how"`
	Why   string            `json:"why"`
	Soak  string            `json:"soak"`
	Lines []string          `json:"lines"` // in words
}

// BeginShards checks that shards may be moved and writes the run. With dry, or
// when a finding blocks, nothing is touched and written.
func (a *Act) BeginShards(ctx context.Context, moves []ShardMove, dry bool) (store.Run, []ShardWay, []farm.Finding, error) {
	now, err := a.Workspace.Farm()
	if err != nil {
		return store.Run{}, nil, nil, err
	}
	name := "shards"
	if len(moves) == 1 {
		name = "shard-" + string(moves[0].Shard)
	}
	var ways []ShardWay
	a.Dry = a.Dry || dry
	run, findings, err := a.Act.Begin(ctx, act.Proposal{
		Name: name, Subject: shardsSubject(moves),
		Job: func(run string) (engine.Job, uint32, error) {
			orders, next, err := a.shardOrders(ctx, run, moves, now)
			if err != nil {
				return engine.Job{}, 0, err
			}
			for _, o := range orders {
				ways = append(ways, o.way())
			}
			job, err := newShardJob(run, orders)
			return job, next, err
		},
		Survey: a.surveyShards, Remedy: "remedy them, then ask again; nothing was touched",
	})
	if a.Dry {
		run = store.Run{} // it does not exist
	}
	return run, ways, findings, err
}

// surveyShards asks about every shard, not only the first of each lane: none
// of them needs what another leaves.
func (a *Act) surveyShards(ctx context.Context, job engine.Job) ([]farm.Finding, error) {
	flat := job
	flat.Lanes = nil
	for _, lane := range job.Lanes {
		if lane.Closing {
			continue // of what another lane makes
		}
		for _, part := range lane.Parts {
			one := lane
			one.Parts = []engine.Part{part}
			flat.Lanes = append(flat.Lanes, one)
		}
	}
	return a.Mover.Survey(ctx, flat)
}

func shardsSubject(moves []ShardMove) string {
	if len(moves) == 1 {
		return fmt.Sprintf("shard %s to %s", moves[0].Shard, moves[0].To)
	}
	return farm.Counted(len(moves), "shard")
}

// shardOrders turns wishes into orders, against the farm as it stands. Shards
// that are where they should be are left out. next is the first server id that
// is still free afterwards.
func (a *Act) shardOrders(ctx context.Context, run string, moves []ShardMove, now *farm.Farm) (orders []shardOrder, next uint32, err error) {
	next = now.NextServerID
	seen := map[farm.ShardName]bool{}
	carriers := &chooser{mover: a.Mover, rates: map[farm.InstanceName]writing{}}
	is, err := a.Workspace.Farm()
	if err != nil {
		return nil, 0, err
	}
	for _, p := range is.Pairs {
		carriers.pairs = append(carriers.pairs, p.Name)
	}
	for _, m := range moves {
		if seen[m.Shard] {
			return nil, 0, act.Refused("move shard", string(m.Shard), errors.New("it is asked for twice"), "name each shard once")
		}
		seen[m.Shard] = true
		from, shard, ok := pairOfShard(now, m.Shard)
		if !ok {
			return nil, 0, unknownName("shard", string(m.Shard), shardNames(now))
		}
		to, side, err := targetOf(now, m.To)
		if err != nil {
			return nil, 0, err
		}
		if to.Name == from.Name {
			continue
		}
		o := shardOrder{Runbook: Shard, Job: run + "/" + string(m.Shard), Shard: m.Shard, How: m.How, Soak: m.Soak, Reader: next,
			From: newShardEnd(now, from, farm.A), To: newShardEnd(now, to, side), Bytes: int64(shard.Needs[farm.Disk])}
		next++
		if err := carriers.choose(ctx, &o); err != nil {
			return nil, 0, err
		}
		orders = append(orders, o)
	}
	return orders, next, nil
}

func pairOfShard(f *farm.Farm, name farm.ShardName) (*farm.Pair, farm.Shard, bool) {
	for i := range f.Pairs {
		for _, s := range f.Pairs[i].Shards {
			if s.Name == name {
				return &f.Pairs[i], s, true
			}
		}
	}
	return nil, farm.Shard{}, false
}

// targetOf finds the pair that a person names, by its own name or by that of
// one of its instances.
func targetOf(f *farm.Farm, name string) (*farm.Pair, farm.SideName, error) {
	var known []string
	for i := range f.Pairs {
		p := &f.Pairs[i]
		if string(p.Name) == name {
			return p, farm.A, nil
		}
		known = append(known, string(p.Name))
		for side := range p.Sides {
			if string(p.Instance(side)) != name {
				continue
			}
			if p.Topology.HasOneWriter() && side != farm.A {
				return nil, "", act.Refused("move shard", name, fmt.Errorf("it is the replica of pair %s", p.Name), "name the pair, or its side A")
			}
			return p, side, nil
		}
	}
	return nil, "", unknownName("pair or instance", name, known)
}

func shardNames(f *farm.Farm) (out []string) {
	for _, p := range f.Pairs {
		for _, s := range p.Shards {
			out = append(out, string(s.Name))
		}
	}
	return out
}

func unknownName(what, name string, known []string) error {
	hint := "farm.yaml names them all"
	if len(known) > 0 {
		hint = fmt.Sprintf("farm.yaml has %s and %d more", known[0], len(known)-1)
	}
	return &farm.Error{Op: "move shard", Subject: name, Err: fmt.Errorf("%w: farm.yaml has no %s of that name", farm.ErrInput, what), Hint: hint}
}

func newShardEnd(f *farm.Farm, p *farm.Pair, side farm.SideName) shardEnd {
	e := shardEnd{Pair: p.Name, Topology: p.Topology, Side: side, Addresses: map[farm.SideName]string{}, Hosts: map[farm.SideName]shardPlace{}}
	for name, s := range p.Sides {
		e.Addresses[name] = f.Address(s)
		e.Hosts[name] = shardPlace{s.Host, s.Datadir, s.Config, s.GroupSuffix}
	}
	return e
}

// newShardJob is one lane for each pair that a shard goes to, so that shards
// are merged one after the other; a lane also holds the pair that a shard comes
// from, so that no two cutovers of one pair meet.
func newShardJob(id string, orders []shardOrder) (engine.Job, error) {
	job := engine.Job{ID: id, Kind: Name, Budgets: map[string]int{act.WholeFarm: 4}}
	book, _ := ByName(Shard)
	lanes := map[farm.PairName]int{}
	for _, o := range orders {
		args, err := json.Marshal(o)
		if err != nil {
			return job, err
		}
		n, known := lanes[o.To.Pair]
		if !known {
			n = len(job.Lanes)
			lanes[o.To.Pair] = n
			job.Lanes = append(job.Lanes, engine.Lane{Name: string(o.To.Pair), Holds: []string{act.WholeFarm}})
		}
		lane := &job.Lanes[n]
		lane.Parts = append(lane.Parts, engine.Part{Subject: string(o.Shard), Args: args, Steps: book.EngineSteps()})
		for _, hold := range []string{"pair " + string(o.From.Pair), "pair " + string(o.To.Pair)} {
			job.Budgets[hold] = 1
			if !contains(lane.Holds, hold) {
				lane.Holds = append(lane.Holds, hold)
			}
		}
	}
	return job, nil
}

func contains(list []string, x string) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// way is the order in words.
func (o shardOrder) way() ShardWay {
	from, to := o.From.instance(o.From.Side), o.To.instance(o.To.Side)
	w := ShardWay{Shard: o.Shard, From: from, To: to, Bytes: o.Bytes, How: o.How, Why: o.Why, Soak: o.Soak.String()}
	say := func(format string, args ...any) { w.Lines = append(w.Lines, fmt.Sprintf(format, args...)) }
	say("%s goes from %s to %s, by %s: %s", o.Shard, from, to, o.How, o.Why)
	say("1. copy: rows by key and changes from the binary log of %s, into %s; clients notice nothing", from, to)
	if o.How == ByReplication {
		say("   when the rows and indexes are there, %s follows by itself: connection %s, filtered to the tables of %s; the copier's reader watches for what filters pass over", to, mysql.LinkName(o.Job), o.Shard)
	}
	if twin := o.To.Side.Twin(); o.To.Addresses[twin] != "" {
		say("   %s gets them from %s by the pair's own replication", o.To.instance(twin), to)
	}
	say("2. compare: the checksums of all rows, at one position")
	say("3. cutover: the shard's clients wait (those of its neighbours do not), open transactions end, the tables of %s get other names, the last changes are applied,", o.From.Pair)
	say("   and the clients go on at %s; whatever fails before that puts everything back", o.To.Pair)
	say("4. soak: %s; what is written at %s goes back to %s, so that the move can be undone", o.Soak, o.To.Pair, o.From.Pair)
	say("5. settle (point of no return): farm.yaml has the shard under %s, the old tables are removed from %s", o.To.Pair, o.From.Pair)
	return w
}
