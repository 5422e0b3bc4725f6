package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

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

// awaitFarm writes into farm.yaml, and waits for a file that somebody has broken
// or taken away just now: the servers are where they are to be, and what is left
// to do is to say so there.
func (m *Mover) awaitFarm(ctx context.Context, tell func(farm.Event), write func() error) error {
	told := false
	for end := time.Now().Add(m.Settings.Patience); ; told = true {
		err := write()
		if !errors.Is(err, farm.ErrInput) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %w", act.ErrFarmFile, err)
		}
		if !told {
			tell(farm.Event{Kind: farm.StepWaiting, Text: fmt.Sprintf("waits for a farm.yaml that can be read: %v. Correct it; .stowage/kept/farm.yaml is the last good one", err)})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
