package host

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// chain is what a repository has of one log.
type chain struct {
	log    string
	pieces []Piece // in order; none is wholly in another one
	spare  []Piece // wholly in another one
}

// chains are the logs of which there are pieces, the oldest first.
func chains(all []Piece) []chain {
	by := map[string][]Piece{}
	for _, p := range all {
		by[p.log()] = append(by[p.log()], p)
	}
	var out []chain
	for log, its := range by {
		out = append(out, chainOf(log, its))
	}
	began := func(c chain) int64 { return c.pieces[0].Begun }
	slices.SortFunc(out, func(a, b chain) int {
		return cmp.Or(cmp.Compare(numberOf(logName(), a.log, 1), numberOf(logName(), b.log, 1)), cmp.Compare(began(a), began(b)), strings.Compare(a.log, b.log))
	})
	return out
}

// chainOf puts pieces of one log in order.
func chainOf(log string, all []Piece) chain {
	c := chain{log: log}
	// Of those that begin at one place the longest comes first, of equal ones the one that was looked at last.
	slices.SortStableFunc(all, func(a, b Piece) int {
		return cmp.Or(compareMarks(a.From, b.From), compareMarks(b.To, a.To), cmp.Compare(b.Checked, a.Checked), b.Kept.At.Compare(a.Kept.At))
	})
	for _, p := range all {
		if n := len(c.pieces); n > 0 && p.isIn(c.pieces[n-1]) {
			p.since = c.pieces[n-1].Kept.At
			c.spare = append(c.spare, p)
			continue
		}
		c.pieces = append(c.pieces, p)
	}
	return c
}

// isIn reports whether another piece, which does not begin later, has all that this one says.
func (p Piece) isIn(other Piece) bool {
	isLook := compareMarks(p.From, other.To) == 0 && p.Checked > other.Checked // one without bytes, of a server that was asleep
	return compareMarks(p.To, other.To) <= 0 && !isLook
}

// readFor is how long a piece stays after it went into another one: a restore has a list, and reads by it.
const readFor = 6 * time.Hour

// disused are the pieces that nobody reads any more.
func (c chain) disused(now time.Time) []Piece {
	return slices.DeleteFunc(slices.Clone(c.spare), func(p Piece) bool { return now.Sub(p.since) < readFor })
}

func (c chain) last() Piece { return c.pieces[len(c.pieces)-1] }

// gapBefore is the gap between a piece and the one before it.
func (c chain) gapBefore(n int) (Gap, bool) {
	if n == 0 {
		return Gap{}, false
	}
	was, is := c.pieces[n-1], c.pieces[n]
	if compareMarks(is.From, was.To) <= 0 {
		return Gap{}, false
	}
	if is.From.Offset == 0 && is.From.File != was.To.File && !missing(was.Has, mustState(is.Was)) {
		return Gap{}, false
	}
	return Gap{After: was.To, Before: is.From, Has: was.Has, Next: is.Was, Last: second(was.HasAt)}, true
}

func (c chain) gaps() (out []Gap) {
	for n := range c.pieces {
		if g, is := c.gapBefore(n); is {
			out = append(out, g)
		}
	}
	return out
}

// until is the last second that can be asked for: see aLog.span.
func (c chain) until() int64 {
	last := c.last()
	return max(last.HasAt-1, last.Checked-1)
}

// pieceMost is how many bytes of logs a piece has at most, or little more. So much of the end of a log is joined again, and what is before it stays as it
// is kept.
const pieceMost = 128 << 20

// joinedAtOnce is how many pieces of a level become one of the next.
const joinedAtOnce = 8

// window are the pieces that may still be joined, the newest so many.
func (c chain) window(most int64) []Piece {
	n, sum := len(c.pieces), int64(0)
	for n > 0 {
		p := c.pieces[n-1]
		if sum += p.Bytes; sum > most || n < len(c.pieces) && compareMarks(p.To, c.pieces[n].From) != 0 {
			break
		}
		n--
	}
	return c.pieces[n:]
}

// Kept is what a repository has of the binary logs of an instance, as far as whoever adds to it has to know.
type Kept struct {
	Archived           // of the newest log
	Logs     []KeptLog `json:"logs"`  // the oldest first
	Spare    int       `json:"spare"` // pieces that have been in others for long
	Most     int64     `json:"most"`  // bytes of logs that a piece has
}

// KeptLog is the end of one log.
type KeptLog struct {
	Last   Piece   `json:"last"`
	Window []Piece `json:"window,omitempty"` // of the newest log
}

func (k Kept) log(name string) (KeptLog, bool) {
	n := slices.IndexFunc(k.Logs, func(l KeptLog) bool { return l.Last.log() == name })
	if n < 0 {
		return KeptLog{}, false
	}
	return k.Logs[n], true
}

// keptOf says it of all chains.
func keptOf(all []chain, most int64, now time.Time) Kept {
	k := Kept{Most: most}
	for n, c := range all {
		k.Spare += len(c.disused(now))
		l := KeptLog{Last: c.last()}
		if n == len(all)-1 {
			l.Window, k.Archived = c.window(most), c.archived()
		}
		if why := c.pieces[0].Why; why != "" {
			k.Forks = append(k.Forks, c.log+": "+why)
		}
		k.Logs = append(k.Logs, l)
	}
	return k
}

// archived is what there is of a log.
func (c chain) archived() Archived {
	first, last := c.pieces[0], c.last()
	out := Archived{
		Identity: c.log, Files: numberOf(binlogName(), last.To.File, 2) - numberOf(binlogName(), first.From.File, 2) + 1,
		Last: last.To, LastAt: second(last.HasAt), Position: mustState(last.Has).Position(), From: second(first.Begun), Until: second(c.until()), Gaps: c.gaps(),
	}
	if first.From.Offset > 0 {
		out.From = second(max(first.Begun, first.WasAt))
	}
	for _, p := range c.pieces {
		out.Bytes += p.Bytes
	}
	return out
}

// With is what the repository has when a piece has come.
func (k Kept) With(p Piece) Kept {
	n := slices.IndexFunc(k.Logs, func(l KeptLog) bool { return l.Last.log() == p.log() })
	if n < 0 {
		k.Logs = append(slices.Clone(k.Logs), KeptLog{Last: p, Window: []Piece{p}})
		k.Archived = chain{log: p.log(), pieces: []Piece{p}}.archived()
		return k
	}
	k.Logs = slices.Clone(k.Logs)
	l := &k.Logs[n]
	c := chain{log: p.log(), pieces: slices.Clone(l.Window)}
	if len(c.pieces) == 0 {
		c.pieces = []Piece{l.Last}
	}
	c = chainOf(p.log(), append(c.pieces, p))
	if n == len(k.Logs)-1 {
		now := c.archived()
		k.Last, k.LastAt, k.Position, k.Until = now.Last, now.LastAt, now.Position, now.Until
		k.Files += numberOf(binlogName(), c.last().To.File, 2) - numberOf(binlogName(), l.Last.To.File, 2)
		k.Bytes += p.Bytes
		for _, spare := range c.spare {
			k.Bytes -= spare.Bytes
		}
		for _, g := range now.Gaps {
			if !slices.Contains(k.Gaps, g) {
				k.Gaps = append(slices.Clone(k.Gaps), g)
			}
		}
		l.Window = c.window(k.Most)
	}
	l.Last = c.last()
	return k
}
