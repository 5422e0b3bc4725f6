package act

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/store"
)

// Begun is the kind of the deed with which every run begins.
const Begun = "move"

// The verbs of orders. Those of the second group are notes that the run makes
// beside what people say, so that a kill forgets nothing.
const (
	orderMove      = Begun        // the run was begun; Why is --reason
	orderAskBefore = "ask-before" // What: a step before which a person is asked
	gateOrder      = "gate"       // the same, of a run that an older program began
	orderSoak      = "soak"       // What: how long a side serves before the old one is dropped
	orderPause     = "pause"      // What: holdCopies, or nothing
	orderResume    = "resume"     //
	orderThrottle  = "throttle"   // What: bytes a second, or throttleOff
	orderApprove   = "approve"    // Part (a pair: its parts; empty: every part), What: a step
	orderAbort     = "abort"      //
	orderUndo      = "undo"       //
	orderForward   = "forward"    // Part: it goes on without a way back

	orderAsked   = "asked"   // a part waits for an approval
	orderSoaking = "soaking" // a part began to soak
	orderBegun   = "begun"   // a step with a gate of clients, or of no return, began
	orderSealed  = "sealed"  // the same, of no return
	orderLost    = "lost"    // Part: it cannot be undone any more; What: the step that found out; Why: the cause
	orderFound   = "found"   // Part: it can be undone again, or was

	holdCopies  = "copies"
	throttleOff = "off"
)

// Said is who said something, when, and why.
type Said struct {
	Who string    `json:"who"`
	At  time.Time `json:"at"`
	Why string    `json:"why,omitempty"`
}

func (s Said) String() string {
	text := fmt.Sprintf("by %s at %s", s.Who, s.At.Local().Format("15:04:05"))
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}

// Steering is what holds for a run, as its orders say.
type Steering struct {
	Paused     *Said `json:"paused,omitempty"`
	HoldCopies bool  `json:"hold_copies,omitempty"`
	// Throttle is a person's limit for all copies together, in bytes a second;
	// nil: none. Zero stops them.
	Throttle   *int64 `json:"throttle_bytes_per_second,omitempty"`
	ThrottleBy *Said  `json:"throttle_by,omitempty"`
	// Ending: the run is to end. What is behind the point of no return is
	// finished, everything else is undone; with Undo, lane by lane, the last
	// begun first.
	Ending *Said `json:"ending,omitempty"`
	Undo   bool  `json:"undo,omitempty"`

	ApproveBefore []string      `json:"approve_before,omitempty"`
	Soak          time.Duration `json:"soak_ns,omitempty"`
	// Reason is why the run was begun.
	Reason string `json:"reason,omitempty"`
	// Lost are the parts that cannot be undone though they are not behind their
	// point of no return: they wait for a person, or a person has decided.
	Lost []LostWay `json:"way_back_lost,omitempty"`

	asked    map[at]time.Time
	approved map[at]Said
	soaking  map[string]time.Time
	begun    map[at]bool
	sealed   map[string]bool
}

// at is a step of a part; an empty part stands for every one.
type at struct{ part, step string }

// steeringOf is what all orders of a run, in order, come to.
func steeringOf(orders []store.Order) Steering {
	s := Steering{asked: map[at]time.Time{}, approved: map[at]Said{}, soaking: map[string]time.Time{}, begun: map[at]bool{}, sealed: map[string]bool{}}
	for _, o := range orders {
		s.take(o)
	}
	return s
}

func (s *Steering) take(o store.Order) {
	said := &Said{o.Who, o.At, o.Why}
	here := at{o.Part, o.What}
	switch o.Verb {
	case orderMove:
		s.Reason = o.Why
	case orderAskBefore, gateOrder:
		s.ApproveBefore = append(s.ApproveBefore, o.What)
	case orderSoak:
		s.Soak, _ = time.ParseDuration(o.What)
	case orderPause:
		s.Paused, s.HoldCopies = said, o.What == holdCopies
	case orderResume:
		s.Paused, s.HoldCopies = nil, false
		s.tryAgain()
	case orderThrottle:
		s.Throttle, s.ThrottleBy = nil, nil
		if n, err := strconv.ParseInt(o.What, 10, 64); err == nil {
			s.Throttle, s.ThrottleBy = &n, said
		}
	case orderApprove:
		s.approved[here] = *said
	case orderAbort, orderUndo:
		if s.Ending == nil {
			s.Ending = said
		}
		s.Undo = s.Undo || o.Verb == orderUndo
	case orderAsked:
		if _, known := s.asked[here]; !known {
			s.asked[here] = o.At
		}
	case orderSoaking:
		if _, known := s.soaking[o.Part]; !known {
			s.soaking[o.Part] = o.At
		}
	case orderBegun:
		s.begun[here] = true
	case orderSealed:
		s.begun[here], s.sealed[o.Part] = true, true
	case orderLost:
		s.lose(o)
	case orderFound:
		s.Lost = slices.DeleteFunc(slices.Clone(s.Lost), func(w LostWay) bool { return w.Part == o.Part })
	case orderForward:
		s.changeLost(func(w *LostWay) {
			if w.Part == o.Part && w.Forward == nil {
				w.Forward = said
			}
		})
	}
}

