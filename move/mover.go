package move

import (
	"context"

	"stowage/act"

	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/placement"
	"stowage/route"
	"stowage/swing"
)

// Mover is what the steps of moves need, besides what every act has. It is safe
// for several goroutines.
type Mover struct {
	*act.Conductor
	Router route.Router
	// Host finds the machine an instance lives or will live on.
	Host func(farm.HostName) (host.Host, error)
	// Greet returns when a machine answers, and an error when it does not:
	// what is asked before the first step is asked of machines that are there.
	// A step waits for its machine instead. Nil: all are there.
	Greet func(context.Context, farm.HostName) error
	// Admin is what Stowage logs in to servers with; Replication what they log
	// in to each other with; Backup what a copy of one is made with, whose
	// password its host learns.
	Admin, Replication, Backup mysql.Account
	// Path makes a path of farm.yaml absolute.
	Path func(string) string
	// Record writes a side's new place into farm.yaml; again is harmless.
	Record func(farm.PairName, farm.SideName, farm.Side) error
	// RecordShard puts a shard under another pair in farm.yaml; again is harmless.
	RecordShard func(farm.ShardName, farm.PairName) error
	// Farm is farm.yaml as it stands. AddPair and RemovePair put an empty pair
	// into it and take one away; again is harmless.
	Farm       func() (*farm.Farm, error)
	AddPair    func(farm.Pair) error
	RemovePair func(farm.PairName) error
	// Logs is the directory for error logs of instances that are taken back; ""
	// keeps none.
	Logs     string
	Settings swing.Settings
	// Repair lets a copy whose rows differ from its source's be made equal, and compared once more. The servers that
	// serve are never touched.
	Repair bool

	edited *editing
}

// order is what one part of a job says: which side, and where its twin lives
// when the part runs.
type order struct {
	Runbook      string            `json:"runbook,omitempty"`
	Move         placement.Move    `json:"move"`
	TwinInstance farm.InstanceName `json:"twin_instance"`
	Twin         placement.Place   `json:"twin"`
}

// memory is what the steps of one side hand on to each other.
type memory struct {
	Scheduler bool           `json:"scheduler"` // the side's event scheduler was on
	Seed      host.SeedPoint `json:"seed"`
	Position  string         `json:"position"` // of the seed, as GTIDs
	// Apart is a moment before any client of the side was sent to the twin.
	Apart mysql.Moment `json:"parted,omitzero"`
}

// task is what the steps of moves know about the call they work on.
type task struct {
	act.Task
	mover *Mover
}

// task reads what a call carries.
func (m *Mover) task(c engine.Call, step act.Step, beat func(string), order, memory any) (task, error) {
	t, err := m.Conductor.Task(c, step, beat, order, memory)
	return task{t, m}, err
}
