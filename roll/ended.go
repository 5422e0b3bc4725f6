package roll

import (
	"fmt"
	"slices"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/store"
)

// HostEnd is how one host of a run ended, or is by now.
type HostEnd struct {
	Host farm.HostName `json:"host"`
	End  engine.End    `json:"end"` // "": it is under way, or has not begun
	// CommandRC is the exit code of its command, of the first that failed where there are several; nil: none has run.
	CommandRC  *int            `json:"command_rc"`
	Runs       int             `json:"runs"` // how often its command was begun; of several the most
	SecondsOut float64         `json:"seconds_out"`
	Out        time.Time       `json:"out_at,omitzero"`  // when the last of its sides had left
	Back       time.Time       `json:"back_at,omitzero"` // when the last served again
	Pairs      []farm.PairName `json:"pairs"`
	Unknown    bool            `json:"unknown,omitempty"` // the end of its command is unknown
	Noted      int             `json:"failures_noted,omitempty"`
	Error      string          `json:"error,omitempty"`
}

// Ends are the hosts of a run, in its order.
func Ends(s *store.Store, run store.Run, now time.Time) ([]HostEnd, error) {
	orders, err := ordersOf(s, run.ID)
	if err != nil {
		return nil, err
	}
	var out act.Outcome
	if run.Result != "" {
		if err := nested.Unmarshal([]byte(run.Result), &out); err != nil {
			return nil, fmt.Errorf("read result of %s: %w", run.ID, err)
		}
	}
	ends := []HostEnd{}
	for _, o := range orders {
		x, err := rolledOf(s, o)
		if err != nil {
			return nil, err
		}
		e := HostEnd{Host: o.Host, SecondsOut: x.SecondsOut(now), Out: x.Out, Back: x.Back, Pairs: x.Pairs}
		if code, runs, ok := x.Code(); ok {
			e.CommandRC, e.Runs = &code, runs
		}
		for _, d := range x.Done {
			e.Unknown = e.Unknown || d.Command != nil && d.Command.Unknown != ""
			if d.Noted {
				e.Noted++
			}
		}
		if n := slices.IndexFunc(out.Lanes, func(l engine.LaneResult) bool { return l.Name == string(o.Host) }); n >= 0 {
			e.End, e.Error = out.Lanes[n].End, out.Lanes[n].Error
		}
		ends = append(ends, e)
	}
	return ends, nil
}

// ordersOf are those of the hosts of a run.
func ordersOf(s *store.Store, run string) ([]hostOrder, error) {
	var job engine.Job
	if _, err := s.LatestDocument("job", run, &job); err != nil {
		return nil, err
	}
	var out []hostOrder
	for _, l := range job.Lanes {
		for _, p := range l.Parts {
			var o hostOrder
			if err := nested.Unmarshal(p.Args, &o); err != nil {
				return nil, fmt.Errorf("read order of %s: %w", p.Subject, err)
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// NewestOf is the newest run that rolls a host; store.ErrNone when there is none.
func NewestOf(s *store.Store, h farm.HostName) (store.Run, error) {
	runs, err := s.Runs(Roll)
	if err != nil {
		return store.Run{}, err
	}
	for _, r := range runs {
		orders, err := ordersOf(s, r.ID)
		if err != nil {
			return store.Run{}, err
		}
		if slices.ContainsFunc(orders, func(o hostOrder) bool { return o.Host == h }) {
			return r, nil
		}
	}
	return store.Run{}, store.ErrNone
}

// LetHostIn says that a person has remedied what keeps a host of a run out, and which variables have changed with that. Commands that failed, or of which
// nobody can tell how they ended, count as done.
func (r *Roller) LetHostIn(run store.Run, h farm.HostName, changed []string) error {
	for _, name := range changed {
		if !MayAnnounce(name) {
			return &farm.Error{Op: "bring back", Subject: string(h), Err: fmt.Errorf("%w: %q is none of the variables that are compared, and no rule of tune", farm.ErrInput, name), Hint: "these are: " + Announceable()}
		}
	}
	orders, err := ordersOf(r.Store, run.ID)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(orders, func(o hostOrder) bool { return o.Host == h })
	if n < 0 {
		return act.Refused("bring back", string(h), fmt.Errorf("run %s does not roll it", run.ID), "stowage runs lists all")
	}
	x, err := rolledOf(r.Store, orders[n])
	if err != nil {
		return err
	}
	if d, failed := x.Failed(); failed {
		x.Accepted = append(x.Accepted, d.Step)
	}
	x.Changed = append(x.Changed, changed...)
	return r.Store.PutDocument(rolledDocument, orders[n].key(), time.Now(), x)
}
