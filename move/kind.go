package move

import (
	"stowage/act"
	"stowage/engine"
	"stowage/swing"
)

// Name is how runs, jobs and ids of moves begin.
const Name = "move"

// Replace is the runbook that replaces one side of an active-active pair.
const Replace = "replace"

// Kind is moving: its runbooks are all ways of moving there are. Those of a Mover that is nil can be looked at and not carried out.
func Kind(m *Mover) act.Kind {
	return act.Kind{Name: Name, Runbooks: []act.Runbook{
		runbook(m, Replace, replacementSteps(), (*Mover).replacement),
		runbook(m, Switchover, switchoverSteps(), successionOf(Switchover)),
		runbook(m, Replica, replicaSteps(), successionOf(Replica)),
		runbook(m, Shard, shardSteps(), (*Mover).shardMove),
		runbook(m, Provision, provisionSteps(), (*Mover).provision),
		runbook(m, Emptied, emptiedSteps(), (*Mover).emptied),
	}}
}

func runbook[T act.Work](m *Mover, name string, steps []swing.Step[T], open func(*Mover, engine.Call, act.Step, func(string)) (T, error)) act.Runbook {
	return act.NewRunbook(name, steps, func(c engine.Call, s act.Step, beat func(string)) (T, error) { return open(m, c, s, beat) })
}

// Runbooks are all ways of moving there are.
func Runbooks() []act.Runbook { return Kind(nil).Runbooks }

// ByName is the runbook of that name.
func ByName(name string) (act.Runbook, bool) { return Kind(nil).Runbook(name) }
