package route

import (
	"context"

	"stowage/farm"
)

// Router is one way of telling clients where to go.
type Router interface {
	// Read returns the table as clients see it.
	Read(ctx context.Context) (*Table, error)
	// Change edits the routing of one pair. When it returns nil the new
	// table is what clients see from now on; on an error nothing has changed.
	// Changes of several callers are applied one after the other; none is
	// lost. An edit that leaves the pair as it was writes nothing.
	Change(ctx context.Context, pair farm.PairName, edit func(*Pair) error) error
}
