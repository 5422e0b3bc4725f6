package report

import (
	"sort"
	"time"

	"stowage/farm"
)

// The two steps that begin and end the time in which the twin carries all
// clients, as package swing names them.
const (
	stepOut = "out"
	stepIn  = "in"
)

// The steps that send clients to the new place where a pair has one writer, or a shard moves: package move names them.
const (
	stepCutover = "cutover"
	stepSwap    = "swap"
)

// tone is what a stretch of time means to the clients of a pair.
type tone string

const (
	beside tone = "beside" // both old sides serve; work goes on next to them
	alone  tone = "alone"  // the twin carries 100 %
	waits  tone = "held"   // a cutover holds the clients for a moment
	past   tone = "past"   // the new side serves
)

// lane is what happened to one side, in order.
type lane struct {
	Key      key
	Segments []segment
	Gates    []gate
	Undone   bool
	Topology farm.Topology // of the pair; empty: not known
	OfShard  bool
	more     bool // the step that began last is not the last of all
}

// segment is one attempt at one step.
type segment struct {
	Step       string
	Tone       tone
	Start, End time.Time
	Failed     string // the error, when the attempt failed
	Open       bool   // no event says how it ended: cut short, or still at work
}

// gate is one time that clients were held back.
type gate struct {
	Opened time.Time
	Millis float64
}

func (s segment) took() time.Duration { return s.End.Sub(s.Start) }

// readLanes sorts events into lanes, those that began first first.
func readLanes(events []farm.Event) []*lane {
	byKey := map[key]*lane{}
	var out []*lane
	tones := map[key]tone{}
	for _, e := range events {
		if e.Host != "" { // a host that is rolled is one lane, and has a pair's place
			e.Pair, e.Side = farm.PairName(e.Host), ""
		}
		if e.Pair == "" {
			continue
		}
		k := key{e.Pair, e.Side}
		l := byKey[k]
		if l == nil {
			l = &lane{Key: k}
			byKey[k], tones[k] = l, beside
			out = append(out, l)
		}
		tones[k] = l.apply(e, tones[k])
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].start().Before(out[j].start()) })
	return out
}

// apply takes the next event of the lane and returns the tone that follows.
func (l *lane) apply(e farm.Event, now tone) tone {
	switch e.Kind {
	case farm.StepStarted:
		if e.Step == stepOut {
			now = alone
		}
		tone := now
		if e.Step == stepCutover && now == beside {
			tone = waits // it alone; if it is undone, all is as before
		}
		l.OfShard, l.more = l.OfShard || e.Shard != "", e.Number < e.Of
		l.Segments = append(l.Segments, segment{Step: e.Step, Tone: tone, Start: e.Time, End: e.Time, Open: true})
	case farm.StepDone, farm.StepFailed:
		if s := l.last(); s != nil && s.Open {
			s.End, s.Open = e.Time, false
			if e.Kind == farm.StepFailed {
				s.Failed = e.Text
			}
		}
		if e.Kind == farm.StepDone && (e.Step == stepIn || e.Step == stepCutover || e.Step == stepSwap) {
			now = past
		}
	case farm.GateOpened:
		l.Gates = append(l.Gates, gate{e.Time, e.Millis})
		l.reach(e.Time)
	case farm.StepUndone:
		l.Undone = true
		if e.Step == stepOut || e.Step == stepCutover || e.Step == stepSwap {
			now = beside
		}
	default:
		l.reach(e.Time)
	}
	return now
}

// reach makes an open segment last until t: something was still told of it.
func (l *lane) reach(t time.Time) {
	if s := l.last(); s != nil && s.Open && t.After(s.End) {
		s.End = t
	}
}

func (l *lane) last() *segment {
	if len(l.Segments) == 0 {
		return nil
	}
	return &l.Segments[len(l.Segments)-1]
}

func (l *lane) start() time.Time {
	if len(l.Segments) == 0 {
		return time.Time{}
	}
	return l.Segments[0].Start
}

func (l *lane) end() time.Time {
	end := time.Time{}
	for _, s := range l.Segments {
		if s.End.After(end) {
			end = s.End
		}
	}
	return end
}

// isDone reports whether the lane ended well.
func (l *lane) isDone() bool {
	s := l.last()
	return s != nil && !s.Open && s.Failed == "" && !l.Undone && !l.more
}

// state is that for people.
func (l *lane) state() string {
	switch {
	case l.Undone:
		return "undone"
	case l.isDone():
		return "done"
	}
	return "not finished"
}

// aloneFor is how long the twin carried all clients.
func (l *lane) aloneFor() time.Duration {
	var from, to time.Time
	for _, s := range l.Segments {
		if s.Tone != alone {
			continue
		}
		if from.IsZero() {
			from = s.Start
		}
		to = s.End
	}
	return to.Sub(from)
}

// failures is the number of attempts that failed.
func (l *lane) failures() int {
	n := 0
	for _, s := range l.Segments {
		if s.Failed != "" {
			n++
		}
	}
	return n
}
