package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Format is the version of the payloads that this code writes, and the only one that it interprets. Payloads outlive the process that
// wrote them: lanes of another format are left to the Stowage that began them. Before format 3 a workflow of the job began its lanes.
const Format = 3

// DefaultQueue is the task queue of the workflows themselves, and of every step that names none, of a client without Options.Queue.
const DefaultQueue = "stowage"

// Limits keep a lane inside what one workflow history (50,000 events) and one message (2 MiB) can hold. A job has as many lanes as it likes.
const (
	maxLaneSteps = 2000
	maxLaneBytes = 1 << 20
	maxName      = 200
)

const (
	defaultAttempts = 8
	defaultTimeout  = 24 * time.Hour // a dead worker is noticed by its missing heartbeats, not by this
)

// Job is one durable act: lanes that run side by side, each a list of parts, each part a list of steps.
type Job struct {
	ID    string `json:"id"`   // names the run for ever; no "/"
	Kind  string `json:"kind"` // "move", "alter": handed to the Doer
	Lanes []Lane `json:"lanes"`
	// Format is that of the Stowage that began it; 0: before format 3. See CheckFormat.
	Format  int            `json:"format,omitempty"`
	Budgets map[string]int `json:"budgets,omitempty"` // token -> how many lanes may hold it at once
	// Spares is how many lanes may end undone, by a failure of their own, while other lanes still begin. 0: after any failure no other does.
	Spares int `json:"spares,omitempty"`
}

// Lane is one strand of a job: its parts run in order.
type Lane struct {
	Name  string   `json:"name"`            // unique within the job
	Holds []string `json:"holds,omitempty"` // budget tokens held while the lane runs, all or none
	Parts []Part   `json:"parts"`
	// Stage orders lanes that must not overlap: the caller runs a stage as a
	// job of its own when the one before has ended. The engine takes no notice.
	Stage int `json:"stage,omitempty"`
	// Apart: of the lanes of earlier stages it needs only those that Needs names, not all. The engine takes no notice.
	Apart bool     `json:"apart,omitempty"`
	Needs []string `json:"needs,omitempty"`
	// Closing: the lane has something to do only when a lane of an earlier stage
	// was not done. The engine takes no notice of this either.
	Closing bool `json:"closing,omitempty"`
	// Beside: it touches no pair that is there, only the hosts whose tokens it holds. The engine takes no notice.
	Beside bool `json:"beside,omitempty"`
}

// Part is the work on one subject. It is the unit of undoing: when a step fails, only the steps of its own part are undone.
type Part struct {
	Subject string          `json:"subject"` // "dbshard001/A"
	Args    json.RawMessage `json:"args,omitempty"`
	Steps   []Step          `json:"steps"`
	// Back, when it is not empty, says why no step of the part is done and all are undone, last one first: a part that got stuck on
	// its way back, or one that was done and is not wanted any more. It ends undone.
	Back string `json:"back,omitempty"`
	// Ahead are the steps that are done when the first undo of a part with Back answers Onward: those from the one that had failed on.
	Ahead []Step `json:"ahead,omitempty"`
	// State is what the first step is handed.
	State json.RawMessage `json:"state,omitempty"`
}

// Step is one activity. The zero Timeout is 24 h, zero Attempts are 8, the empty Queue is that of the workflow.
type Step struct {
	Name     string        `json:"name"`
	Queue    string        `json:"queue,omitempty"`
	Undoable bool          `json:"undoable,omitempty"`
	NoReturn bool          `json:"no_return,omitempty"` // once this step has started, its part is never undone automatically
	Timeout  time.Duration `json:"timeout,omitempty"`   // of one attempt, in nanoseconds on the wire
	Attempts int           `json:"attempts,omitempty"`  // for ordinary errors
}

