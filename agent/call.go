package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"stowage/binlog"
	"stowage/farm"
	"stowage/host"
	"stowage/vault"
)

// Queue is the task queue that the agent of a host serves.
func Queue(h farm.HostName) string { return "host." + string(h) }

// The calls: the methods of host.Host, and what a copy from agent to agent
// needs. The words are in histories and logs.
const (
	callHello = "hello" // who are you, and where do you serve copies? The only one that is not sealed

	callClaim            = "claim"
	callClaimable        = "claimable"
	callWipe             = "wipe"
	callRemove           = "remove"
	callReadFile         = "read-file"
	callWriteFile        = "write-file"
	callPrepare          = "prepare"
	callStart            = "start"
	callNoteStart        = "note-start"
	callStartAgain       = "start-again" // as it was started when that was noted
	callRollbackPrepared = "rollback-prepared"
	callStop             = "stop"
	callRetire           = "retire" // stop, and not to be started by mistake
	callRunning          = "running"
	callFreeBytes        = "free-bytes"
	callPortFree         = "port-free"
	callFound            = "found"
	callSetUp            = "set-up"  // SQL for an instance that does not run, before anybody can connect
	callOptions          = "options" // what is the instance started with?

	callHear = "hear" // nothing but what every call brings: the revoked certificates

	callOffer   = "offer"   // a copy of this instance, or of what a vault keeps, may be read once, by that host
	callPace    = "pace"    // how fast an offered copy may go
	callFetch   = "fetch"   // get a copy that another agent offers, or that this host has itself
	callBinlogs = "binlogs" // an archive of binary logs: what is in it, what is new, and its replaying
	callVault   = "vault"   // what is in a vault, and what is to be sealed, checked or removed there

	callRecord          = "record"           // a window of what an instance is asked; ends with it
	callEndRecording    = "end-recording"    // early, or put back what is left of one
	callReadRecording   = "read-recording"   // a part of its digest
	callForgetRecording = "forget-recording" // whoever asked for it has it

	callMayCommand = "may-command" // is this command one that the host's owner allows? Changes nothing
	callCommand    = "command"     // run it, once

	callLook = "look" // what do counters and settings of this machine say? Changes nothing
)

// request is what a controller asks. Which fields mean something depends on
// the call.
type request struct {
	Call string `json:"call"`
	// Asker and Term are the program that asks and when it began. Of two
	// programs the later one has taken over from the earlier.
	Asker string `json:"asker"`
	Term  int64  `json:"term"`
	// GivenUp are calls of this asker that it no longer waits for, and does
	// not know the end of.
	GivenUp []string  `json:"given_up,omitempty"`
	Until   time.Time `json:"until"` // a delivery after that is refused
	// For is the attempt of a step that asks, or "".
	For string `json:"for,omitempty"`
	// Revoked are all certificates that are not accepted any more.
	Revoked []Revocation `json:"revoked,omitempty"`

	Instance host.Instance `json:"instance,omitzero"`
	Owner    string        `json:"owner,omitempty"`
	Path     string        `json:"path,omitempty"`
	Content  []byte        `json:"content,omitempty"`
	Budget   time.Duration `json:"budget,omitempty"`
	Address  string        `json:"address,omitempty"`

	Origin host.Origin      `json:"origin,omitzero"`
	Target host.Destination `json:"target,omitzero"`

	To    farm.HostName `json:"to,omitempty"`
	Token string        `json:"token,omitempty"`
	Rate  int64         `json:"rate,omitempty"`
	From  farm.HostName `json:"from,omitempty"`

	Recording string `json:"recording,omitempty"`
	Offset    int64  `json:"offset,omitempty"`
}

// subject is what a call is about, for the log.
func (q request) subject() string {
	for _, i := range []host.Instance{q.Instance, q.Target.Instance, q.Origin.Instance, binlogOp(q).Instance} {
		if i.Name != "" {
			return string(i.Name)
		}
	}
	switch {
	case q.Target.Stored.Set != "":
		return q.Target.Stored.Set
	case q.Origin.Stored.Set != "":
		return q.Origin.Stored.Set
	case q.Path != "":
		return q.Path
	}
	return q.Address
}

