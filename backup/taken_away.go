package backup

import (
	"context"
	"fmt"

	"stowage/farm"
	"stowage/host"
)

// Remove stops a restored instance and removes its directory, which must bear the mark of the restore that made it.
func (a *Act) Remove(ctx context.Context, name farm.InstanceName) error {
	docs, err := a.Store.Documents(restoredDocument)
	if err != nil {
		return err
	}
	var found *Restored
	for _, d := range docs {
		var r Restored
		if err := a.Store.DocumentByID(d.ID, &r); err != nil {
			return err
		}
		if r.Instance == name {
			found = &r
		}
	}
	if found == nil {
		return &farm.Error{Op: "remove", Subject: string(name), Err: fmt.Errorf("%w: no restore has made an instance of that name", farm.ErrInput), Hint: "stowage runs lists restores"}
	}
	if found.Side != "" {
		return &farm.Error{Op: "remove", Subject: string(name), Err: fmt.Errorf("%w: it serves as side %s of %s", farm.ErrRefused, found.Side, found.Pair), Hint: "move that side elsewhere first: stowage move instance"}
	}
	h, err := a.Host(found.On)
	if err != nil {
		return err
	}
	if err := a.Greet(ctx, found.On); err != nil {
		return err
	}
	return takeAway(ctx, h, found.Place, found.Owner)
}

// takeAway stops what bears that mark, and removes it.
func takeAway(ctx context.Context, h host.Host, i host.Instance, owner string) error {
	if err := h.Claimable(ctx, i, owner); err != nil {
		return err // it is somebody else's
	}
	if err := h.Stop(ctx, i, stopBudget); err != nil {
		return err
	}
	return h.Remove(ctx, i, owner)
}
