package host

import (
	"context"
	"time"
)

// Archivist is a Host that archives binary logs of its instances, and replays them. into is what ArchiveDir says, a directory of that host.
type Archivist interface {
	// ArchiveBinlogs appends what the binary log of an instance has had since the last call. index is the server's @@log_bin_index.
	ArchiveBinlogs(ctx context.Context, i Instance, index, into string) (Archived, error)
	// ArchiveState is what there is of the newest log.
	ArchiveState(ctx context.Context, into string) (Archived, error)
	// ArchiveAt, ArchiveUntil and ArchiveFrom find places: behind the last transaction of a second, behind transactions, and where a copy
	// stands. Their errors wrap ErrNotArchived when there is no such place.
	ArchiveAt(ctx context.Context, into string, at time.Time) (Found, error)
	ArchiveUntil(ctx context.Context, into, gtids string) (Found, error)
	ArchiveFrom(ctx context.Context, into string, point SeedPoint, position string) (Found, error)
	// PruneBinlogs removes files that lie wholly before a place, and CheckBinlogs reads all of them again.
	PruneBinlogs(ctx context.Context, into string, before Mark) (removed int64, err error)
	CheckBinlogs(ctx context.Context, into string) error
	// Replay puts what is between two places into a restored instance.
	Replay(ctx context.Context, r Replaying) error
	// Relay lays what is between two places into the data directory of a restored instance of MySQL, which does not run, as its relay log: from
	// RelayLog on. Its applier does the rest.
	Relay(ctx context.Context, r Replaying) error
}

var _ Archivist = (*Local)(nil)
