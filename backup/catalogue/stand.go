package catalogue

import (
	"time"

	"stowage/farm"
)

// Stand is what is known of a pair's backups by restoring them.
type Stand string

// The stands of a pair, the worst first.
const (
	None     Stand = "no backup"
	Unproven Stand = "unproven"
	Late     Stand = "proven too long ago" // longer than farm.yaml asks for
	Proven   Stand = "proven"
)

// Stand is that of the pair, by what farm.yaml asks for.
func (p PairStatus) Stand(asked farm.Backup) Stand {
	every := asked.Filled().Verify
	switch {
	case p.Newest == nil:
		return None
	case p.Proven == nil:
		return Unproven
	case every > 0 && *p.ProvenAge > late(every).Seconds():
		return Late
	}
	return Proven
}

// late is the age from which something that is done at an interval is said to be missing: a quarter more.
func late(every time.Duration) time.Duration { return every + every/4 }
