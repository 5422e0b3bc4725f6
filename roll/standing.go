package roll

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/roll/agenda"
	"stowage/store"
)

// Stand is where a host of a roll stands.
type Stand string

// The stands of a host. It is out of rotation from Leaving to Returning, and while it is Stuck behind the work.
const (
	Waiting   Stand = "waiting"
	Leaving   Stand = "leaving"
	AtWork    Stand = "at work"
	Returning Stand = "returning"
	Done      Stand = "done"
	Stuck     Stand = "stuck"
	Undone    Stand = "undone"
)

// Standing is one host of a roll: where it stands, and what has happened to it so far.
type Standing struct {
	Rolled
	Sides []agenda.Instance // that live on it
	Stand Stand
	Step  string    // of the run, that it is at or has failed at
	Text  string    // what is going on, why it waits, or what is wrong
	Doing string    // the step of the work that it is at: "2 of 3: restart its instances"
	Holds bool      // Text is the reason for which nothing moves: a window, an approval, a server that does not answer
	Since time.Time // when the step began; zero: it has not
}

// Pause is one time that clients of a pair were held back while a side left or returned.
type Pause struct {
	At     time.Time // when they could go on
	Host   farm.HostName
	Pair   farm.PairName
	Side   farm.SideName
	Step   string
	Millis float64
}

// Progress is how far a plan of hosts has come, over all runs that have carried it out.
type Progress struct {
	Plan, Made     string
	Runs           []store.Run // oldest first
	Work           agenda.Work
	Takes          time.Duration // one host, as the plan thinks
	Hosts          []Standing    // in the order of the plan, as far as they were begun
	Pauses         []Pause
	Started, Ended time.Time // Ended is zero while a run has not ended
}

// Watch reads how far rolls have come, again and again: only what is new is read from the store. It is safe for several goroutines.
type Watch struct {
	mu     sync.Mutex
	runs   map[string]*watched
	rolled map[string]knownHost // by the key of an order
}

// watched is one run of kind Roll.
type watched struct {
	orders []hostOrder
	after  int64 // id of the last event that was read
	rows   map[farm.HostName]*row
	pauses []Pause
}

// row is what events say of one host of one run.
type row struct {
	step, text, failed string
	holds, undone      bool
	since              time.Time
	told               int
}

type knownHost struct {
	told int // events when it was read
	Rolled
}

// Of is how far the plan has come that the newest run of kind Roll carries out; store.ErrNone when there is no run.
func (w *Watch) Of(s *store.Store) (Progress, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs, w.rolled = map[string]*watched{}, map[string]knownHost{}
	}
	runs, err := s.Runs(Roll)
	if err != nil {
		return Progress{}, err
	}
	var p Progress
	for _, r := range runs { // newest first
		if len(p.Runs) > 0 && r.Subject != p.Plan {
			continue
		}
		x, err := w.of(s, r.ID)
		if errors.Is(err, store.ErrNone) || err == nil && len(x.orders) == 0 {
			continue // it was cut off while it was begun
		}
		if err != nil {
			return p, err
		}
		o := x.orders[0]
		if len(p.Runs) == 0 {
			p.Plan, p.Made, p.Work, p.Takes, p.Ended = o.Plan, o.Made, o.Work, o.Takes, r.Ended
		}
		if o.Plan == p.Plan && o.Made == p.Made {
			p.Runs, p.Started = append(p.Runs, r), r.Started
		}
	}
	if len(p.Runs) == 0 {
		return p, fmt.Errorf("find a roll: %w", store.ErrNone)
	}
	slices.Reverse(p.Runs)
	at := map[farm.HostName]int{}
	for _, r := range p.Runs {
		x := w.runs[r.ID]
		ends, err := endsOf(s, r)
		if err != nil {
			return p, err
		}
		for _, o := range x.orders {
			h, err := w.standing(s, x, o, ends[o.Host])
			if err != nil {
				return p, err
			}
			if n, twice := at[o.Host]; twice { // a later run has continued with what an earlier one has left
				p.Hosts[n] = h
				continue
			}
			at[o.Host] = len(p.Hosts)
			p.Hosts = append(p.Hosts, h)
		}
		p.Pauses = append(p.Pauses, x.pauses...)
	}
	return p, nil
}

// of reads what is new of a run.
func (w *Watch) of(s *store.Store, run string) (*watched, error) {
	x := w.runs[run]
	if x == nil {
		orders, err := ordersOf(s, run)
		if err != nil {
			return nil, err
		}
		x = &watched{orders: orders, rows: map[farm.HostName]*row{}}
		w.runs[run] = x
	}
	events, after, err := s.Events(run, x.after)
	if err != nil {
		return nil, err
	}
	x.after = after
	for _, e := range events {
		x.apply(e)
	}
	return x, nil
}

