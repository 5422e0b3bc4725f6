package placement

import "stowage/farm"

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
	WattsBefore float64 `json:"watts_before"`
	Watts       float64 `json:"watts"`
	Seconds     float64 `json:"seconds"` // time to solve, set by the caller

	Assignments []Assignment `json:"assignments"`
	Hosts       []HostUse    `json:"hosts"` // hosts in use after the plan, in the order of the farm
	Moves       []Move       `json:"moves"` // by wave

	NextServerID uint32 `json:"next_server_id"` // the farm's, once the plan has begun
	Basis        Basis  `json:"basis"`          // the farm the plan was made for
}

// Assignment is where one side lives after the plan, moved or not.
type Assignment struct {
	Pair     farm.PairName     `json:"pair"`
	Side     farm.SideName     `json:"side"`
	Instance farm.InstanceName `json:"instance"`
	Host     farm.HostName     `json:"host"`
	Port     int               `json:"port"`
}

// HostUse is what one host carries after the plan.
type HostUse struct {
	Name      farm.HostName                 `json:"name"`
	Type      farm.HostTypeName             `json:"type"`
	Use       map[farm.ResourceName]float64 `json:"use"` // fraction of the whole capacity, headroom not taken off
	Instances []farm.InstanceName           `json:"instances"`
	Binding   string                        `json:"binding"` // the resource, or max_instances, nearest its limit
}

// Place is where an instance lives: enough to make it there.
type Place struct {
	Host    farm.HostName `json:"host"`
	Address string        `json:"address"`
	Port    int           `json:"port"`
	Datadir string        `json:"datadir"`
	Config  string        `json:"config"`
}

// Move replaces one side of a pair by a new instance on another host. Moves
// of one wave may run at the same time. Waves are an order, not barriers: a
// pair begins when its first wave's turn has come and its budgets are free, and
// never has both sides on the way at once.
type Move struct {
	Wave     int               `json:"wave"` // from 1
	Pair     farm.PairName     `json:"pair"`
	Side     farm.SideName     `json:"side"`
	Instance farm.InstanceName `json:"what"`
	From     Place             `json:"from"`
	To       Place             `json:"to"`
	Bytes    int64             `json:"bytes"`     // data to copy
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
	return farm.Side{Host: p.Host, Port: p.Port, Datadir: p.Datadir, Config: p.Config}
}
