package catalogue

import (
	"slices"
	"time"

	"stowage/farm"
	"stowage/vault"
)

// Kind says what of a server is in a backup.
type Kind string

// The kinds. An incremental backup has the pages that changed since the backup that it is based on.
const (
	Full        Kind = "full"
	Incremental Kind = "incremental"
	Logical     Kind = "logical" // the rows of some shards, as SQL texts
)

// Backup is one backup of an instance: a whole set in a vault. It is what the set's manifest says of it, and what is kept of it in the store.
type Backup struct {
	// ID is the name of its set: INSTANCE/TIME-KIND.
	ID       string            `json:"id"`
	Farm     string            `json:"farm"`
	Pair     farm.PairName     `json:"pair"`
	Side     farm.SideName     `json:"side"`
	Instance farm.InstanceName `json:"instance"`
	Kind     Kind              `json:"kind"`
	// Base is the backup that it is based on; empty for a full one.
	Base string `json:"base,omitempty"`
	// Shards are what a logical one has.
	Shards []farm.ShardName `json:"shards,omitempty"`

	Began time.Time `json:"began"`
	// At is the moment at which its data stands: the end of the copy, of a logical one its begin.
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	// Raw is the length of the copy, Bytes what it takes up, both in bytes.
	Raw   int64 `json:"raw_bytes"`
	Bytes int64 `json:"bytes"`

	// File and Offset are the place in the instance's binary log at which its data stands, GTID is the same as a position.
	File   string `json:"binlog_file"`
	Offset int64  `json:"binlog_offset"`
	GTID   string `json:"gtid"`
	// FromLSN is 0 for a full one.
	FromLSN uint64 `json:"from_lsn"`
	ToLSN   uint64 `json:"to_lsn"`

	Version  string `json:"version"` // of the server
	ServerID uint32 `json:"server_id"`
	// Options is the option file with which the server would start alone.
	Options string `json:"options"`
	// On and Datadir are where the server's data was when the backup was taken: pages are only comparable within one data directory.
	On      farm.HostName `json:"on"`
	Datadir string        `json:"datadir"`

	// Host is where the vault is, Place what it is there.
	Host  farm.HostName `json:"host"`
	Place vault.Place   `json:"place"`

	// ProvenAt is when a restore of it was last compared with a live server, row by row, and nothing differed; nil: never.
	ProvenAt *time.Time `json:"proven_at,omitempty"`
	// Damaged says what a check found; empty: nothing.
	Damaged string `json:"damaged,omitempty"`
	// RemovedAt is when it was taken out of the vault; nil: it is there.
	RemovedAt *time.Time `json:"removed_at,omitempty"`
}

// IsPhysical: it has the whole server, and goes on by binary logs.
func (b Backup) IsPhysical() bool { return b.Kind != Logical }

// Physical leaves the logical ones out.
func Physical(all []Backup) []Backup {
	return slices.DeleteFunc(slices.Clone(all), func(b Backup) bool { return !b.IsPhysical() })
}
