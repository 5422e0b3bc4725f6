package move

import (
	"context"

	"stowage/act"
	"stowage/farm"
	"stowage/workspace"
)

// What moves change in farm.yaml; each may be said again.

func (m *Mover) record(p farm.PairName, s farm.SideName, to farm.Side) error {
	return m.Workspace.EditFarm(func(e *workspace.Edit) error { e.SetSide(p, s, to); return nil })
}

func (m *Mover) recordShard(s farm.ShardName, to farm.PairName) error {
	return m.Workspace.EditFarm(func(e *workspace.Edit) error { e.MoveShard(s, to); return nil })
}

func (m *Mover) addPair(p farm.Pair) error {
	return m.Workspace.EditFarm(func(e *workspace.Edit) error { e.AddPair(p); return nil })
}

func (m *Mover) removePair(p farm.PairName) error {
	return m.Workspace.EditFarm(func(e *workspace.Edit) error { e.RemovePair(p); return nil })
}

// awaitFarm writes into farm.yaml as soon as it can be read.
func (m *Mover) awaitFarm(ctx context.Context, tell func(farm.Event), write func() error) error {
	return act.AwaitFarmFile(ctx, m.Settings.Patience, tell, write)
}
