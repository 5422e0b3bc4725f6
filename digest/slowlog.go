package digest

import (
	"bytes"
	"fmt"
	"io"
)

// ReadSlowLog counts the events of a slow log, of any server version: MySQL 5.0 to 8.4, Percona with its verbose lines,
// MariaDB, RDS. name is for reports only. What cannot be read as an event is skipped and counted; the only error is one
// that r returns, and what was read before it stays counted.
func (b *Builder) ReadSlowLog(name string, r io.Reader) error {
	if b.options.Workers > 1 {
		if log, size := readAgain(r); log != nil {
			return b.readSlowLogInParts(name, newFileCutter(log, size, b.options.Workers))
		}
		return b.readSlowLogInParts(name, &streamCutter{r: r})
	}
	s := newSlowLog(b, name, r, make([]byte, firstBuffer))
	err := s.run()
	s.in.dialect = s.dialect.String()
	s.in.bytes = s.base + int64(s.end)
	b.d.inputs = append(b.d.inputs, s.in)
	if err != nil {
		return fmt.Errorf("read slow log %s: %w", name, err)
	}
	return nil
}

func newSlowLog(b *Builder, name string, r io.Reader, window []byte) *slowLog {
	return &slowLog{
		b: b, r: r, in: input{name: name, kind: "slowlog"}, buf: window,
		shapes: shapes{inNames: b.options.Rules == RulesLexer},
	}
}

const (
	firstBuffer = 512 << 10 // stays in the second-level cache
	// oneRead is what one read asks for. A read that takes longer than 20 microseconds is one that Go's scheduler takes the
	// processor from, and keeps itself awake for: with two threads at work it has to take one of theirs.
	oneRead = 64 << 10
	// lookBehind is how far the reader looks for the end of a literal that holds what looks like an event, before it
	// decides that the literal was never closed and the event is real.
	lookBehind = 1 << 20
)

// slowLog reads one slow log. It looks at a window of the file that begins at the event being read; when the window ends
// inside the event, it is filled up and the event is read again from its beginning.
type slowLog struct {
	b  *Builder
	in input
	r  io.Reader

	buf  []byte
	pos  int   // of the event being read
	end  int   // of what is in buf
	base int64 // offset in the file of buf[0], behind any hole
	eof  bool

	ev      event
	began   int64    // offset of the present event
	remarks []string // on the present event
	strayed int64    // where the last stray lines ended, see strayLines
	zeroed  int64    // where the last hole ended, see hole
	scan    statementScan
	db      name // of the last event that told it, see useLine
	used    bool // there was a use line
	doubt   bool // the statement in front had a SET timestamp and ended in a line comment or in mid-text: a header may be its own
	dated   bool // the event being read has a SET timestamp
	leans   bool // an event was given a database or a time that lines in front of this part may have told
	open    bool // the last statement may go on behind the end of this part
	clock   clock
	memo    lineMemo
	dialect dialect
	shapes  shapes
	gaps    [maxShapeGaps + 1]int // scratch
	fp      []byte                // scratch
}

// progress says what a step over the window came to.
type progress int

const (
	done progress = iota // the position returned is behind what was read
	more                 // the window must be filled first
)

func (s *slowLog) run() error {
	for {
		next, p := s.step(s.pos)
		if p == done {
			s.pos = next
			if s.pos < s.end {
				continue
			}
		}
		if s.eof {
			return nil
		}
		if err := s.fill(); err != nil {
			s.eof = true
			s.rest()
			return err
		}
	}
}

// rest reads what is in the window after a read error.
func (s *slowLog) rest() {
	for s.pos < s.end {
		next, p := s.step(s.pos)
		if p == more || next <= s.pos {
			return
		}
		s.pos = next
	}
}

