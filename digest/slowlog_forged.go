package digest

import "bytes"

// Statements can hold comments that look like the header of an event, and whoever writes the statement chooses what they say.
// A server writes SET timestamp behind each header; SQL does not have that in this place, so a forger has to go a long way: the
// line is only a comment where a block comment or a literal is open, which is where no event is believed anyway. So where a
// line comment may go on, header lines without a SET timestamp are comments as well. An event that has none itself cannot say
// that of others.

// mostHeaderLines is how many lines a header can have: EXPLAIN writes one for each table.
const mostHeaderLines = 256

// headerLook looks at header lines, one after the other, for the SET timestamp behind them.
type headerLook struct{ timed bool }

// line says whether the line decides, and what.
func (h *headerLook) line(line []byte) (follows, decided bool) {
	switch {
	case isAdmin(line), isSetLine(line):
		return true, true
	case len(line) == 0 || line[0] != '#' && !isUseLine(line) && !isStrayAttribute(line):
		return false, true
	case h.timed && startsOver(line), line[0] == '#' && line[len(line)-1] == ';':
		return false, true // another header; the end of a statement
	}
	h.timed = h.timed || bytes.HasPrefix(line, []byte("# Query_time: "))
	return false, false
}

// setFollows says whether the header lines at p are followed by SET timestamp, as those of an event are.
func (s *slowLog) setFollows(p int) (follows, known bool) {
	var h headerLook
	for range mostHeaderLines {
		if p >= s.end {
			return false, s.eof
		}
		line, next, ok := s.line(p)
		if !ok {
			return false, len(line) > maxBanner
		}
		if follows, decided := h.line(line); decided {
			return follows, true
		}
		p = next
	}
	return false, true
}

// setIn is setFollows for the beginning of a text, which has to hold it all.
func setIn(text []byte) bool {
	var h headerLook
	for range mostHeaderLines {
		n := bytes.IndexByte(text, '\n')
		if n < 0 {
			return false
		}
		if follows, decided := h.line(trimCR(text[:n])); decided {
			return follows
		}
		text = text[n+1:]
	}
	return false
}

// quotedHeader says whether header lines at p belong to a statement that begins with them.
func (s *slowLog) quotedHeader(p int) (is, known bool) {
	if p >= s.end || s.buf[p] != '#' {
		return false, true
	}
	follows, known := s.setFollows(p)
	return !follows, known
}

// quote begins a statement whose first lines look like a header: they are not looked at again.
func (s *slowLog) quote(p int) {
	if s.scan.active && s.scan.start == p {
		return
	}
	at := p
	for at < s.end && s.buf[at] == '#' {
		line, next, ok := s.line(at)
		if !ok || line[len(line)-1] == ';' {
			break
		}
		at = next
	}
	s.scan = statementScan{active: true, start: p, pos: at}
}

// inComment says whether what looks like an event at p goes on a line comment in which the statement being read is.
func (s *slowLog) inComment(p int) (is, known bool) {
	if s.scan.state != inLine || !s.dated || p >= s.end || s.buf[p] != '#' {
		return false, true
	}
	follows, known := s.setFollows(p)
	return !follows, known
}
