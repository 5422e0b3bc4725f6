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
		return b.readSlowLogInParts(name, r)
	}
	s := newSlowLog(b, name, r, firstBuffer)
	err := s.run()
	s.in.dialect = s.dialect.String()
	s.in.bytes = s.base + int64(s.end)
	b.d.inputs = append(b.d.inputs, s.in)
	if err != nil {
		return fmt.Errorf("read slow log %s: %w", name, err)
	}
	return nil
}

func newSlowLog(b *Builder, name string, r io.Reader, window int) *slowLog {
	return &slowLog{b: b, r: r, in: input{name: name, kind: "slowlog"}, buf: make([]byte, window)}
}

const (
	firstBuffer = 256 << 10 // stays in the second-level cache
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
	scan    statementScan
	db      name // of the last event that told it, see useLine
	used    bool // there was a use line
	leans   bool // an event was given a database or a time that lines in front of this part may have told
	open    bool // the last statement may go on behind the end of this part
	clock   clock
	memo    lineMemo
	dialect dialect
	fp      []byte // scratch
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
		n, err := s.r.Read(s.buf[s.end:])
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

// line is the line at p without its end, and where the next begins. ok is false when its end is not in the window yet.
func (s *slowLog) line(p int) (line []byte, next int, ok bool) {
	n := bytes.IndexByte(s.buf[p:s.end], '\n')
	if n < 0 {
		return trimCR(s.buf[p:s.end]), s.end, s.eof
	}
	return trimCR(s.buf[p : p+n]), p + n + 1, true
}

func trimCR(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[:n-1]
	}
	return b
}

// step reads what begins at p: an event, a banner of the server, blank lines, or something to skip.
func (s *slowLog) step(p int) (next int, pr progress) {
	line, next, ok := s.line(p)
	if !ok {
		return p, more
	}
	switch {
	case len(line) > 1 && line[0] == '#' && isEventStart(line):
		return s.event(p)
	case isBlankLine(line):
		return next, done
	case s.dialect.banner(line):
		return next, done
	}
	return s.strayLines(p)
}

// strayLines skips lines up to the next event or banner: the tail of an event whose head was rotated away, or no slow
// log at all.
func (s *slowLog) strayLines(p int) (int, progress) {
	const reason = "text outside of any event"
	q := p
	for {
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
		if !isBlank(c) && c != 0 { // a file that was truncated while open begins with a hole of zero bytes
			return false
		}
	}
	return true
}

// event reads the event that begins at p.
func (s *slowLog) event(p int) (next int, pr progress) {
	s.ev = event{}
	s.clock.begin()
	s.memo.hasSchema = false
	s.remarks = s.remarks[:0]
	if s.scan.hole == 0 {
		s.began = s.offset(p)
	}
	h := header{}
	q := p
	for {
		if next := s.knownLine(q, &h); next > q {
			q = next
			continue
		}
		line, next, ok := s.line(q)
		if !ok {
			return p, more
		}
		if len(line) == 0 || line[0] != '#' {
			if h.hashes && isStrayAttribute(line) {
				s.attributes(line)
				q = next
				continue
			}
			break
		}
		if h.queryTime && startsOver(line) {
			return s.noStatement(p, q)
		}
		if isAdmin(line) {
			s.admin(p, line)
			return next, done
		}
		s.headerLine(line, &h)
		h.hashes = true
		if q = next; q == s.end {
			break
		}
	}
	return s.body(p, q, &h)
}

// body reads what follows the header lines: use, SET timestamp, and the statement.
func (s *slowLog) body(p, q int, h *header) (int, progress) {
	if next, ok := s.usualBody(p, q); ok {
		return next, done
	}
	for range 3 {
		line, next, ok := s.line(q)
		if !ok && len(line) > maxBanner {
			break // neither use nor SET is that long
		}
		if !ok {
			return p, more
		}
		if isAdmin(line) {
			s.admin(p, line)
			return next, done
		}
		isUse, isSet := !h.use && !h.set && isUseLine(line), !h.set && isSetLine(line)
		if !isUse && !isSet {
			break
		}
		last, known := s.boundary(next)
		if !known {
			return p, more
		}
		if last && !isAdmin(s.buf[next:s.end]) {
			break // the statement itself is a USE or a SET
		}
		if isUse {
			h.use = true
			s.useLine(line)
		} else {
			h.set = true
			s.clock.set(line)
		}
		q = next
	}
	bare, known := s.atBoundary(q)
	if !known {
		return p, more
	}
	if bare {
		if !h.queryTime {
			s.in.skip("event without a statement", s.offset(p), int64(q-p))
			return q, done
		}
		return s.noStatement(p, q)
	}
	text, next, pr := s.statement(q)
	if pr == more {
		return p, more
	}
	s.finish(p, text)
	return next, done
}

// usualBody is body for what nearly all events are: the SET timestamp line of the event before once more, and a
// statement of one line. A statement that ends in a semicolon is no banner, so nothing else need be looked at.
func (s *slowLog) usualBody(p, q int) (next int, ok bool) {
	set := s.clock.set0
	at := q + len(set)
	if len(set) == 0 || at+1 >= s.end || s.buf[at] != '\n' || s.buf[at+1] == '#' || !bytes.HasPrefix(s.buf[q:s.end], set) {
		return 0, false
	}
	text, next, ok := s.oneLine(at + 1)
	if ok {
		s.clock.epoch = s.clock.set1
		s.finish(p, text)
	}
	return next, ok
}

// noStatement ends an event that has a header and nothing else, as servers write for some failed connections.
func (s *slowLog) noStatement(p, next int) (int, progress) {
	if !s.ev.timed {
		s.in.skip("event without a statement", s.offset(p), int64(next-p))
		return next, done
	}
	s.remark("event without a statement")
	s.ev.fingerprint = s.fp[:0]
	s.finish(p, nil)
	return next, done
}

func (s *slowLog) admin(p int, line []byte) {
	text := bytes.TrimRight(line[2:], " \r")
	if n := len(text); n > 0 && text[n-1] == ';' {
		text = text[:n-1]
	}
	s.ev.flags |= 1 << flagAdmin
	s.ev.rowsSent, s.ev.rowsExamined, s.ev.rowsAffected = 0, 0, 0 // left over from the statement before: servers do not reset them
	s.ev.fingerprint = text
	s.finish(p, text)
}

// finish hands the event to the builder.
func (s *slowLog) finish(p int, text []byte) {
	s.ev.text = text
	s.ev.at = s.clock.now(s.ev.thread, text)
	if len(s.ev.db.text) == 0 && !s.memo.hasSchema {
		s.ev.db = s.db
		s.leans = s.leans || !s.used
	}
	if !s.ev.timed {
		s.remark("event without Query_time: counted, but without a latency")
	}
	for _, r := range s.remarks {
		s.in.note(r, s.began)
	}
	s.b.add(&s.in, &s.ev)
}

// remark notes something about the present event. It is counted when the event is complete: until then, the event may
// be read again.
func (s *slowLog) remark(reason string) { s.remarks = append(s.remarks, reason) }
