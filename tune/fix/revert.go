package fix

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stowage/tune"
)

// Revert takes back what the journal knows, newest first, and forgets what it
// has taken back or left alone. What could not be reached stays in it.
func (j *Journal) Revert(ctx context.Context, s Settings, now Now, border func(string) error) ([]Result, error) {
	return j.revert(ctx, s, now, border, func(entry) bool { return true })
}

// TakeBack does the same with what is on trial, and with nothing else.
func (j *Journal) TakeBack(ctx context.Context, s Settings, now Now, border func(string) error) ([]Result, error) {
	return j.revert(ctx, s, now, border, func(e entry) bool { return e.OnTrial })
}

// Keep ends the trial: what was tried stays set, and Revert takes it back like anything else.
func (j *Journal) Keep() error {
	entries, err := j.entries()
	if err != nil {
		return err
	}
	for i := range entries {
		entries[i].OnTrial = false
	}
	return j.write(entries)
}

func (j *Journal) revert(ctx context.Context, s Settings, now Now, border func(string) error, wanted func(entry) bool) ([]Result, error) {
	entries, err := j.entries()
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{} // what the kernel sets anew when we set something else is nobody's choice
	for _, e := range entries {
		for path := range e.Along {
			ours[path] = ours[path] || wanted(e)
		}
	}
	var out []Result
	var kept []entry
	for _, e := range slices.Backward(entries) {
		if !wanted(e) {
			kept = append(kept, e)
			continue
		}
		r := Result{Change: e.Change}
		if err := ctx.Err(); err != nil {
			kept = append(kept, e)
			r.State, r.Why = Failed, "stopped before it was put back"
			out = append(out, r)
			continue
		}
		putBack(ctx, s, now, e, ours[e.Path], &r)
		all := append([]Result{r}, putBackAlong(ctx, s, now, e, r)...)
		if slices.ContainsFunc(all, func(r Result) bool { return r.State == Failed || r.State == Unknown }) {
			kept = append(kept, e)
		}
		out = append(out, all...)
		if err := border("tune revert"); err != nil {
			return out, err
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	slices.Reverse(kept)
	return out, j.write(kept)
}

// restarted reports whether the machine was restarted since. Then the kernel has
// made all its settings anew.
func (e entry) restarted(now Now) bool {
	return e.Variable == "" && e.Boot != "" && now.Boot != "" && e.Boot != now.Boot
}

// putBack sets what was there before us. ours: another entry's setting takes this one along, so that any value may be the kernel's.
func putBack(ctx context.Context, s Settings, now Now, e entry, ours bool, r *Result) {
	current, err := s.Get(ctx, e.Change)
	switch {
	case err != nil:
		r.State, r.Why = Failed, err.Error()
	case same(current, e.From):
		r.State, r.Why = Already, "it was put back"
	case !same(current, e.To) && !(ours && !e.restarted(now)):
		r.State, r.Why = Left, fmt.Sprintf("someone else set it to %s since; it was %s before Stowage", current, e.From)
	case e.restarted(now):
		r.State, r.Why = Left, fmt.Sprintf("the machine was restarted since, and someone else set it to %s; it was %s before Stowage", current, e.From)
	default:
		back := Result{Change: e.Change}
		back.From, back.To = current, e.From
		if set(ctx, s, &back); back.State == Set {
			r.State = Restored
			return
		}
		r.State, r.Why = back.State, back.Why
	}
}

// putBackAlong puts back what the kernel has set anew along with a setting that is
// as before again. Whatever it is now, it was not chosen by anybody.
func putBackAlong(ctx context.Context, s Settings, now Now, e entry, main Result) []Result {
	if main.State != Restored && main.State != Already || e.restarted(now) {
		return nil
	}
	var out []Result
	for _, path := range slices.Sorted(maps.Keys(e.Along)) {
		c := tune.Change{Path: path, From: e.Along[path]}
		var err error
		if c.To, err = s.Get(ctx, c); err != nil {
			out = append(out, Result{Change: c, State: Failed, Why: err.Error()})
			continue
		}
		if same(c.To, c.From) {
			continue
		}
		back := Result{Change: tune.Change{Path: path, From: c.To, To: c.From}}
		if set(ctx, s, &back); back.State == Set {
			back.State, back.Why = Restored, "it had changed along with "+e.Setting()
		}
		out = append(out, Result{Change: c, State: back.State, Why: back.Why})
	}
	return out
}
