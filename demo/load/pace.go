package load

import (
	"math/rand/v2"
	"time"
)

// pace is an open loop: transactions are due at fixed intervals whether or not
// the last one was quick, so that a pause is followed by the work that piled
// up. At most one second of it: a gate that was closed for a minute is not
// followed by a minute's burst.
type pace struct {
	interval time.Duration // 0: as fast as possible
	due      time.Time
	first    time.Duration // clients do not start in step
}

func newPace(perSecond float64, rnd *rand.Rand) *pace {
	if perSecond <= 0 {
		return &pace{}
	}
	p := &pace{interval: time.Duration(float64(time.Second) / perSecond)}
	p.first = time.Duration(rnd.Int64N(int64(p.interval) + 1))
	return p
}

// next is when the next transaction is due.
func (p *pace) next(now time.Time) time.Time {
	switch {
	case p.interval == 0:
		return now
	case p.due.IsZero():
		p.due = now.Add(p.first)
	default:
		p.due = p.due.Add(p.interval)
	}
	if floor := now.Add(-time.Second); p.due.Before(floor) {
		p.due = floor
	}
	return p.due
}
