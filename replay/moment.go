package replay

import "time"

// estimator finds out when each statement of a recording began. Sources tell
// it in different ways:
//
//   - a packet capture tells the beginning, to the nanosecond;
//   - MySQL's slow log (5.7 and later) tells the end, to the microsecond;
//   - older slow logs tell the second in which a statement ended, MariaDB's the
//     one in which it began; both write statements in the order of their ends;
//   - a general log tells the beginning, to the second or the microsecond.
//
// Where there are only seconds, the statements that ended in one are spread
// over it evenly, in the order of the log: each gets an end, and from there, by
// its time, a beginning that is not outside of what the stamp says. In no case
// does a statement begin before the one before it in its session has ended.
type estimator struct {
	out func(*Statement)

	isExact bool // stamps with parts of seconds have been seen
	last    time.Time
	second  time.Time // of the group
	group   []pending
	bytes   int
	begun   float64 // how much of the second earlier parts of the group took
	ends    map[SessionID]time.Time
	shift   time.Duration // by which the clock was set back
	Backs   uint64        // how often it was
}

type pending struct {
	s  *Statement
	at stamps
}

const (
	// setBack is how far a log may go back in time before we believe that its
	// clock was set, or that it holds another day.
	setBack = time.Minute
	// A second of more than this is spread in parts.
	maxGroup      = 20_000
	maxGroupBytes = 8 << 20
	// maxEnds bounds what is remembered of sessions.
	maxEnds = 100_000
)

// add takes the next statement of the source.
func (e *estimator) add(s *Statement, at stamps) {
	if s.onWire {
		s.Start = s.At
		if s.At.IsZero() {
			s.Start = e.last
		}
		e.emit(s)
		return
	}
	stamp := s.At
	if stamp.IsZero() {
		stamp = e.last
	}
	e.isExact = e.isExact || stamp.Nanosecond() != 0
	if !s.Timed {
		at = stampsStart // a general log, or a command
	}
	stamp = e.steady(stamp, s, at)
	s.Start = stamp
	if e.isExact {
		e.flush()
		if at == stampsEnd {
			s.Start = stamp.Add(-s.Time)
		}
		e.emit(s)
		return
	}
	if second := endSecond(stamp, s, at); second.After(e.second) {
		e.flush()
		e.second, e.begun = second, 0
	}
	e.group = append(e.group, pending{s, at})
	e.bytes += s.size()
	if len(e.group) >= maxGroup || e.bytes >= maxGroupBytes {
		e.flushPart(e.begun + (1-e.begun)/2)
	}
}

// endSecond is the earliest second in which a statement can have ended.
func endSecond(stamp time.Time, s *Statement, at stamps) time.Time {
	if at == stampsStart {
		return stamp.Add(s.Time).Truncate(time.Second)
	}
	return stamp
}

// steady corrects a stamp when the clock went back.
func (e *estimator) steady(stamp time.Time, s *Statement, at stamps) time.Time {
	stamp = stamp.Add(e.shift)
	end := endSecond(stamp, s, at)
	if back := e.last.Sub(end); !e.last.IsZero() && back > setBack {
		e.Backs++
		e.shift += back
		stamp, end = stamp.Add(back), end.Add(back)
	}
	if end.After(e.last) {
		e.last = end
	}
	return stamp
}

// flush spreads what is left of the group over what is left of its second.
func (e *estimator) flush() { e.flushPart(1) }

func (e *estimator) flushPart(to float64) {
	n := float64(len(e.group))
	for i, p := range e.group {
		part := e.begun + (to-e.begun)*(float64(i)+0.5)/n
		end := e.second.Add(time.Duration(part * float64(time.Second)))
		stamp := p.s.Start
		start := end.Add(-p.s.Time)
		if p.at == stampsStart {
			if latest := stamp.Add(time.Second - time.Microsecond); start.After(latest) {
				start = latest
			}
			if start.Before(stamp) {
				start = stamp
			}
		}
		p.s.Start = start
		e.emit(p.s)
	}
	clear(e.group)
	e.group, e.bytes, e.begun = e.group[:0], 0, to
}

// emit keeps the sessions in order and passes on.
func (e *estimator) emit(s *Statement) {
	if e.ends == nil || len(e.ends) > maxEnds {
		e.ends = map[SessionID]time.Time{}
	}
	if end, ok := e.ends[s.Session]; ok && s.Start.Before(end) {
		s.Start = end
	}
	e.ends[s.Session] = s.end()
	if s.Command == Quit {
		delete(e.ends, s.Session)
	}
	if s.onWire && s.end().After(e.last) {
		e.last = s.end()
	}
	e.out(s)
}
