package route

import (
	"context"
	"errors"
	"time"

	"stowage/farm"
)

// Router is one way of telling clients where to go.
type Router interface {
	// Read returns the table as clients see it. Where that is not what was
	// decided last (a proxy was restarted, a writer was killed), the error
	// wraps ErrDrift, and a Mender can put it right.
	Read(ctx context.Context) (*Table, error)
	// Change edits the routing of one pair. When it returns nil the new
	// table is what clients see from now on; on an error nothing has changed,
	// unless the error wraps farm.ErrOutcomeUnknown. Changes of several callers
	// are applied one after the other; none is lost. An edit that leaves the
	// pair as it was writes nothing. edit may be called more than once.
	Change(ctx context.Context, pair farm.PairName, edit func(*Pair) error) error
	// Guarantee says what a client may meet while a side is switched.
	Guarantee() Guarantee
}

// Maker is a Router whose table can be written where there is none.
type Maker interface {
	Router
	// Restore writes a table, one generation above last's; 0 stands for none.
	// One that is there is not replaced: the error wraps fs.ErrExist.
	Restore(ctx context.Context, last *Table) error
}

var (
	_ Maker = (*File)(nil)
	_ Maker = (*HAProxy)(nil)
	_ Maker = (*Shared)(nil)
	_ Maker = (*Exec)(nil)
)

// Mender is a Router whose clients can come to see something else than was
// decided: its proxies forget what they were told.
type Mender interface {
	// Mend makes clients see the table again and says what it had to do. Where
	// that closes a gate again, a change that sends those clients elsewhere is
	// refused until the gate has been opened: who slipped through it has not
	// been waited for.
	Mend(ctx context.Context) (mended []string, err error)
}

// Drainer is a Router that clients' connections run through, and that can
// count them.
type Drainer interface {
	// Drain waits, behind a closed gate, until no client of home has a
	// connection through the router, for as long as budget. left says in
	// words which are still there.
	Drain(ctx context.Context, pair farm.PairName, home farm.SideName, budget time.Duration) (left []string, err error)
}

// ErrUnreadable: there is no table, or what is there is none. Clients wait for
// one, and so does who changes it: nothing has been changed.
var ErrUnreadable = errors.New("no routing table can be read")

// ErrDrift: clients see something else than the table says.
var ErrDrift = errors.New("clients are not sent where the table says")
