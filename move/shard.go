package move

import (
	"context"
	"encoding/json"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
	"stowage/swing"
)

// Shard is the runbook that carries one logical shard out of a pair into
// another that serves already, while its neighbours on both go on.
const Shard = "shard"

// shardOrder is what a part says that moves a shard.
type shardOrder struct {
	Runbook string         `json:"runbook"`
	Job     string         `json:"job"` // names the copy in its marks, in whatever run it is ended
	Shard   farm.ShardName `json:"shard"`
	From    shardEnd       `json:"from"`
	To      shardEnd       `json:"to"`
	How     How            `json:"how"`
	Why     string         `json:"why"`               // the carrier was chosen
	Domains []uint32       `json:"domains,omitempty"` // GTID domains that the source's sides write; of ByReplication
	Reader  uint32         `json:"server_id"`         // of whoever reads the binary log
	Soak    time.Duration  `json:"soak"`              // how long the way back is kept open before it settles
	Bytes   int64          `json:"bytes"`             // when the order was written
	// New: the target is made by this run, before the shard's turn comes.
	New bool `json:"new,omitempty"`
}

// shardEnd is one end of the way: a pair, and which of its sides is read from
// or written to. The other side, where there is one, gets or gives its share
// by the pair's own replication.
type shardEnd struct {
	Pair      farm.PairName                `json:"pair"`
	Topology  farm.Topology                `json:"topology"`
	Side      farm.SideName                `json:"side"`
	Addresses map[farm.SideName]string     `json:"addresses"`
	Hosts     map[farm.SideName]shardPlace `json:"places"`
}

// shardPlace is where one side's files are.
type shardPlace struct {
	Host    farm.HostName `json:"host"`
	Datadir string        `json:"datadir"`
	Config  string        `json:"config,omitempty"`

	GroupSuffix string `json:"group_suffix,omitempty"`
}

func (e shardEnd) instance(side farm.SideName) farm.InstanceName {
	return farm.Pair{Name: e.Pair}.Instance(side)
}

// shardMemory is what the steps of one shard hand on to each other.
type shardMemory struct {
	Events []mysql.ScheduledEvent `json:"events,omitempty"` // of the shard, as they were before the cutover
}

// side is one side of a pair as the cutover knows it: the one that is copied
// from or to, and its twin, nil where there is none.
type ends struct {
	main, twin *mysql.Server
	twinWrites bool // clients write on the twin too
}

func (e ends) all() []*mysql.Server {
	if e.twin == nil {
		return []*mysql.Server{e.main}
	}
	return []*mysql.Server{e.main, e.twin}
}

// shardMove is one shard on its way.
type shardMove struct {
	task
	order    shardOrder
	memory   shardMemory
	settings swing.Settings

	from, to ends
	carrier  carrier
	heldAt   time.Time // when this attempt began to hold the clients
}

var _ act.Work = (*shardMove)(nil)

func (m *Mover) shardMove(c engine.Call, step act.Step, beat func(string)) (*shardMove, error) {
	s := &shardMove{settings: drainLonger(m.Settings, c.Attempt)}
	var err error
	if s.task, err = m.task(c, step, beat, &s.order, &s.memory); err != nil {
		return nil, err
	}
	s.About = farm.Event{Pair: s.order.From.Pair, Shard: s.order.Shard}
	s.from, s.to = m.ends(s.order.From), m.ends(s.order.To)
	s.carrier = s.newCarrier()
	return s, nil
}

func (m *Mover) ends(e shardEnd) ends {
	open := func(side farm.SideName) *mysql.Server {
		address, there := e.Addresses[side]
		if !there {
			return nil
		}
		return mysql.Open(e.instance(side), address, m.Admin, m.Log)
	}
	return ends{main: open(e.Side), twin: open(e.Side.Twin()), twinWrites: e.Topology == farm.ActiveActive}
}

func (s *shardMove) Close() {
	for _, server := range append(s.from.all(), s.to.all()...) {
		_ = server.Close() // nothing is lost with a connection
	}
}

func (s *shardMove) Remember() json.RawMessage {
	raw, err := json.Marshal(s.memory)
	if err != nil { // a struct of strings always encodes
		return nil
	}
	return raw
}

func (s *shardMove) schema() string { return string(s.order.Shard) }

// table is the routing as clients see it; what sends them elsewhere is put
// right first.
func (s *shardMove) table(ctx context.Context) (*route.Table, error) {
	if m, ok := s.mover.Router.(route.Mender); ok {
		mended, err := m.Mend(ctx)
		for _, text := range mended {
			s.Report(farm.Event{Kind: farm.StepProgress, Phase: "mend routing", Text: text})
		}
		if err != nil {
			return nil, err
		}
	}
	return s.mover.Router.Read(ctx)
}
