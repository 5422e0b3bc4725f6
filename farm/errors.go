package farm

import (
	"errors"
	"fmt"
)

// Error is what every package returns when an operation on a named thing
// fails. It prints as "op subject: cause"; Hint is the next thing an operator
// should do, and is shown apart by the command line.
type Error struct {
	Op      string // "start instance"
	Subject string // "dbshard001a"
	Hint    string
	Err     error
}

func (e *Error) Error() string {
	if e.Subject == "" {
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("%s %s: %v", e.Op, e.Subject, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// The kinds of failure that decide an exit code. Wrap them with %w.
var (
	// ErrInput: what was typed or a file we were given cannot be used.
	ErrInput = errors.New("unusable input")
	// ErrRefused: it could be done and it would not be safe.
	ErrRefused = errors.New("refused as unsafe")
	// ErrOutcomeUnknown: we asked for a change and do not know whether it
	// happened. Never retried blindly.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrUndone: an act failed and what it had changed was taken back.
	ErrUndone = errors.New("failed, and undone")
	// ErrInterrupted: stopped by a signal; the act can be resumed.
	ErrInterrupted = errors.New("interrupted")
	// ErrFindings: the command worked and found something to look at.
	ErrFindings = errors.New("findings")
)

// Hint is the first hint found along err's chain, or "".
func Hint(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}
