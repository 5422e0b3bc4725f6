package host

import (
	"fmt"
	"path/filepath"
	"time"

	"stowage/farm"
	"stowage/vault"
)

// An archive of binary logs is a directory with one directory for each log that the instance has ever had:
//
//	INSTANCE/binlog/0001-s17-9f31c2aa/     the first log: server id, sum of its first file's head
//	    log.json                           whose log it is, and why it is not the one before
//	    bl.000001                          the server's file up to its last whole transaction, as closed
//	    bl.000001.marks                    what is where in it: a line a minute at least
//	    checked                            its time is when the server's files were last read to their end
//	INSTANCE/binlog/0002-s17-51c07d3e/     a log that is not the first's continuation
//
// A log is known by what is in its files, never by a name: a server that was made anew under the same name has files of the same names.

// Mark is a place in an archive between two transactions.
type Mark struct {
	Log    string `json:"log"`    // the directory of the log
	File   string `json:"file"`   // a file of the log
	Offset int64  `json:"offset"` // in bytes
}

func (m Mark) String() string { return fmt.Sprintf("%s/%s:%d", m.Log, m.File, m.Offset) }

// Gap is a stretch of a log that is not in the archive: the server removed a file before it was archived, or a file is damaged.
type Gap struct {
	// After is the end of what is there before it, Before the beginning of what is there behind it.
	After  Mark `json:"after"`
	Before Mark `json:"before"`
	// Has is what the log had had at After, Next what it had had at Before: states, as binlog.State prints them.
	Has  string `json:"has"`
	Next string `json:"next"`
	// Last is the second of the last transaction at After: up to there, instances can be restored through the archive.
	Last time.Time `json:"last"`
}

func (g Gap) String() string {
	return fmt.Sprintf("transactions between %s (state %s) and %s (state %s) are not in the archive", g.After, orNothing(g.Has), g.Before, orNothing(g.Next))
}

func orNothing(state string) string {
	if state == "" {
		return "empty"
	}
	return state
}

// Archived is what there is of the log that the server writes now.
type Archived struct {
	Identity string `json:"identity"` // the directory of the log
	Files    int64  `json:"files"`
	Bytes    int64  `json:"bytes"`    // of all its files
	Appended int64  `json:"appended"` // by this call, in bytes
	// Last is the end of it, Position the last GTID of each domain there, LastAt the second of its last transaction.
	Last     Mark      `json:"last"`
	Position string    `json:"position"`
	LastAt   time.Time `json:"last_at"`
	// From and Until are the first and the last second that can be asked for: all that was written by Until is there.
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	Gaps  []Gap     `json:"gaps,omitempty"`
	// Forks are the logs that did not continue the one before, each with why.
	Forks []string `json:"forks,omitempty"`
}

// Found is a place that was looked for in an archive.
type Found struct {
	Mark     Mark      `json:"mark"`
	Position string    `json:"position"` // the last GTID of each domain by there
	At       time.Time `json:"at"`       // the second of the last transaction before it
}

// ArchiveDir is where the binary logs of an instance are kept in a vault that is a plain directory. A repository has them as pieces: see Piece.
func ArchiveDir(place vault.Place, instance farm.InstanceName) (string, error) {
	if place.Dir == "" || !filepath.IsAbs(place.Dir) {
		return "", &farm.Error{Op: "archive binary log", Subject: string(instance), Err: fmt.Errorf("%w: the vault is not a plain directory", farm.ErrInput),
			Hint: "name an absolute directory"}
	}
	if !filepath.IsLocal(string(instance)) {
		return "", &farm.Error{Op: "archive binary log", Subject: string(instance), Err: fmt.Errorf("%w: the name cannot be that of a directory", farm.ErrInput)}
	}
	return filepath.Join(place.Dir, string(instance), "binlog"), nil
}
