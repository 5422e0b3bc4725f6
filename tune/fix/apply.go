package fix

import (
	"context"
	"fmt"
	"strings"

	"stowage/tune"
)

// Settings reads and writes what changes are about.
type Settings interface {
	Get(ctx context.Context, c tune.Change) (string, error)
	Set(ctx context.Context, c tune.Change, value string) error
	// Along are the settings that change by themselves when this one does, by path, with their values: a scheduler brings its own
	// queue depth. Nil for most.
	Along(ctx context.Context, c tune.Change) map[string]string
}

// Now is when and on which boot of the machine something is done.
type Now struct {
	At   string // RFC 3339
	Boot string // /proc/sys/kernel/random/boot_id; "" when it is not known
}

// State is what became of one change.
type State string

const (
	Set      State = "set"        // written, and read back
	Already  State = "already"    // nothing had to be done
	Left     State = "left alone" // somebody else's
	Failed   State = "failed"     // as before, and Why says why
	Unknown  State = "unknown"    // neither written nor put back for sure
	Restored State = "put back"
)

// Result is one change with what became of it.
type Result struct {
	tune.Change
	State State  `json:"state"`
	Why   string `json:"why,omitempty"`
}

// Apply carries changes out, in their order. border is called at "tune
// journal" when the journal is synced, and at "tune set" behind each write;
// tests kill the process there.
func (j *Journal) Apply(ctx context.Context, s Settings, now Now, changes []tune.Change, border func(string) error) ([]Result, error) {
	return j.apply(ctx, s, entry{At: now.At, Boot: now.Boot}, changes, border)
}

// Try is Apply for as long as somebody measures what the changes bring. Then Keep makes them like those of Apply, or TakeBack
// takes them back; so does whoever opens the journal next, when this process is killed.
func (j *Journal) Try(ctx context.Context, s Settings, now Now, changes []tune.Change, border func(string) error) ([]Result, error) {
	return j.apply(ctx, s, entry{At: now.At, Boot: now.Boot, OnTrial: true}, changes, border)
}

// apply writes an entry like the first for each change, and then the settings.
func (j *Journal) apply(ctx context.Context, s Settings, first entry, changes []tune.Change, border func(string) error) ([]Result, error) {
	kept, err := j.entries()
	if err != nil {
		return nil, err
	}
	out := make([]Result, len(changes))
	var todo []int
	entries := kept
	for i, c := range changes {
		out[i] = Result{Change: c}
		if Look(ctx, s, &out[i]) {
			todo = append(todo, i)
			e := first
			e.Change, e.Along = c, s.Along(ctx, c)
			entries = append(entries, e)
		}
	}
	if len(todo) == 0 {
		return out, nil
	}
	if err := j.write(entries); err != nil {
		return nil, err
	}
	if err := border("tune journal"); err != nil {
		return out, err
	}
	var undone []tune.Change
	for _, i := range todo {
		if err := ctx.Err(); err != nil {
			out[i].State, out[i].Why = Failed, "stopped before it was written"
			undone = append(undone, out[i].Change)
			continue
		}
		if set(ctx, s, &out[i]); out[i].State == Failed {
			undone = append(undone, out[i].Change)
		}
		if err := border("tune set"); err != nil {
			return out, err
		}
	}
	return out, j.forget(undone)
}

// Look reads a setting again and says whether the change is still to be done.
func Look(ctx context.Context, s Settings, r *Result) bool {
	current, err := s.Get(ctx, r.Change)
	switch {
	case err != nil:
		r.State, r.Why = Failed, err.Error()
	case same(current, r.To):
		r.State = Already
	case !same(current, r.From):
		r.State, r.Why = Left, fmt.Sprintf("it is %s now, and was %s when the rules looked", current, r.From)
	default:
		return true
	}
	return false
}

// set writes one setting and reads it back; one that did not take is put back.
func set(ctx context.Context, s Settings, r *Result) {
	err := s.Set(ctx, r.Change, r.To)
	current, readErr := s.Get(context.WithoutCancel(ctx), r.Change)
	switch {
	case readErr != nil:
		r.State, r.Why = Unknown, fmt.Sprintf("it cannot be read back: %v", readErr)
	case same(current, r.To):
		r.State = Set
	case same(current, r.From):
		r.State, r.Why = Failed, "it was not changed"
		if err != nil {
			r.Why = err.Error()
		}
	default:
		r.State, r.Why = Failed, fmt.Sprintf("it became %s, and was put back", current)
		if err := s.Set(context.WithoutCancel(ctx), r.Change, r.From); err != nil {
			r.State, r.Why = Unknown, fmt.Sprintf("it became %s, and could not be put back: %v", current, err)
		}
	}
}

// forget takes changes that did not happen out of the journal.
func (j *Journal) forget(undone []tune.Change) error {
	if len(undone) == 0 {
		return nil
	}
	entries, err := j.entries()
	if err != nil {
		return err
	}
	for _, c := range undone {
		for i := len(entries) - 1; i >= 0; i-- {
			if entries[i].Change == c {
				entries = append(entries[:i], entries[i+1:]...)
				break
			}
		}
	}
	return j.write(entries)
}

// same compares values as the kernel and servers do: ON, on and 1 are one.
func same(a, b string) bool {
	plain := func(v string) string {
		switch v = strings.ToLower(strings.TrimSpace(v)); v {
		case "on", "yes", "true":
			return "1"
		case "off", "no", "false":
			return "0"
		}
		return v
	}
	return plain(a) == plain(b)
}
