package act

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/store"
)

// LostWay is a part that serves at its new place and cannot be undone any more,
// before its point of no return.
type LostWay struct {
	Part  string    `json:"part"`
	Since time.Time `json:"since"` // it is known
	Why   string    `json:"why"`
	// Again: somebody said resume, and it is being tried again.
	Again bool `json:"tried_again,omitempty"`
	// Forward is who has decided that it goes on without.
	Forward *Said `json:"forward,omitempty"`
}

// LostWords begin what is said of it, for whoever looks for them in a log.
const LostWords = "THE WAY BACK IS LOST"

// goForward is how a person goes on.
const goForward = "stowage approve --without-way-back"

// withoutWayBack is what an order forward says.
const withoutWayBack = "without a way back"

// IsOpen reports whether it waits for a person.
func (w LostWay) IsOpen() bool { return w.Forward == nil && !w.Again }

func (w LostWay) String() string {
	if w.Forward != nil {
		return fmt.Sprintf("without a way back %s; it was lost at %s: %s", w.Forward, w.Since.Local().Format("15:04:05"), w.Why)
	}
	return fmt.Sprintf("%s since %s: %s; it serves at its new place and waits for a person: %s", LostWords, w.Since.Local().Format("15:04:05"), w.Why, goForward)
}

// LostWay is what is known of a part's way back, nil when that is open.
func (s Steering) LostWay(part string) *LostWay {
	n := slices.IndexFunc(s.Lost, func(w LostWay) bool { return w.Part == part })
	if n < 0 {
		return nil
	}
	return &s.Lost[n]
}

// changeLost never changes a list that somebody may read.
func (s *Steering) changeLost(change func(*LostWay)) {
	s.Lost = slices.Clone(s.Lost)
	for i := range s.Lost {
		change(&s.Lost[i])
	}
}

// lose: since is when it was first lost, whatever was tried meanwhile.
func (s *Steering) lose(o store.Order) {
	if s.LostWay(o.Part) == nil {
		s.Lost = append(slices.Clone(s.Lost), LostWay{Part: o.Part, Since: o.At})
	}
	s.changeLost(func(w *LostWay) {
		if w.Part == o.Part {
			w.Why, w.Again = o.Why, false
		}
	})
}

func (s *Steering) tryAgain() {
	s.changeLost(func(w *LostWay) { w.Again = w.Forward == nil })
}

// judgeLost decides about a part whose way back is lost. An approval and the rest of
// a soak are behind whoever was told to go on without; a pause is not.
func (s Steering) judgeLost(here at, step Step) (v verdict, decided bool) {
	way := s.LostWay(here.part)
	switch {
	case way == nil:
		return verdict{}, false
	case way.Forward != nil && s.begun[here]:
		return verdict{}, true
	case way.Forward != nil && s.Paused != nil && s.Ending == nil:
		return s.pausedBefore(step), true
	case way.Forward != nil:
		return begins(step), true
	case way.IsOpen() && !s.begun[here]:
		return verdict{may: mustWait, text: way.String()}, true
	}
	return verdict{}, false
}

// judgeUndo is judge for the undo of a step.
func (s Steering) judgeUndo(part string) verdict {
	switch way := s.LostWay(part); {
	case way == nil || way.Again && way.Forward == nil:
		return verdict{}
	case way.Forward != nil:
		return verdict{may: mustTurn, text: way.String()}
	default:
		return verdict{may: mustWait, text: way.String()}
	}
}

// Lost is the answer of a step that has found the way back of its part lost, for
// the reason why in short, and has left the part serving at its new place.
func Lost(why string, err error) error { return &lostError{err, why} }

type lostError struct {
	error
	why string // in short
}

func (e *lostError) Unwrap() error { return e.error }

// waitLost has a part wait whose step answered with a lostError; nil for all
// other errors. It is written down before the lane waits.
func (m *Conductor) waitLost(c engine.Call, w Work, err error) error {
	var lost *lostError
	if m.Steer == nil || !errors.As(err, &lost) {
		return nil
	}
	if err := m.Steer.noteWhy(orderLost, c.Subject, c.Step, lost.why); err != nil {
		return err
	}
	if err := m.Steer.refresh(); err != nil {
		return err
	}
	now, _ := m.Steer.Now()
	text := now.LostWay(c.Subject).String()
	w.Report(farm.Event{Kind: farm.WayBackLost, Text: text + "\n  " + farm.Hint(lost)})
	return engine.Held(text)
}

// canEnd refuses to end a run in which a part cannot be taken back: it would get
// stuck there. A person decides about that part first.
func canEnd(s *store.Store, run, verb string) error {
	now, err := SteeringOf(s, run)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(now.Lost, LostWay.IsOpen)
	if n < 0 {
		return nil
	}
	w := now.Lost[n]
	return Refused(verb, w.Part, fmt.Errorf("the way back is lost since %s: %s; undo would lose what was written", w.Since.Local().Format("15:04:05"), w.Why),
		"it serves and waits; go on without a way back: "+goForward+" --reason WHY; back again is then a new move")
}

// Forward lets parts whose way back is lost go on without it: one, or all that
// wait for that. They come back.
func Forward(s *store.Store, name, part, why string) (store.Run, []LostWay, error) {
	run, err := openRun(s, "approve", name)
	if err != nil {
		return run, nil, err
	}
	now, err := SteeringOf(s, run.ID)
	if err != nil {
		return run, nil, err
	}
	var open []LostWay
	for _, w := range now.Lost {
		if w.Forward == nil && (part == "" || part == w.Part) {
			open = append(open, w)
		}
	}
	if len(open) == 0 {
		return run, nil, Refused("approve", run.ID, errors.New("nothing waits there because its way back is lost"), "stowage status")
	}
	for _, w := range open {
		if err := say(s, run.ID, orderForward, w.Part, withoutWayBack, why); err != nil {
			return run, nil, err
		}
	}
	return run, open, nil
}
