package fix

import (
	"context"
	"fmt"
	"slices"
)

// Revert takes back what the journal knows, newest first, and forgets what it
// has taken back or left alone. What could not be reached stays in it.
func (j *Journal) Revert(ctx context.Context, s Settings, now Now, border func(string) error) ([]Result, error) {
	entries, err := j.entries()
	if err != nil {
		return nil, err
	}
	var out []Result
	var kept []entry
	for _, e := range slices.Backward(entries) {
		r := Result{Change: e.Change}
		if err := ctx.Err(); err != nil {
			kept = append(kept, e)
			r.State, r.Why = Failed, "stopped before it was put back"
			out = append(out, r)
			continue
		}
		putBack(ctx, s, now, e, &r)
		if r.State == Failed || r.State == Unknown {
			kept = append(kept, e)
		}
		out = append(out, r)
		if err := border("tune revert"); err != nil {
			slices.Reverse(kept)
			return out, err
		}
	}
	slices.Reverse(kept)
	return out, j.write(kept)
}

func putBack(ctx context.Context, s Settings, now Now, e entry, r *Result) {
	current, err := s.Get(ctx, e.Change)
	switch {
	case err != nil:
		r.State, r.Why = Failed, err.Error()
	case same(current, e.From):
		r.State, r.Why = Already, "it is as it was before"
	case !same(current, e.To):
		r.State, r.Why = Left, fmt.Sprintf("somebody else has set it to %s since; it was %s before us", current, e.From)
	case e.Path != "" && e.Boot != "" && now.Boot != "" && e.Boot != now.Boot:
		r.State, r.Why = Left, fmt.Sprintf("the machine was restarted since, so somebody else has set it to %s; it was %s before us", current, e.From)
	default:
		back := Result{Change: e.Change}
		back.From, back.To = e.To, e.From
		if set(ctx, s, &back); back.State == Set {
			r.State = Restored
			return
		}
		r.State, r.Why = back.State, back.Why
	}
}
