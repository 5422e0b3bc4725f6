package replay

import (
	"time"

	"stowage/digest"
)

// Statement is one thing that a client said, as it was recorded.
type Statement struct {
	digest.Statement // as the source tells it; Query belongs to the Statement

	Session SessionID
	Command Command
	Start   time.Time // when it began, as well as the source lets us know
	Values  []any     // of a prepared statement
	IsBound bool      // it is a prepared statement, executed with Values
	IsCut   bool      // not all of Query is there
	Reason  string    // of Other: what it is
	Code    uint16    // the error; 0 none
	Warned  uint16    // number of warnings
	Tells   Tells

	seq    uint64
	onWire bool // timed by packets: the network's part is in it
}

// Tells is what a source knows of a statement's answer.
type Tells struct{ Rows, Affected, Warnings, Errors bool }

// SessionID is one client's connection to one recorded server.
type SessionID struct {
	Recording int
	Thread    uint64
	Peer      string // of a capture: its ends
}

// Command is what kind of thing was said.
type Command byte

const (
	Say   Command = iota // a statement
	Login                // the connection's beginning
	Use                  // its database changes: Statement.DB
	Renew                // its state is thrown away
	Quit                 // its end
	Other                // nothing that can be sent again
)

// end is when the statement had its answer, in the recording.
func (s *Statement) end() time.Time { return s.Start.Add(s.Time) }

// size is about how much memory it takes.
func (s *Statement) size() int {
	n := 400 + len(s.Query) + len(s.DB) + len(s.User) + len(s.Host)
	for _, v := range s.Values {
		n += 16
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}