func (x *watched) apply(e farm.Event) {
	if e.Host == "" {
		return
	}
	r := x.rows[e.Host]
	if r == nil {
		r = &row{}
		x.rows[e.Host] = r
	}
	r.told++
	switch e.Kind {
	case farm.StepStarted:
		*r = row{step: e.Step, text: e.Text, since: e.Time, told: r.told}
	case farm.StepProgress:
		r.text, r.holds = e.Text, false
	case farm.StepWaiting, farm.WayBackLost:
		r.text, r.holds = e.Text, true
	case farm.StepFailed:
		r.failed = e.Text
	case farm.StepUndone:
		r.undone, r.text = true, e.Text
	case farm.StepDone:
		r.failed, r.text, r.holds = "", "", false
	case farm.GateOpened:
		x.pauses = append(x.pauses, Pause{At: e.Time, Host: e.Host, Pair: e.Pair, Side: e.Side, Step: e.Step, Millis: e.Millis})
	}
}

// endsOf are the lanes of a run that have ended, by host. A run that has ended says so itself; while it runs each lane is kept as it ends.
func endsOf(s *store.Store, run store.Run) (map[farm.HostName]engine.LaneResult, error) {
	out := map[farm.HostName]engine.LaneResult{}
	if run.Result != "" {
		var whole act.Outcome
		if err := nested.Unmarshal([]byte(run.Result), &whole); err != nil {
			return nil, fmt.Errorf("read result of %s: %w", run.ID, err)
		}
		for _, l := range whole.Lanes {
			out[farm.HostName(l.Name)] = l
		}
		return out, nil
	}
	lanes, err := s.Lanes(run.ID)
	if err != nil {
		return nil, err
	}
	for _, l := range lanes {
		if l.Result == "" {
			continue
		}
		var r engine.LaneResult
		if err := nested.Unmarshal([]byte(l.Result), &r); err != nil {
			return nil, fmt.Errorf("read result of %s: %w", l.Name, err)
		}
		out[farm.HostName(l.Name)] = r
	}
	return out, nil
}

// standing is one host of a run. What has happened to it is read again when something was told of it since.
func (w *Watch) standing(s *store.Store, x *watched, o hostOrder, end engine.LaneResult) (Standing, error) {
	r := x.rows[o.Host]
	if r == nil {
		r = &row{}
	}
	known, has := w.rolled[o.key()]
	if !has || known.told != r.told || end.End == "" && known.IsOut() { // what is out changes without a word
		is, err := rolledOf(s, o)
		if err != nil {
			return Standing{}, err
		}
		known = knownHost{r.told, is}
		w.rolled[o.key()] = known
	}
	h := Standing{Rolled: known.Rolled, Step: r.step, Text: r.text, Holds: r.holds, Since: r.since}
	for _, side := range o.Sides {
		h.Sides = append(h.Sides, agenda.Instance{Pair: side.Pair, Side: side.Side, Port: side.Leaves.At.Port, Role: side.Role, Twin: side.Twin.At.Host})
	}
	h.Stand = standOf(h, *r, end)
	if h.Stand == AtWork {
		h.Doing = doing(o.Work, known.Rolled)
	}
	if h.Stand == Stuck || h.Stand == Undone {
		h.Step, h.Text = end.Step, end.Error
	} else if r.failed != "" {
		h.Text = "trying again: " + r.failed
	}
	return h, nil
}

// doing is the first step of the work that is not done yet.
func doing(w agenda.Work, x Rolled) string {
	for n, s := range w.Steps {
		switch _, _, ok := x.did(n); {
		case ok:
		case len(w.Steps) == 1:
			return s.String()
		default:
			return fmt.Sprintf("%d of %d: %s", n+1, len(w.Steps), s)
		}
	}
	return ""
}

// standOf follows from how the lane has ended, and else from the step that it is at.
func standOf(h Standing, r row, end engine.LaneResult) Stand {
	switch end.End {
	case engine.EndStuck, engine.EndUnknown:
		return Stuck
	case engine.EndUndone:
		return Undone
	case engine.EndDone:
		return Done
	}
	switch {
	case !h.Back.IsZero():
		return Done
	case r.undone:
		return Undone
	}
	switch r.step {
	case "", StepWindow, "preflight":
		return Waiting
	case "out":
		return Leaving
	case StepWork:
		return AtWork
	}
	return Returning
}
