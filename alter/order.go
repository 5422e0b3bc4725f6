package alter

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stowage/act"
	"stowage/alter/plan"
	"stowage/engine"
	"stowage/farm"
	"stowage/sides"
	"stowage/store"
)

// order is what the part of one pair says.
type order struct {
	Runbook plan.Way `json:"runbook"`
	// Key finds the plan of the run in the store: what people do to its file meanwhile changes nothing.
	Key    string        `json:"key"`
	Pair   farm.PairName `json:"pair"`
	First  sides.Order   `json:"first"`            // leaves first; of a pair with one writer a replica
	Second *sides.Order  `json:"second,omitempty"` // nil: nobody else
	Others []sides.Order `json:"others,omitempty"` // further replicas, where they are out for as long as the second applies nothing, or get the change through the binary log
}

func (o order) isHeld() bool {
	return o.Runbook == plan.Held || o.Runbook == plan.Held+plan.OneWriter || o.Runbook == plan.HeldReplicas
}

// servesMeanwhile reports whether the tables are changed on servers that serve.
func (o order) servesMeanwhile() bool { return o.Runbook == plan.Direct || o.Runbook == plan.Logged }

// planDocument has the plan of each run, under the key of its orders.
const planDocument = "plan of alter"

// doneDocument has the pairs that a plan has changed.
const doneDocument = "altered by plan"

func doneKey(p plan.Plan, pair farm.PairName) string {
	return p.Name + " " + p.Made + " " + string(pair)
}

// Begin changes the pairs of a plan that it has not changed yet, after everything was asked. The zero Run: all are.
func (a *Act) Begin(ctx context.Context, p plan.Plan) (store.Run, []farm.Finding, error) {
	if err := a.NothingOpen(); err != nil {
		return store.Run{}, nil, err
	}
	if differ := plan.Drift(p, a.Farm); len(differ) > 0 {
		return store.Run{}, nil, act.Refused(Name, p.Name, fmt.Errorf("the farm has changed since the plan was made: %s", farm.Some(differ)), "look at the difference and plan again")
	}
	pending := p
	pending.Pairs = nil
	for _, pair := range p.Pairs {
		done, err := a.isDone(p, pair.Pair)
		if err != nil {
			return store.Run{}, nil, err
		}
		if !done {
			pending.Pairs = append(pending.Pairs, pair)
		}
	}
	var approvals []string
	if len(pending.Waves()) > 1 {
		approvals = []string{StepWave}
	}
	return a.Act.Begin(ctx, act.Proposal{
		Name: p.Name, Subject: p.Name, ApproveBefore: approvals,
		Job: func(run string) (engine.Job, uint32, error) {
			job, err := a.job(run, pending)
			return job, 0, err
		},
		Survey: a.SurveyJob, Remedy: "remedy them; nothing was changed",
	})
}

func (a *Act) isDone(p plan.Plan, pair farm.PairName) (bool, error) {
	var at time.Time
	_, err := a.Store.LatestDocument(doneDocument, doneKey(p, pair), &at)
	if err == nil || isNone(err) {
		return err == nil, nil
	}
	return false, err
}

// job is a lane for each pair; waves are stages, and a lane of its own waits for a person between two of them.
func (a *Act) job(run string, p plan.Plan) (engine.Job, error) {
	job := engine.Job{ID: run, Kind: Name, Budgets: map[string]int{act.WholeFarm: max(1, p.AtOnce)}}
	if len(p.Pairs) == 0 {
		return job, nil
	}
	key := strings.ToLower(rand.Text())[:16]
	stage, wave := 0, p.Pairs[0].Wave
	for _, pair := range p.Pairs {
		if pair.Wave != wave {
			wave = pair.Wave
			job.Lanes = append(job.Lanes, a.pauseLane(wave, stage+1))
			stage += 2
		}
		lane, err := a.lane(&job, key, pair)
		if err != nil {
			return job, err
		}
		lane.Stage = stage
		job.Lanes = append(job.Lanes, lane)
	}
	return job, a.Store.PutDocument(planDocument, key, time.Now(), p)
}

// IsPause reports whether a lane is none of a pair, and waits between two waves.
func IsPause(lane string) bool { return strings.HasPrefix(lane, "wave ") }

func (a *Act) pauseLane(wave, stage int) engine.Lane {
	book, _ := a.Kind.Runbook(string(betweenWaves))
	name := fmt.Sprintf("wave %d", wave)
	return engine.Lane{Name: name, Stage: stage, Parts: []engine.Part{{Subject: name, Args: json.RawMessage(fmt.Sprintf("{%q:%q}", "runbook", betweenWaves)), Steps: book.EngineSteps()}}}
}

// lane is that of one pair: a part for each replica that is not needed for the change of roles, and one for the two that are left. It holds tokens of its hosts: a rebuild wants a disk for itself.
func (a *Act) lane(job *engine.Job, key string, p plan.Pair) (engine.Lane, error) {
	lane := engine.Lane{Name: string(p.Pair), Holds: []string{act.WholeFarm}}
	for _, side := range p.Sides {
		if token := "host " + string(side.Host); !slices.Contains(lane.Holds, token) {
			job.Budgets[token] = 1
			lane.Holds = append(lane.Holds, token)
		}
	}
	slices.Sort(lane.Holds[1:])
	orders, err := a.orders(key, p)
	for _, o := range orders {
		book, ok := a.Kind.Runbook(string(o.Runbook))
		if !ok {
			return lane, unknownWay(o.Runbook)
		}
		args, err := json.Marshal(o)
		if err != nil {
			return lane, err
		}
		lane.Parts = append(lane.Parts, engine.Part{Subject: o.subject(), Args: args, Steps: book.EngineSteps()})
	}
	return lane, err
}

// subject names the part: the pair, and for a further replica its side.
func (o order) subject() string {
	if o.Runbook == replicaAlone {
		return o.First.Subject()
	}
	return string(o.Pair)
}

// orders are those of the parts of one pair.
func (a *Act) orders(key string, p plan.Pair) ([]order, error) {
	main := order{Runbook: p.Way, Key: key, Pair: p.Pair}
	lead, err := a.Order(p.Pair, farm.A)
	if err != nil {
		return nil, err
	}
	main.First = lead
	if p.Topology == farm.Single {
		return []order{main}, nil
	}
	pair, _ := a.Farm.Pair(p.Pair)
	other := farm.B
	for side, at := range pair.Sides { // the replica that takes the primary's writes is not on its host
		if side != farm.A && at == lead.Twin.At {
			other = side
		}
	}
	next, err := a.Order(p.Pair, other)
	if err != nil {
		return nil, err
	}
	main.Second = &next
	if strings.HasSuffix(string(p.Way), plan.OneWriter) {
		main.First, main.Second = next, &lead
	}
	var others []sides.Order
	for _, side := range slices.Sorted(maps.Keys(p.Sides)) {
		if side == farm.A || side == other {
			continue
		}
		o, err := a.Order(p.Pair, side)
		if err != nil {
			return nil, err
		}
		others = append(others, o)
	}
	var out []order
	switch p.Way {
	case plan.Apart + plan.OneWriter:
		for _, o := range others {
			out = append(out, order{Runbook: replicaAlone, Key: key, Pair: p.Pair, First: o})
		}
	case plan.HeldReplicas, plan.Logged:
		main.Others = others
	}
	return append(out, main), nil
}
