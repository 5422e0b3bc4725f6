package host

import (
	"time"

	"stowage/backup/dump"
	"stowage/vault"
)

// Origin is where the bytes of a copy come from: a server that runs, or a vault of that host.
type Origin struct {
	Instance Instance `json:"instance,omitzero"`
	Login    Login    `json:"login,omitzero"` // at the instance
	// Since leaves out pages of the instance that have not changed after that LSN; 0: everything is copied.
	Since uint64 `json:"since,omitempty"`
	// InOrder: one file after the other. Two files at a time are quicker, and what is kept twice looks less alike.
	InOrder bool `json:"in_order,omitempty"`
	// Gently: nobody waits for the copy, and it gives way to servers.
	Gently bool `json:"gently,omitempty"`
	// Dump are databases of the instance, of which it is a stream of package dump; nil: it is a physical copy of all.
	Dump []string `json:"dump,omitempty"`
	// Files: it is the data directory of the instance, which was stopped, as an archive of tar.
	Files bool `json:"files,omitempty"`

	// Piece is one of the spool of the instance's binary logs, Spool the key of that spool; nil: it is none.
	Piece *Piece `json:"piece,omitempty"`
	Spool string `json:"spool,omitempty"`

	Stored Stored `json:"stored,omitzero"` // the zero value: it comes from the instance
	// Logs are the pieces of an instance's binary logs, archived in the place of Stored, that are wanted; nil: it is a part of a set.
	Logs *Wanted `json:"logs,omitempty"`
}

// Destination is where the bytes of a copy go: into the data directory of an instance, which is claimed and empty, or into a vault of that host.
type Destination struct {
	Instance Instance `json:"instance,omitzero"`
	// Delta puts the files of a copy with Origin.Since into a directory beside the data: see Host.Prepare.
	Delta bool `json:"delta,omitempty"`
	// Files: what comes is an archive of tar, as Origin.Files makes it.
	Files bool `json:"files,omitempty"`
	// Load has a stream of package dump loaded into the instance, which runs, with this login; nil: its data directory is made of a physical copy.
	Load *Login `json:"load,omitempty"`

	// Logs: what comes are pieces of binary logs. They are laid into PulledDir, or into the spool with that key.
	Logs  bool   `json:"logs,omitempty"`
	Spool string `json:"spool,omitempty"`

	Stored Stored `json:"stored,omitzero"`
	// Piece is the piece of a binary log that comes into the vault of Stored; nil: it is a part of a set.
	Piece *Piece `json:"piece,omitempty"`
}

// Stored names a part of a set in a vault.
type Stored struct {
	Place vault.Place `json:"place"`
	Set   string      `json:"set"`
	Name  string      `json:"name"`
}

// Copied is what is known of a copy whose last byte has arrived.
type Copied struct {
	Bytes int64 `json:"bytes"` // of the stream
	// Part, Seed and the LSNs are those of a copy that went into a vault.
	Part    vault.Part `json:"part,omitzero"`
	Seed    SeedPoint  `json:"seed,omitzero"`
	FromLSN uint64     `json:"from_lsn,omitempty"`
	ToLSN   uint64     `json:"to_lsn,omitempty"`
	Files   int        `json:"files,omitempty"`
	// At, GTID and Rows are those of a dump.
	At   time.Time `json:"at,omitzero"`
	GTID string    `json:"gtid,omitempty"`
	Rows int64     `json:"rows,omitempty"`
	// Databases are what a dump has.
	Databases []dump.Database `json:"databases,omitempty"`
}
