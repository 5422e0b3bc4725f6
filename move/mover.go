package move

import (
	"context"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/feed"
	"stowage/host"
	"stowage/mysql"
	"stowage/placement"
	"stowage/route"
	"stowage/session"
	"stowage/swing"
	"stowage/workspace"
)

// Mover is what the steps of moves need, besides what every act has. It is safe
// for several goroutines.
type Mover struct {
	*act.Conductor
	Workspace *workspace.Workspace
	Router    route.Router
	Machines
	session.Accounts
	Settings swing.Settings
	// Repair lets a copy whose rows differ from its source's be made equal, and compared once more. The servers that
	// serve are never touched.
	Repair bool
	// Note keeps how a shard went to another pair, before its clients are sent on. Nil: nobody asks.
	Note func(feed.Handover) error

	edited *host.Editor
}

// Machines are the hosts of a farm.
type Machines interface {
	// Host finds the machine an instance lives or will live on.
	Host(farm.HostName) (host.Host, error)
	// Greet returns when a machine answers, and an error when it does not:
	// what is asked before the first step is asked of machines that are there.
	// A step waits for its machine instead.
	Greet(context.Context, farm.HostName) error
}

// order is what one part of a job says: which side, and where its twin lives
// when the part runs.
type order struct {
	Runbook      string            `json:"runbook,omitempty"`
	Move         placement.Move    `json:"move"`
	TwinInstance farm.InstanceName `json:"twin_instance"`
	Twin         placement.Place   `json:"twin"`
	// Options are what the new host's type says, in place of what the old
	// instance had.
	Options map[string]string `json:"options,omitempty"`
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
