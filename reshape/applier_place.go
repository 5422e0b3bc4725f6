package reshape

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/feed"
	"stowage/route"
)

// whereIs is the pair that serves the shard, and what leases call this time in it: a shard that was elsewhere meanwhile has changes of which the log here does not tell.
//
// Routing knows: a shard that moves is served at its new pair for as long as its way back is open, before farm.yaml names that pair.
func (x *applier) whereIs(ctx context.Context) (farm.Pair, string, error) {
	now, err := x.act.Workspace.Farm()
	if err != nil {
		return farm.Pair{}, "", err
	}
	moves, err := x.act.Store.Documents(feed.HandoverKind)
	if err != nil {
		return farm.Pair{}, "", err
	}
	n := 0
	for _, m := range moves {
		if m.Name == string(x.shard) {
			n++
		}
	}
	p, err := x.act.served(ctx, now, x.shard)
	return p, fmt.Sprintf("%s/%d", p.Name, n), err
}

// serving is what routing says of the pair while it serves the shard.
func (x *applier) serving(ctx context.Context) (*route.Pair, error) {
	in, err := x.act.routing(ctx, x.pair.Name)
	if err == nil && !in.Lists(x.shard) {
		err = fmt.Errorf("%s: %w", x.pair.Name, errMoved)
	}
	return in, err
}

// look goes to a side in rotation where the one that is read is not any more, and finds out whether the shard has moved.
func (x *applier) look(ctx context.Context) error {
	if time.Since(x.settled) > settleEvery {
		x.settled = time.Now()
		if _, place, err := x.whereIs(ctx); err == nil && place != x.place { // a store that is busy is asked later
			return errMoved
		}
	}
	if time.Since(x.looked) < lookEvery {
		return nil
	}
	x.looked = time.Now()
	in, err := x.serving(ctx)
	if err != nil || len(in.Sides) == 0 {
		return nil // the one that is read goes on
	}
	for _, side := range in.Sides {
		if side.Address == x.reader.Server().Address() {
			return nil
		}
	}
	was := x.reader.Server().Name()
	if err := x.reader.Again(ctx); err == nil {
		x.tell("%s is not in rotation: reading from %s", was, x.reader.Server().Name())
	}
	return nil
}
