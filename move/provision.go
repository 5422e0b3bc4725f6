package move

import (
	"encoding/json"
	"fmt"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/placement"
)

// Provision is the runbook that makes a new pair: empty, replicating, known to
// farm.yaml and routing, ready to take shards.
const Provision = "provision"

// provisionOrder is what a part says that makes a pair.
type provisionOrder struct {
	Runbook  string                    `json:"runbook"`
	Pair     farm.PairName             `json:"pair"`
	Topology farm.Topology             `json:"topology"`
	Sides    map[farm.SideName]newSide `json:"sides"`
	// Accounts are whose accounts the new instances get: a server of each pair
	// that shards come from, the model first.
	Accounts []otherReplica `json:"accounts"`
	Shards   int            `json:"shards"` // that are to live there
	Bytes    int64          `json:"bytes"`  // of them
	// Pool is how much more memory the shards need than those of the model:
	// by that the buffer pool is larger. 0: as it is.
	Pool float64 `json:"pool,omitempty"`
}

// newSide is one side to be made, after the model of a side that serves.
type newSide struct {
	Place         placement.Place   `json:"place"`
	ServerID      uint32            `json:"server_id"` // never used before
	Domain        uint32            `json:"domain"`
	Model         placement.Place   `json:"model"`
	ModelInstance farm.InstanceName `json:"model_instance"`
	Options       map[string]string `json:"options,omitempty"` // what the host's type says, in place of what the model has
}

// provision is one pair in the making.
type provision struct {
	task
	order provisionOrder

	sides  []*freshSide // in the order A, B
	models []*mysql.Server
}

// freshSide is one side in the making.
type freshSide struct {
	newSide
	name      farm.SideName
	here      host.Instance
	host      host.Host
	server    *mysql.Server
	model     host.Instance
	modelHost host.Host
}

var _ act.Work = (*provision)(nil)

func (m *Mover) provision(c engine.Call, step act.Step, beat func(string)) (*provision, error) {
	p := &provision{}
	var err error
	if p.task, err = m.task(c, step, beat, &p.order, nil); err != nil {
		return nil, err
	}
	p.About = farm.Event{Pair: p.order.Pair}
	for _, name := range p.order.Topology.Sides() {
		s := &freshSide{newSide: p.order.Sides[name], name: name}
		instance := farm.Pair{Name: p.order.Pair}.Instance(name)
		s.here, s.model = m.instance(instance, s.Place), m.instance(s.ModelInstance, s.Model)
		if s.host, err = m.Host(s.Place.Host); err != nil {
			return nil, err
		}
		if s.modelHost, err = m.Host(s.Model.Host); err != nil {
			return nil, err
		}
		s.server = mysql.Open(instance, s.here.Dial(), m.Admin, m.Log)
		p.sides = append(p.sides, s)
	}
	for _, a := range p.order.Accounts {
		p.models = append(p.models, mysql.Open(a.Name, a.Address, m.Admin, m.Log))
	}
	return p, nil
}

func (p *provision) Close() {
	for _, s := range p.sides {
		_ = s.server.Close() // nothing is lost with a connection
	}
	for _, s := range p.models {
		_ = s.Close()
	}
}

// remember is nothing: every step reads the truth.
func (p *provision) Remember() json.RawMessage { return nil }

// owner marks a new instance's directory as made by this run for this side.
func (p *provision) owner(s *freshSide) string {
	return fmt.Sprintf("%s, %s with server_id %d", p.mover.Owner, s.here.Name, s.ServerID)
}

// pair is the pair as farm.yaml gets it.
func (p *provision) pair() farm.Pair {
	out := farm.Pair{Name: p.order.Pair, Topology: p.order.Topology, Sides: map[farm.SideName]farm.Side{}}
	for _, s := range p.sides {
		out.Sides[s.name] = farm.Side{Host: s.Place.Host, Port: s.Place.Port, Datadir: s.Place.Datadir, Config: s.Place.Config}
	}
	return out
}

// follows is whom a side replicates from; nil: it does not.
func (p *provision) follows(s *freshSide) *freshSide {
	for _, twin := range p.sides {
		if twin != s && !(p.order.Topology.HasOneWriter() && s.name == farm.A) {
			return twin
		}
	}
	return nil
}