// Call is what one attempt of a step is told.
type Call struct {
	Job     string          `json:"job"`
	Kind    string          `json:"kind"`
	Lane    string          `json:"lane"`
	Subject string          `json:"subject"`
	Step    string          `json:"step"`
	Undo    bool            `json:"undo,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	// State is what the last step of this part returned that returned any. For an undo it is the part's last state.
	State   json.RawMessage `json:"state,omitempty"`
	Attempt int             `json:"attempt"` // from 1; deaths of workers count
}

// CheckFormat refuses a job that was begun by a Stowage whose lanes this one does not understand.
func (j Job) CheckFormat() error {
	switch {
	case j.Format > Format:
		return fmt.Errorf("job %s: %w", j.ID, ErrNewer)
	case j.Format < Format:
		return fmt.Errorf("job %s: %w", j.ID, ErrOlder)
	}
	return nil
}

// Validate reports everything that is wrong with the job, in the order of its fields.
func (j Job) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := checkName(j.ID); err != nil {
		bad("job id %q: %w", j.ID, err)
	} else if strings.Contains(j.ID, "/") {
		bad(`job id %q: must not contain "/"`, j.ID)
	}
	if len(j.Lanes) == 0 {
		bad("job has no lanes")
	}
	for name, n := range j.Budgets {
		if n < 1 {
			bad("budget %q is %d: must be at least 1", name, n)
		}
	}
	seen := map[string]bool{}
	for _, lane := range j.Lanes {
		if seen[lane.Name] {
			bad("lane %q: name used twice", lane.Name)
		}
		seen[lane.Name] = true
		if err := lane.validate(j.Budgets); err != nil {
			bad("lane %q: %w", lane.Name, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("check job %s: %w", j.ID, err)
	}
	return nil
}

func (l Lane) validate(budgets map[string]int) error {
	var errs []error
	errs = append(errs, checkName(l.Name))
	held := map[string]bool{}
	for _, token := range l.Holds {
		if _, ok := budgets[token]; !ok {
			errs = append(errs, fmt.Errorf("holds %q, which has no budget", token))
		}
		if held[token] {
			errs = append(errs, fmt.Errorf("holds %q twice", token))
		}
		held[token] = true
	}
	steps := 0
	for _, part := range l.Parts {
		steps += len(part.Steps)
		if err := part.validate(); err != nil {
			errs = append(errs, fmt.Errorf("part %q: %w", part.Subject, err))
		}
	}
	if steps == 0 || steps > maxLaneSteps {
		errs = append(errs, fmt.Errorf("has %d steps: must be 1 to %d", steps, maxLaneSteps))
	}
	if text, err := json.Marshal(l); err != nil {
		errs = append(errs, fmt.Errorf("encode: %w", err))
	} else if len(text) > maxLaneBytes {
		errs = append(errs, fmt.Errorf("is %d bytes: at most %d; keep large arguments in a file and pass its name", len(text), maxLaneBytes))
	}
	return errors.Join(errs...)
}

func (p Part) validate() error {
	errs := []error{checkName(p.Subject)}
	if len(p.Args) > 0 && !json.Valid(p.Args) {
		errs = append(errs, errors.New("args are not JSON"))
	}
	if p.Back != "" && len(p.Steps) == 0 {
		errs = append(errs, errors.New("has no step to undo"))
	}
	if len(p.State) > 0 && !json.Valid(p.State) {
		errs = append(errs, errors.New("state is not JSON"))
	}
	for _, s := range slices.Concat(p.Steps, p.Ahead) {
		if err := checkName(s.Name); err != nil {
			errs = append(errs, fmt.Errorf("step %q: %w", s.Name, err))
		}
		if s.Timeout < 0 || s.Attempts < 0 {
			errs = append(errs, fmt.Errorf("step %q: negative timeout or attempts", s.Name))
		}
	}
	return errors.Join(errs...)
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("name is empty")
	case len(name) > maxName:
		return fmt.Errorf("name is longer than %d bytes", maxName)
	}
	return nil
}
