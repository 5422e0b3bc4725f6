package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/internal/nested"
	"stowage/mysql"
)

// From is where a recording is taken from.
type From string

const (
	FromSlowLog From = "slow-log"
	FromNetwork From = "network"
)

// Order asks the machine of an instance to record it. A Station carries it
// out; the agent in between passes it on unread.
type Order struct {
	Version int    `json:"version"`
	ID      string `json:"id"` // of the recording, in every call about it
	// OnlyKnown: nothing is begun; what came of an earlier order is wanted.
	OnlyKnown bool              `json:"only_known,omitempty"`
	Instance  farm.InstanceName `json:"instance"`
	Address   string            `json:"address"`
	Shared    bool              `json:"shared,omitempty"`
	From      From              `json:"from"`
	Options   Options           `json:"options"`
	Login     mysql.Account     `json:"login"`
}

// orderVersion goes up when an older Station would do something else than it
// is asked. A bound that it does not know is refused in any case.
const orderVersion = 1

// Outcome is what came of an order.
type Outcome struct {
	Result Result `json:"result"`
	Digest int64  `json:"digest_bytes,omitempty"` // of the stored digest, which is read apart; 0: there is none
	Fault  *Fault `json:"fault,omitempty"`
	// Ended: nothing else will come of it. It is false when the order was
	// refused, and when a server has to be put back first.
	Ended bool `json:"ended,omitempty"`
}

// without is an outcome that holds no recording.
func (o Order) without(why Stop, err error) Outcome {
	return Outcome{Result: Result{Instance: o.Instance, Address: o.Address, Stopped: why, SettingsRestored: []string{}}, Fault: faultOf(err)}
}

var safeName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// readOrder reads an order of another program, which may be of another version.
func readOrder(raw []byte) (Order, error) {
	var o Order
	if err := nested.JSON(raw); err != nil {
		return o, &farm.Error{Op: "read order to record", Err: fmt.Errorf("%w: %w", farm.ErrRefused, err)}
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	err := d.Decode(&o)
	switch {
	case err != nil:
	case o.Version != orderVersion:
		err = fmt.Errorf("its version is %d, this program knows %d", o.Version, orderVersion)
	case !safeName().MatchString(o.ID) || !safeName().MatchString(string(o.Instance)):
		err = errors.New("it names no recording, or no instance")
	case o.From != FromSlowLog && o.From != FromNetwork:
		err = fmt.Errorf("it records from %q", o.From)
	case o.Options.Keep != "":
		err = errors.New("packets are not kept for a program elsewhere")
	case !o.OnlyKnown:
		err = o.Options.Check()
	}
	if err != nil {
		return o, &farm.Error{Op: "read order to record", Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: "let program and agents be of one version: stowage agent status"}
	}
	return o, nil
}

// Fault is an error that was kept, or comes from another machine.
type Fault struct {
	Op      string `json:"op,omitempty"`
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"`
	Kind    string `json:"kind,omitempty"`
}

// faultKinds decide the exit code, the most severe first.
var faultKinds = []struct {
	word string
	err  error
}{
	{"outcome-unknown", farm.ErrOutcomeUnknown}, {"input", farm.ErrInput}, {"refused", farm.ErrRefused}, {"undone", farm.ErrUndone},
}

func faultOf(err error) *Fault {
	if err == nil {
		return nil
	}
	f := &Fault{Op: "record", Text: err.Error(), Hint: farm.Hint(err)}
	var own *farm.Error
	if errors.As(err, &own) && own.Error() == err.Error() {
		f.Op, f.Subject, f.Text = own.Op, own.Subject, own.Err.Error()
	}
	for _, k := range faultKinds {
		if errors.Is(err, k.err) {
			f.Kind = k.word
			break
		}
	}
	return f
}

// Err is the error again; its text is what it was.
func (f *Fault) Err() error {
	if f == nil {
		return nil
	}
	cause := faultCause{text: f.Text}
	for _, k := range faultKinds {
		if k.word == f.Kind {
			cause.kind = k.err
		}
	}
	return &farm.Error{Op: f.Op, Subject: f.Subject, Hint: f.Hint, Err: cause}
}

type faultCause struct {
	text string
	kind error
}

func (c faultCause) Error() string { return c.text }
func (c faultCause) Unwrap() error { return c.kind }

// telling is how far a recording elsewhere is, as it is told on the way. One
// telling may be missed: each holds all that came before.
type telling struct {
	Bytes   int64 `json:"bytes"`
	Began   bool  `json:"began,omitempty"`
	Ended   bool  `json:"ended,omitempty"`
	Stopped Stop  `json:"stopped,omitempty"`
}

// farLimit is the longest window of a recording elsewhere: a call lives for a
// day.
const farLimit = 23 * time.Hour
