package farm

import "time"

// EventKind says what an Event reports.
type EventKind string

const (
	StepStarted  EventKind = "started"       // a step of an act began (or began again after a restart)
	StepProgress EventKind = "progress"      // bytes, rows or lag moved; Text says what
	StepWaiting  EventKind = "waiting"       // nothing moves; Text says for what
	WayBackLost  EventKind = "way-back-lost" // the part cannot be undone any more and waits for a person; Text says why, and what to do
	Forged       EventKind = "forged"        // something was refused that nobody here has asked for, or answered; Text says what. It is about the run
	StepDone     EventKind = "done"          // the step's effect has been read back
	StepFailed   EventKind = "failed"        // one attempt failed; Text is the error
	StepUndone   EventKind = "undone"        // the step's effect has been taken back
	GateClosed   EventKind = "gate-closed"
	GateOpened   EventKind = "gate-opened" // Millis is how long it was closed
)

// Event is one thing an act did. Terminal, store, report and tests all read
// the same stream; an act never prints.
type Event struct {
	Time  time.Time `json:"time"`
	Run   string    `json:"run"` // id of the act: move-first
	Pair  PairName  `json:"pair,omitempty"`
	Side  SideName  `json:"side,omitempty"`
	Shard ShardName `json:"shard,omitempty"` // where a single shard goes elsewhere
	Host  HostName  `json:"host,omitempty"`  // where a host is rolled with all its sides; Pair and Side say which of them, if one
	Step  string    `json:"step,omitempty"`
	Phase string    `json:"phase,omitempty"` // a step's own part: close, drain, ...
	Kind  EventKind `json:"kind"`
	Text  string    `json:"text,omitempty"`

	Number int `json:"number,omitempty"` // of a step that began, from 1
	Of     int `json:"of,omitempty"`     // so many steps there are

	Bytes  int64   `json:"bytes,omitempty"` // done so far
	Total  int64   `json:"total,omitempty"` // expected; 0 when unknown
	Millis float64 `json:"millis,omitempty"`
}

// Sink takes events; it must be safe to call from several goroutines and must
// not block for long.
type Sink func(Event)
