package placement

import (
	"stowage/farm"
	"stowage/placement/bound"
)

// FormatVersion is the version of the plan file that this program writes, and
// the only one it reads.
const FormatVersion = 1

// Plan says what goes where, why no plan needs many fewer hosts, and which
// moves lead there. It is a file that people review: executed as it was
// reviewed, or not at all (see Drift).
type Plan struct {
	FormatVersion int    `json:"format_version"`
	Name          string `json:"name"`
	Farm          string `json:"farm"`
	Made          string `json:"made,omitempty"` // RFC 3339, set by the caller: Solve has no clock
	Goals         Goals  `json:"goals"`

	HostsBefore int     `json:"hosts_before"`
	HostsUsed   int     `json:"hosts_used"`
	LowerBound  int     `json:"lower_bound"`  // no plan for this farm and these goals uses fewer hosts
	BoundMethod string  `json:"bound_method"` // what the bound rests on
	Gap         float64 `json:"gap"`          // (HostsUsed - LowerBound) / LowerBound

	CostBefore  float64 `json:"cost_before"`
	Cost        float64 `json:"cost"` // prices of the hosts in use after the plan
	CostBound   float64 `json:"cost_lower_bound,omitempty"`
	WattsBefore float64 `json:"watts_before"`
	Watts       float64 `json:"watts"`
	WattsBound  float64 `json:"watts_lower_bound,omitempty"`
	Seconds     float64 `json:"seconds"` // time to solve, set by the caller

	MoveSeconds float64    `json:"move_seconds"`       // from the first move to the last, at the goals' rates
	MoveBound   float64    `json:"move_seconds_bound"` // no order of these moves is faster
	Critical    []Critical `json:"critical_path"`      // what makes it take so long

	Assignments []Assignment `json:"assignments"`
	Hosts       []HostUse    `json:"hosts"` // hosts in use after the plan, in the order of the farm
	Moves       []Move       `json:"moves"` // by wave

	NextServerID uint32 `json:"next_server_id"` // the farm's, once the plan has begun
	Basis        Basis  `json:"basis"`          // the farm the plan was made for

	Evidence []Evidence `json:"evidence,omitempty"` // which figures were measured, set by the caller; none: all were typed

	Other *OtherUnit `json:"other_unit,omitempty"` // what the other unit gives; nil for large farms, and where it is impossible

	// Certificates prove the bounds to anybody who recomputes the packing
	// problem from the farm and the goals: see package bound/verify.
	Certificates []bound.Certificate `json:"certificates,omitempty"`
}

// Critical is one move on the critical path: each waits for the one before.
type Critical struct {
	What    string  `json:"what"`
	Begin   float64 `json:"begin"` // seconds from the first move
	Seconds float64 `json:"seconds"`
	Why     string  `json:"waits_for,omitempty"` // what the move before had to give back
}

// Assignment is where one side lives after the plan, moved or not. With the
// unit shard there is one for each shard and side, and Pair and Instance are
// the new ones.
type Assignment struct {
	Pair     farm.PairName     `json:"pair"`
	Side     farm.SideName     `json:"side"`
	Instance farm.InstanceName `json:"instance"`
	Shard    farm.ShardName    `json:"shard,omitempty"`
	Host     farm.HostName     `json:"host"`
	Port     int               `json:"port"`
}

// HostUse is what one host carries after the plan.
type HostUse struct {
	Name      farm.HostName                 `json:"name"`
	Type      farm.HostTypeName             `json:"type"`
	New       bool                          `json:"new,omitempty"` // to be bought
	Use       map[farm.ResourceName]float64 `json:"use"`           // fraction of the whole capacity at the end of the runway, in the fullest hour, with what is reserved
	Instances []farm.InstanceName           `json:"instances"`
	Shards    int                           `json:"shards"`
	Binding   string                        `json:"binding"` // the resource, or max_instances, nearest its limit
}

// Place is where an instance lives: enough to make it there.
type Place struct {
	Host    farm.HostName `json:"host"`
	Address string        `json:"address"`
	Port    int           `json:"port"`
	Datadir string        `json:"datadir"`
	Config  string        `json:"config"`

	GroupSuffix string `json:"group_suffix,omitempty"` // farm.Side has what it is
}

// Move replaces one side of a pair by a new instance on another host, or
// carries one side of a shard to another instance. Moves of one wave may run
// at the same time. Waves are an order, not barriers: a pair begins when its
// first wave's turn has come and its budgets are free, and never has both
// sides on the way at once. Stages are barriers: what moves in one needs the
// room that the one before has left.
type Move struct {
	Wave    int           `json:"wave"`  // from 1
	Stage   int           `json:"stage"` // from 1
	Name    string        `json:"what"`  // the instance, or the shard
	Source  farm.HostName `json:"from"`
	Target  farm.HostName `json:"to"`
	Bytes   int64         `json:"bytes"` // data to copy
	Begin   float64       `json:"begin"` // seconds from the first move, as estimated
	Seconds float64       `json:"seconds"`

	Pair     farm.PairName     `json:"pair"`
	Side     farm.SideName     `json:"side"`
	Instance farm.InstanceName `json:"instance"`
	Shard    farm.ShardName    `json:"shard,omitempty"` // of a move of a single shard
	From     Place             `json:"from_place"`
	To       Place             `json:"to_place"`
	ServerID uint32            `json:"server_id"` // of the new instance; never used before in this farm
}

// Waves is the number of waves.
func (p Plan) Waves() int {
	last := 0
	for _, m := range p.Moves {
		last = max(last, m.Wave)
	}
	return last
}

// Bytes is the data to copy in all moves.
func (p Plan) Bytes() int64 {
	var sum int64
	for _, m := range p.Moves {
		sum += m.Bytes
	}
	return sum
}

// Apply is the farm after the plan. f is not changed.
func (p Plan) Apply(f *farm.Farm) *farm.Farm {
	after := f.Clone()
	index := make(map[farm.PairName]int, len(after.Pairs))
	for i, pair := range after.Pairs {
		index[pair.Name] = i
	}
	for _, m := range p.Moves {
		if i, ok := index[m.Pair]; ok {
			after.Pairs[i].Sides[m.Side] = m.To.side()
		}
	}
	after.NextServerID = max(after.NextServerID, p.NextServerID)
	return after
}

func (p Place) side() farm.Side {
	return farm.Side{Host: p.Host, Port: p.Port, Datadir: p.Datadir, Config: p.Config, GroupSuffix: p.GroupSuffix}
}