// answer is what comes back.
type answer struct {
	Of      bound          `json:"of"`
	Content []byte         `json:"content,omitempty"`
	Seed    host.SeedPoint `json:"seed,omitzero"`
	Copied  host.Copied    `json:"copied,omitzero"`
	Number  int64          `json:"number,omitempty"`
	Yes     bool           `json:"yes,omitempty"`
	Start   host.Start     `json:"start,omitzero"`
	Retired host.Retired   `json:"retired,omitzero"`
	Address string         `json:"address,omitempty"`
	Error   *wireError     `json:"error,omitempty"`
}

// hello is the unsealed answer to callHello, signed for the call.
type hello struct {
	Version string `json:"version"`
	Address string `json:"address"` // where copies are served
}

// kinds are the errors that callers ask for with errors.Is, by the word they
// have on the wire. An agent and a program of different versions may know
// different ones: an unknown word is left out.
var kinds = []struct {
	word string
	err  error
}{
	{"input", farm.ErrInput}, {"refused", farm.ErrRefused}, {"outcome-unknown", farm.ErrOutcomeUnknown},
	{"undone", farm.ErrUndone}, {"interrupted", farm.ErrInterrupted}, {"findings", farm.ErrFindings},
	{"prepared", host.ErrPrepared}, {"foreign", host.ErrForeign},
	{"not-exist", fs.ErrNotExist}, {"exist", fs.ErrExist}, {"permission", fs.ErrPermission},
	{"no-space", syscall.ENOSPC}, {"address-in-use", syscall.EADDRINUSE},
	{"not-archived", host.ErrNotArchived}, {"damaged", vault.ErrDamaged}, {"no-set", vault.ErrNone}, {"log-damaged", binlog.ErrDamaged},
	{"deadline", context.DeadlineExceeded}, {"cancelled", context.Canceled}, {"copy-cut", ErrCut}, {"revoked", ErrRevoked},
}

// wireError is an error on its way back.
type wireError struct {
	Op      string   `json:"op,omitempty"`
	Subject string   `json:"subject,omitempty"`
	Text    string   `json:"text"`
	Hint    string   `json:"hint,omitempty"`
	Kinds   []string `json:"kinds,omitempty"`
}

func toWire(err error) *wireError {
	if err == nil {
		return nil
	}
	w := &wireError{Text: err.Error(), Hint: farm.Hint(err)}
	if own, ok := err.(*farm.Error); ok { //nolint:errorlint // only the outermost gives operation and subject
		w.Op, w.Subject, w.Text = own.Op, own.Subject, own.Err.Error()
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			w.Kinds = append(w.Kinds, k.word)
		}
	}
	return w
}

// fromWire gives the error back, with the host's name in it.
func (w *wireError) fromWire(on farm.HostName) error {
	if w == nil {
		return nil
	}
	far := &farError{text: w.Text}
	for _, word := range w.Kinds {
		for _, k := range kinds {
			if k.word == word {
				far.kinds = append(far.kinds, k.err)
			}
		}
	}
	e := &farm.Error{Op: w.Op, Subject: w.Subject, Hint: w.Hint, Err: far}
	if e.Op == "" {
		e.Op = "call host"
	}
	if e.Subject == "" {
		e.Subject = string(on)
	} else {
		e.Subject += " on " + string(on)
	}
	return e
}

// farError is the cause of an error that happened on another machine.
type farError struct {
	text  string
	kinds []error
}

func (e *farError) Error() string   { return e.text }
func (e *farError) Unwrap() []error { return e.kinds }

// purposes bind a sealed message to its host, its call and its direction.
func askPurpose(h farm.HostName, id string) string { return fmt.Sprintf("ask %s %s", h, id) }
func answerPurpose(h farm.HostName, id string) string {
	return fmt.Sprintf("answer %s %s", h, id)
}

func helloPurpose(h farm.HostName, id string) string { return fmt.Sprintf("hello %s %s", h, id) }

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil { // structs of strings, numbers and bytes always encode
		return nil
	}
	return raw
}
