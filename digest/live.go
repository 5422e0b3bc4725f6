package digest

import (
	"bytes"
	"time"
)

// Live takes the statements of a source that is not a file but a table of a running server. Whoever reads the table hands
// them over one by one. It is the Builder's: not safe for concurrent use, and of use until Close.
type Live struct {
	b     *Builder
	in    input
	clock *wallClock  // nil: times are what they say
	log   *generalLog // of Command
}

// Live begins an input. Name, kind (slow_log, performance_schema ..) and dialect (the server's version) are for reports.
func (b *Builder) Live(name, kind, dialect string) *Live {
	return &Live{b: b, in: input{name: name, kind: kind, dialect: dialect}}
}

// Close ends the input.
func (l *Live) Close() {
	if l.clock != nil {
		l.clock.flush()
	}
	if l.log != nil {
		l.in, l.log = l.log.in, nil
	}
	l.b.d.inputs = append(l.b.d.inputs, l.in)
}

// Events is how many statements were counted so far.
func (l *Live) Events() uint64 { return l.input().events }

func (l *Live) input() *input {
	if l.log != nil {
		return &l.log.in
	}
	return &l.in
}

// Statement counts one statement. Its Query may be used again afterwards.
func (l *Live) Statement(s *Statement) {
	var scratch event
	e := s.event(&scratch)
	l.in.bytes += int64(len(e.text))
	if l.clock != nil {
		l.clock.take(e)
		return
	}
	l.b.add(&l.in, e)
}

// WallClock says that times come from rows in which every session wrote the time of day by its own time_zone, in the order
// in which statements ended: from then on, times that stand apart from those around them are put right (see wallClock).
// Now is the server's.
func (l *Live) WallClock(now time.Time) {
	l.clock = &wallClock{now: now.UnixMicro(), emit: func(e *event) { l.b.add(&l.in, e) }, note: func(reason string) { l.in.note(reason, 0) }}
}

// Sum counts the statements of a summary. From and to are when they ran: zero where nobody knows. Options.CheckSums says
// beforehand whether the Builder's options can be answered from sums.
func (l *Live) Sum(s Summary, from, to time.Time) {
	if !s.sampled() && s.Text != "" {
		noteTimes(&l.in, noteServerClasses, s.Count)
	}
	if len(s.Bins) > 0 {
		noteTimes(&l.in, noteBins, s.Count)
	}
	l.b.sum(&l.in, &s, from, to)
}

// Spread gives statements that Sum has counted without Bins their place in the histogram.
func (l *Live) Spread(s Summary) {
	noteTimes(&l.in, noteBins, s.Count)
	s.countedElsewhere = true
	l.b.sum(&l.in, &s, time.Time{}, time.Time{})
}

func (s *Summary) sampled() bool { return s.Sample != nil }

const (
	noteServerClasses = "classes by the server's own text (DIGEST_TEXT): their IDs differ from those of logs"
	noteBins          = "times by the server's histogram: quantiles are within 2.4 %"
)

// relativeErrorOfBins is that of MySQL's 450 buckets, each 10^(1/50) times as wide as the one before, with the geometric
// middle standing for all.
const relativeErrorOfBins = 0.024

// relativeError is the most a quantile of the digest can be off.
func (d *Digest) relativeError() float64 {
	for i := range d.inputs {
		for _, n := range d.inputs[i].notes {
			if n.reason == noteBins {
				return relativeErrorOfBins
			}
		}
	}
	return relativeError
}

// Every says how far apart the readings are whose differences Sum is given: blocks of time become at least as long, and
// the length is returned. A reading at a multiple of it fits into the blocks exactly.
func (l *Live) Every(interval time.Duration) time.Duration {
	for time.Duration(l.b.d.BlockSeconds())*time.Second < interval && l.b.d.level < maxLevel {
		l.b.d.lengthen()
	}
	return time.Duration(l.b.d.BlockSeconds()) * time.Second
}

// Skip says that n statements are in no event, and why.
func (l *Live) Skip(reason string, n uint64) {
	if n > 0 {
		in := l.input()
		in.skipped = remarkOn(in.skipped, reason, 0, 0)
		addTimes(in.skipped, reason, n-1)
	}
}

// Note says something odd about n statements that are counted nonetheless, or were left out on purpose.
func (l *Live) Note(reason string, n uint64) {
	if n > 0 {
		noteTimes(l.input(), reason, n)
	}
}

func noteTimes(in *input, reason string, n uint64) {
	in.note(reason, 0)
	addTimes(in.notes, reason, n-1)
}

func addTimes(rs []remark, reason string, n uint64) {
	for i := range rs {
		if rs[i].reason == reason {
			rs[i].count += n
		}
	}
}

// Command is one row of a general log.
type Command struct {
	At       time.Time
	Thread   uint64
	UserHost string // root[root] @ localhost []
	Name     string // Query, Connect, Quit ..
	Argument []byte
}

// Command counts a row of a general log, as ReadGeneralLog counts a line.
func (l *Live) Command(c *Command) {
	if l.log == nil {
		l.log = &generalLog{b: l.b, in: l.in, sessions: map[uint64]*session{}}
	}
	g := l.log
	g.in.bytes += int64(len(c.Argument))
	g.at, g.thread = microOf(c.At), c.Thread
	if user, host := SplitUser(c.UserHost); user != "" {
		s := g.session()
		s.user, s.host = named1([]byte(user)), named1([]byte(host))
	}
	switch {
	case c.Name == "Query", c.Name == "Execute" && g.b.options.Rules == RulesLexer:
		g.count(c.Argument, 0)
	case c.Name == "Connect":
		g.connect(c.Argument)
	default:
		if f := bytes.Fields(c.Argument); c.Name == "Init DB" && len(f) > 0 {
			g.session().db = named1(bytes.Trim(bytes.Clone(f[0]), "`"))
		}
		g.admin([]byte(c.Name))
		if c.Name == "Quit" {
			delete(g.sessions, g.thread)
		}
	}
}

// SplitUser reads "root[root] @ localhost [127.0.0.1]", as log tables have it in user_host.
func SplitUser(s string) (user, host string) {
	u, h := splitUser([]byte("# User@Host: " + s))
	return string(u), string(h)
}
