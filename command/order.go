package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/lazy"
	"stowage/internal/nested"
)

// Order is one command on one host. The agent in between passes it on unread.
type Order struct {
	Version int      `json:"version"`
	ID      string   `json:"id"` // unlike that of any other order, of any workspace
	Argv    []string `json:"argv"`
	// Env is added to the command's environment. Names begin with STOWAGE_: others could lead a program that is allowed to another that is not.
	Env map[string]string `json:"env,omitempty"`
	// Limit is how long the command may run: then it is ended, with a signal first. 0: for as long as it takes.
	Limit time.Duration `json:"limit_ns,omitempty"`
	// Repeatable: it may be run again where nobody can tell how it ended.
	Repeatable bool `json:"repeatable,omitempty"`
	// Reboots: the command starts the machine again. The order is done when the machine is another start than the one it began in, and until then the command may be
	// run again: nothing else has happened. Limit bounds how long the machine may stay up.
	Reboots bool `json:"reboots,omitempty"`
}

// orderVersion goes up when an older Station would do something else than it is asked. Those of rebootVersion know reboots.
const (
	orderVersion  = 1
	rebootVersion = 2
)

// Encode is the order as a Station reads it.
func (o Order) Encode() []byte {
	o.Version = orderVersion
	if o.Reboots {
		o.Version = rebootVersion
	}
	raw, _ := json.Marshal(o) // strings and numbers always encode
	return raw
}

// String is the command for people.
func (o Order) String() string { return Line(o.Argv) }

// Line is a command for people: arguments with blanks are in quotes.
func Line(argv []string) string {
	words := make([]string, len(argv))
	for n, w := range argv {
		if words[n] = w; w == "" || strings.ContainsAny(w, " \t\n'\"") {
			words[n] = fmt.Sprintf("%q", w)
		}
	}
	return strings.Join(words, " ")
}

func (o Order) same(other Order) bool {
	return slices.Equal(o.Argv, other.Argv) && maps.Equal(o.Env, other.Env) && o.Limit == other.Limit && o.Repeatable == other.Repeatable && o.Reboots == other.Reboots
}

var (
	safeID  = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)
	envName = lazy.Regexp(`^STOWAGE_[A-Z_]{1,40}$`)
)

// mostArguments bounds a command: far below what a kernel takes, and enough for every one that a person writes.
const mostArguments = 64 << 10

// Check reports what is wrong with a command before it is sent anywhere.
func (o Order) Check() error {
	size := 0
	for _, w := range o.Argv {
		if size += len(w); strings.Contains(w, "\x00") {
			return errors.New("an argument holds a zero byte")
		}
	}
	switch {
	case len(o.Argv) == 0 || o.Argv[0] == "":
		return errors.New("there is no command")
	case strings.Contains(o.Argv[0], "/") && !filepath.IsAbs(o.Argv[0]):
		return fmt.Errorf("%q is a relative path: write it from / on, or a name that is found in PATH", o.Argv[0])
	case size > mostArguments:
		return fmt.Errorf("the command is %d bytes long: at most %d", size, mostArguments)
	case o.Limit < 0:
		return errors.New("its time limit is negative")
	}
	return nil
}

// readOrder reads an order of another program, which may be of another version, and finds its program on this machine.
func readOrder(raw []byte) (Order, error) {
	var o Order
	fail := func(err error, hint string) (Order, error) {
		return o, &farm.Error{Op: "read order", Subject: o.ID, Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: hint}
	}
	if err := nested.Unmarshal(raw, &o); err != nil {
		return fail(err, "")
	}
	if o.Version != orderVersion && o.Version != rebootVersion {
		return fail(fmt.Errorf("its version is %d, this program knows %d", o.Version, rebootVersion), "let program and agents be of one version: stowage agent status")
	}
	if !safeID().MatchString(o.ID) {
		return fail(fmt.Errorf("%q is not a number of an order", o.ID), "")
	}
	if err := o.Check(); err != nil {
		return fail(err, "")
	}
	for name := range o.Env {
		if !envName().MatchString(name) {
			return fail(fmt.Errorf("it sets %s in the environment", name), "")
		}
	}
	path, err := host.LookUp(o.Argv[0])
	if err != nil {
		return fail(fmt.Errorf("%s is not installed here, or is not a program", o.Argv[0]), "install it on the host, or name it by its whole path")
	}
	o.Argv = append([]string{path}, o.Argv[1:]...)
	return o, nil
}

// Outcome is how a command ended.
type Outcome struct {
	ID    string    `json:"id"`
	Argv  []string  `json:"argv"`
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// Code is its exit code; 128 and the signal when one ended it, 127 when it could not be started.
	Code int `json:"code"`
	// TimedOut: it was ended because its time was over.
	TimedOut bool `json:"timed_out,omitempty"`
	// Runs is how often it was begun: 1, unless its order is repeatable.
	Runs int `json:"runs"`
	// Output is what it printed: the first and the last part of it. It lies whole in the file Kept on its host.
	Output string `json:"output,omitempty"`
	Bytes  int64  `json:"output_bytes,omitempty"`
	Kept   string `json:"kept,omitempty"`
	// Unknown is why nobody can tell how it ended; "": it is known.
	Unknown string `json:"unknown,omitempty"`
	// Rebooted: the machine was started again, as its order asks.
	Rebooted bool `json:"rebooted,omitempty"`
	// StayedUp: it was not, within the time of the order; TimedOut is set, too.
	StayedUp bool `json:"stayed_up,omitempty"`
}

// ReadOutcome reads what a Station has answered.
func ReadOutcome(raw []byte) (Outcome, error) {
	var out Outcome
	if err := nested.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("read outcome of a command: %w", err)
	}
	return out, nil
}

// String is the outcome in one line.
func (o Outcome) String() string {
	switch {
	case o.Unknown != "":
		return "its end is unknown: " + o.Unknown
	case o.Rebooted:
		return "the machine was started again"
	case o.StayedUp:
		return "the machine was not started again in time"
	case o.TimedOut:
		return fmt.Sprintf("it was ended after %v, when its time was over (exit code %d)", o.Ended.Sub(o.Began).Round(time.Millisecond), o.Code)
	}
	return fmt.Sprintf("exit code %d after %v", o.Code, o.Ended.Sub(o.Began).Round(time.Millisecond))
}

// part is how much of the beginning and of the end of an output is shown.
const part = 2 << 10

// excerpt is the first and the last part of an output.
func excerpt(head, tail []byte, size int64) string {
	text := string(head)
	switch left := size - int64(len(head)+len(tail)); {
	case left > 0:
		text += fmt.Sprintf("\n[%d bytes left out]\n", left) + string(tail)
	default:
		text += string(tail)
	}
	return strings.ToValidUTF8(text, "?")
}
