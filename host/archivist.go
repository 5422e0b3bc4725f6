package host

import (
	"context"
	"time"

	"stowage/farm"
	"stowage/vault"
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
	// SpoolBinlogs does ArchiveBinlogs for a repository: into a spool of that host, and says what the repository is to be given of it. A Copy brings
	// that there.
	SpoolBinlogs(ctx context.Context, s Spooling) (Spooled, error)
	// KeptBinlogs is what a repository has of an instance, ReachBinlogs how many bytes of logs are wanted of a place of either kind; its error wraps
	// ErrNotArchived when they are not there.
	KeptBinlogs(ctx context.Context, p vault.Place, instance farm.InstanceName) (Kept, error)
	ReachBinlogs(ctx context.Context, p vault.Place, instance farm.InstanceName, w Wanted) (bytes int64, err error)
	// ForgetBinlogs takes out of a repository what other pieces have had for long, too, and, where the oldest backup is named, what lies before it.
	ForgetBinlogs(ctx context.Context, p vault.Place, instance farm.InstanceName, oldest *Wanted) (removed int64, err error)
	// CheckKept reads all pieces of an instance again and names what is damaged: the error wraps vault.ErrDamaged.
	CheckKept(ctx context.Context, p vault.Place, instance farm.InstanceName) (bytes int64, err error)
	// RemovePulled takes the logs away that were laid beside a restored instance.
	RemovePulled(ctx context.Context, i Instance) error
	// Relay lays what is between two places into the data directory of a restored instance of MySQL, which does not run, as its relay log: from
	// RelayLog on. Its applier does the rest.
	Relay(ctx context.Context, r Replaying) error
}

var _ Archivist = (*Local)(nil)