// verdict is what a step that is about to begin is told.
type verdict struct {
	may  answer
	text string // why not
	// note is what must be written down before the verdict holds.
	note string
}

type answer int

const (
	mayBegin answer = iota
	mustWait
	mustEnd
	mustTurn // an undo: continue with what is left instead
)

// judge says whether a step may begin, or go on after a kill. later is the lane
// that has to be undone before this one, or nothing; behind are the steps of its
// part before it.
//
// The order of the rules matters. A step that has closed a gate, or might
// have, is never kept waiting: only it can open the gate again. A part behind
// its point of no return goes on to its end whatever is asked, because only
// forward leads out of there. One whose way back is lost is asked about before
// anything else: neither an end, nor an approval, nor time decides for a person.
func (s Steering) judge(part string, step Step, attempt int, now time.Time, later string, behind ...string) verdict {
	here := at{part, step.Name}
	if s.sealed[part] || step.NoReturn && (attempt > 1 || s.begun[here]) {
		return verdict{}
	}
	if v, decided := s.judgeLost(here, step); decided {
		return v
	}
	if s.Ending != nil {
		if s.Undo && later != "" && !s.begun[here] {
			return verdict{may: mustWait, text: fmt.Sprintf("to be undone (%s); %s, which began later, is undone first", s.Ending, later)}
		}
		return verdict{may: mustEnd, text: fmt.Sprintf("%s %s", s.endWord(), s.Ending)}
	}
	if s.begun[here] {
		return verdict{}
	}
	if s.Paused != nil {
		return s.pausedBefore(step)
	}
	if v := s.judgeBehind(part, step, behind); v.may != mayBegin {
		return v
	}
	if v := s.judgeApproval(here); v.may != mayBegin {
		return v
	}
	if v := s.judgeSoak(here, step, now); v.may != mayBegin {
		return v
	}
	return begins(step)
}

func (s Steering) pausedBefore(step Step) verdict {
	return verdict{may: mustWait, text: fmt.Sprintf("paused before %s %s; stowage resume", step.Name, s.Paused)}
}

// begins is the verdict on a step that nothing keeps from beginning.
func begins(step Step) verdict {
	switch {
	case step.NoReturn:
		return verdict{note: orderSealed}
	case len(step.Phases) > 0:
		return verdict{note: orderBegun}
	}
	return verdict{}
}

func (s Steering) endWord() string {
	if s.Undo {
		return "undone"
	}
	return "aborted"
}

// judgeBehind holds a step that came past an approval which nobody has given: that a
// step in front of it was answered "done" is not an approval.
func (s Steering) judgeBehind(part string, step Step, behind []string) verdict {
	for _, before := range s.ApproveBefore {
		if slices.Contains(behind, before) && !s.isApproved(at{part, before}) {
			return verdict{may: mustWait, text: fmt.Sprintf("%s is reported done, but nobody approved it. Next is %s: look at both servers; then stowage approve %s, or stowage abort", before, step.Name, before)}
		}
	}
	return verdict{}
}

func (s Steering) judgeApproval(here at) verdict {
	for _, step := range s.ApproveBefore {
		if step != here.step || s.isApproved(here) {
			continue
		}
		v := verdict{may: mustWait, text: fmt.Sprintf("a person decides before %s; stowage approve", here.step)}
		if since, known := s.asked[here]; known {
			v.text = fmt.Sprintf("a person decides before %s, since %s; stowage approve", here.step, since.Local().Format("15:04:05"))
		} else {
			v.note = orderAsked
		}
		return v
	}
	return verdict{}
}

func (s Steering) isApproved(here at) bool {
	for _, part := range []string{here.part, pairOf(here.part), ""} {
		if _, said := s.approved[at{part, here.step}]; said {
			return true
		}
	}
	return false
}

// pairOf is the pair of a part that is a side, or the part.
func pairOf(part string) string {
	pair, _, _ := strings.Cut(part, "/")
	return pair
}

// isOf reports whether a part is meant by the name of a lane: its own name, or its pair's. All are meant by "".
func isOf(part, lane string) bool { return lane == "" || lane == part || lane == pairOf(part) }

func (s Steering) judgeSoak(here at, step Step, now time.Time) verdict {
	if !step.NoReturn || s.Soak <= 0 {
		return verdict{}
	}
	since, known := s.soaking[here.part]
	if !known {
		return verdict{may: mustWait, text: fmt.Sprintf("serves in its new place for %s before the old one is dropped", s.Soak), note: orderSoaking}
	}
	if until := since.Add(s.Soak); now.Before(until) {
		return verdict{may: mustWait, text: fmt.Sprintf("serves in its new place until %s, then the old one is dropped", until.Local().Format("15:04:05"))}
	}
	return verdict{}
}

// Approval is one part that waits for a person, before a step.
type Approval struct {
	Part  string    `json:"part"`
	Step  string    `json:"step"`
	Since time.Time `json:"since"`
}

// Waiting are the approvals that parts wait for.
func (s Steering) Waiting() []Approval {
	var out []Approval
	for here, since := range s.asked {
		if !s.isApproved(here) {
			out = append(out, Approval{here.part, here.step, since})
		}
	}
	sortApprovals(out)
	return out
}
