package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
)

// Kind is why a step failed.
type Kind string

const (
	KindFailed    Kind = "failed"    // ordinary error, all attempts used
	KindPermanent Kind = "permanent" // the Doer said that trying again is useless
	KindUnknown   Kind = "unknown"   // the Doer said that it cannot tell whether the effect took place
	KindTimeout   Kind = "timeout"   // the last attempt ran longer than the step's Timeout
	KindLost      Kind = "lost"      // workers died under this step again and again
	KindOutside   Kind = "outside"   // somebody terminated or cancelled the workflow with Temporal's own tools
)

// kindInterrupted never reaches a result: the attempt was given up because its process is stopping or a newer attempt exists.
const kindInterrupted Kind = "interrupted"

// wirePrefix marks our kinds among the error types of an ApplicationError.
const wirePrefix = "stowage."

// maxErrorBytes bounds an error's text; the server refuses far larger ones.
const maxErrorBytes = 16 << 10

// ErrInterrupted is returned by Client.Run when its context ends first. The job goes on, or waits for a worker; run it again to attach.
var ErrInterrupted = errors.New("interrupted; the job can be resumed")

// errSuperseded cancels an attempt that the engine has given up in favour of a newer one.
var errSuperseded = errors.New("a newer attempt of this step exists")

// errStopping cancels an attempt whose process has used up its grace.
var errStopping = errors.New("this process is stopping")

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

type unknownError struct{ error }

func (e *unknownError) Unwrap() error { return e.error }

// Permanent marks err as not worth a retry: the step fails at once and the lane undoes what it may. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// Unknown marks err as an unknown outcome: never retried, never undone; the lane ends "unknown". Unknown(nil) is nil.
func Unknown(err error) error {
	if err == nil {
		return nil
	}
	return &unknownError{err}
}

// KindOf tells how the engine will treat err. Unknown wins over Permanent wherever they are in the chain.
func KindOf(err error) Kind {
	var unknown *unknownError
	var permanent *permanentError
	var aborted *abortedError
	var held *heldError
	var onward *onwardError
	switch {
	case errors.As(err, &unknown):
		return KindUnknown
	case errors.As(err, &aborted):
		return KindAborted
	case errors.As(err, &held):
		return kindHeld
	case errors.As(err, &onward):
		return kindOnward
	case errors.As(err, &permanent):
		return KindPermanent
	default:
		return KindFailed
	}
}

// wireError puts kind and full text of a step's error into the form that crosses the engine.
func wireError(of stepName, err error) error {
	kind := KindOf(err)
	return wired(of, kind, err.Error(), kind != KindFailed)
}

// wired has the kind twice: as the error's type, for people with Temporal's own tools, and in the details, which are sealed.
func wired(of stepName, kind Kind, text string, final bool) error {
	return temporal.NewApplicationErrorWithOptions(wireText(text), wirePrefix+string(kind),
		temporal.ApplicationErrorOptions{NonRetryable: final, Details: []any{stepFailure{of, kind, wireText(text)}}})
}

// overdue is the ordinary error of an attempt that used up its time.
func overdue(of stepName, limit time.Duration, err error) error {
	return wired(of, KindTimeout, fmt.Sprintf("took longer than %v: %v", limit, err), false)
}

// wireText makes any text fit for a protobuf string: server logs quoted in errors can hold any bytes.
func wireText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxErrorBytes {
		return text
	}
	half := maxErrorBytes / 2
	cut := fmt.Sprintf("\n... %d bytes left out ...\n", len(text)-2*half)
	return strings.ToValidUTF8(text[:half]+cut+text[len(text)-half:], "")
}

// failure is a step's error after it has crossed the engine.
type failure struct {
	Kind Kind
	Text string
}

// failureOf reads what wireError wrote, and what the server itself says about attempts that never answered.
func failureOf(err error) failure {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		if kind, ours := strings.CutPrefix(app.Type(), wirePrefix); ours {
			return failure{Kind(kind), app.Message()}
		}
		return failure{KindFailed, app.Message()}
	}
	var late *temporal.TimeoutError
	if errors.As(err, &late) {
		if late.TimeoutType() == timeoutHeartbeat {
			return failure{KindLost, "the worker died or was cut off while it ran this step"}
		}
		return failure{KindTimeout, "took longer than it may, and did not return when it was stopped"}
	}
	var stopped *temporal.CanceledError
	var killed *temporal.TerminatedError
	if errors.As(err, &stopped) || errors.As(err, &killed) {
		return failure{KindOutside, "terminated or cancelled from outside: " + err.Error()}
	}
	return failure{KindFailed, err.Error()}
}

// isFinal reports whether asking the server again cannot help. Everything else is taken for a passing fault.
func isFinal(err error) bool {
	var (
		invalid   *serviceerror.InvalidArgument
		missing   *serviceerror.NotFound
		namespace *serviceerror.NamespaceNotFound
		denied    *serviceerror.PermissionDenied
		unknown   *serviceerror.Unimplemented
	)
	return errors.As(err, &invalid) || errors.As(err, &missing) || errors.As(err, &namespace) ||
		errors.As(err, &denied) || errors.As(err, &unknown)
}
