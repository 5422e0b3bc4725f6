package host

import (
	"time"

	"stowage/binlog"
)

// A server of MySQL may have transactions that its binary log never had: those of the server that it was cloned from, or that gtid_purged was set to. No file of its log names them, the first
// ones of later files neither, so the position of a copy is more than that of the log at the same place.

// Beyond are the transactions of a position of which a log that ends in this state had none. For MariaDB there are none.
func Beyond(position, end string) binlog.State { return mustState(position).Without(mustState(end)) }

// clocksApart is how far the clocks of a server and of who copied it may be apart.
const clocksApart = time.Minute

// standsIn reports whether a copy at a position may be that of a place in a log, whose own position there is at. The copy has all that the log had there, and nothing of what came later. made is
// when the file was made.
func (p SeedPoint) standsIn(position, at, end string, made time.Time) bool {
	is := mustState(position)
	if !is.IsSet() || !p.isOf(made) || !is.HasAll(mustState(at)) {
		return false
	}
	later := mustState(end).Without(mustState(at))
	return later.Without(is).String() == later.String()
}

// standsWithin is standsIn for some place in a piece of a chain.
func (p SeedPoint) standsWithin(position string, in Piece, c chain) bool {
	is := mustState(position)
	if !is.IsSet() || !p.isOf(second(in.Begun)) || !is.HasAll(mustState(in.Was)) {
		return false
	}
	later := mustState(c.last().Has).Without(mustState(in.Has))
	return later.Without(is).String() == later.String()
}

// isOf reports whether the copy may be of a log with a file that was made then.
func (p SeedPoint) isOf(made time.Time) bool {
	return !p.By.IsZero() && !made.After(p.By.Add(clocksApart))
}

// endState is the state of the log at its end.
func (g *aLog) endState() string { return g.files[len(g.files)-1].end().State }