// fill moves the event being read to the front of the window and reads until the window is full. A window that is full
// already is doubled; when that is no longer allowed, the middle of the statement is dropped.
func (s *slowLog) fill() error {
	if s.pos > 0 {
		copy(s.buf, s.buf[s.pos:s.end])
		s.scan.move(-s.pos)
		s.base += int64(s.pos)
		s.end -= s.pos
		s.pos = 0
	}
	if s.end == len(s.buf) {
		if len(s.buf) < s.b.options.MaxStatement+2*lookBehind {
			s.buf = append(s.buf, make([]byte, len(s.buf))...)
		} else {
			s.dropMiddle()
		}
	}
	for idle := 0; s.end < len(s.buf); {
		n, err := s.r.Read(s.buf[s.end:min(len(s.buf), s.end+oneRead)])
		s.end += n
		switch {
		case err == io.EOF:
			s.eof = true
			return nil
		case err != nil:
			return err
		case n > 0:
			idle = 0
		default:
			if idle++; idle > 100 {
				return io.ErrNoProgress
			}
		}
	}
	return nil
}

// dropMiddle makes room in a window that one statement fills: it keeps the beginning, by which the statement is classed,
// and what the reader may still have to look at.
func (s *slowLog) dropMiddle() {
	keep := s.b.options.MaxStatement / 2
	to := s.end - lookBehind
	if s.scan.active {
		keep = max(keep, s.scan.start+1)
		to = min(to, s.scan.pos-1)
		if s.scan.suspect > 0 {
			to = min(to, s.scan.suspect-1)
		}
	}
	if !s.scan.active || to <= keep {
		// No statement: a line without end. It is no event, whatever it is.
		s.in.skip("line longer than the reader's window", s.base+int64(s.pos), int64(s.end))
		s.base += int64(s.end)
		s.end, s.scan.active = 0, false
		return
	}
	if s.scan.hole == 0 {
		s.scan.hole = keep
	}
	copy(s.buf[keep:], s.buf[to:s.end])
	cut := to - keep
	s.end -= cut
	s.base += int64(cut)
	s.scan.pos -= cut
	if s.scan.suspect > 0 {
		s.scan.suspect -= cut
	}
}

// offset is where in the file a position of the window lies.
func (s *slowLog) offset(pos int) int64 { return s.base + int64(pos) }

// line is the line at p without its end, and where the next begins, or the hole that cuts it. ok is false when its end is not in
// the window yet.
func (s *slowLog) line(p int) (line []byte, next int, ok bool) {
	n := bytes.IndexByte(s.buf[p:s.end], '\n')
	line, next, ok = s.buf[p:s.end], s.end, s.eof
	if n >= 0 {
		line, next, ok = s.buf[p:p+n], p+n+1, true
	}
	if z := s.holeIn(line, n < 0 && s.eof); z >= 0 {
		return line[:z], p + z, true
	}
	return trimCR(line), next, ok
}

func trimCR(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[:n-1]
	}
	return b
}

// step reads what begins at p: an event, a banner of the server, blank lines, or something to skip.
func (s *slowLog) step(p int) (next int, pr progress) {
	if s.end-p > eventStart && isEventStart(s.buf[p:p+eventStart]) {
		return s.event(p)
	}
	if p < s.end && s.buf[p] == 0 {
		return s.hole(p), done
	}
	line, next, ok := s.line(p)
	if !ok {
		return p, more
	}
	switch {
	case len(line) > 1 && line[0] == '#' && isEventStart(line):
		return s.event(p)
	case isBlankLine(line):
		if z := bytes.IndexByte(line, 0); z > 0 {
			next = p + z
		}
		return next, done
	case s.dialect.banner(line):
		s.doubt = false // another server, perhaps
		return next, done
	}
	return s.strayLines(p)
}

// strayLines skips lines up to the next event or banner: the tail of an event whose head was rotated away, or no slow
// log at all.
func (s *slowLog) strayLines(p int) (int, progress) {
	const reason = ReasonOutside
	q := p
	for {
		if q < s.end && s.buf[q] == 0 {
			break
		}
		line, next, ok := s.line(q)
		if !ok && q == p {
			return p, more
		}
		if !ok || q > p && (isBlankLine(line) || isEventStart(line) || isBanner(line)) {
			break
		}
		if q = next; q == s.end {
			break
		}
	}
	if s.strayed == s.offset(p) && p+int(s.base) > 0 {
		s.in.extendSkip(reason, int64(q-p)) // the window ended in the middle of them
	} else {
		s.in.skip(reason, s.offset(p), int64(q-p))
	}
	s.strayed = s.offset(q)
	return q, done
}

func isBlankLine(line []byte) bool {
	for _, c := range line {
		if !isBlank(c) && c != 0 {
			return false
		}
	}
	return true
}
