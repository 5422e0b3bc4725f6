package digest

import (
	"bytes"
	"maps"
)

// carried is what one event of a slow log leaves for those behind it, other than counts.
type carried struct {
	db    name // of the last use line
	clock clock
}

// take begins a log where another part ended. The second of the last stamp is not among what is supposed: a part knows
// better what to do without, see span.
func (s *slowLog) take(c *carried) {
	s.db, s.clock = c.db, c.clock
	s.clock.raw, s.clock.set0, s.clock.second = nil, nil, isoSecond{} // their memory is another's
	s.clock.own = maps.Clone(c.clock.own)
}

// suppose is what is passed on to parts that are read before it is known what the parts in front of them leave: the
// database and the sessions with a clock of their own, which hardly ever change. The second of the last stamp does.
func (c *carried) suppose() *carried {
	return &carried{db: c.db, clock: clock{own: c.clock.own}}
}

// leave is what the part leaves that began with what was left before.
func (s *slowLog) leave(before *carried) *carried {
	out := &carried{db: before.db, clock: s.clock}
	if s.used {
		out.db = s.db
	}
	c, was := &out.clock, &before.clock
	c.leans, c.set0, c.second, c.usual = false, nil, isoSecond{}, witnesses{}
	if !c.zoned {
		c.zone, c.zoned = was.zone, was.zoned
		if zone, ok := c.early.zone(was.old); ok {
			c.zone, c.zoned = zone, true
		}
	}
	if c.old == 0 {
		c.old, c.raw = was.old, was.raw
	}
	if c.last == 0 {
		c.last = was.last
	}
	c.early = span{}
	return out
}

// stands says whether what was read with a supposition is what would have been read with the truth.
func (s *slowLog) stands(supposed, truth *carried) bool {
	if supposed == truth {
		return true
	}
	if s.leans && !bytes.Equal(supposed.db.text, truth.db.text) {
		return false
	}
	return !s.clock.leans && maps.Equal(supposed.clock.own, truth.clock.own) && s.clock.early.agrees(truth.clock.old)
}

// span is the least and the most of the SET timestamps of a part that were believed although no stamp had been seen yet
// that could contradict them.
type span struct{ least, most int64 }

func (s *span) add(epoch int64) {
	if s.least == 0 || epoch < s.least {
		s.least = epoch
	}
	s.most = max(s.most, epoch)
}

// agrees says whether the stamp in front of the part contradicts none of the span, and moves the zone to one place.
func (s *span) agrees(old int64) bool {
	if old == 0 || s.least == 0 {
		return true
	}
	if !isNear(s.least, old) || !isNear(s.most, old) {
		return false
	}
	a, learntA := zoneOf(s.least, old)
	b, learntB := zoneOf(s.most, old)
	return a == b && learntA == learntB && s.most-s.least < zoneStep/2
}

// zone is what the span tells together with the stamp in front of it.
func (s *span) zone(old int64) (zone int64, ok bool) {
	if old == 0 || s.least == 0 {
		return 0, false
	}
	return zoneOf(s.most, old)
}
