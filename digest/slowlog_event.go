package digest

import "bytes"

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
		if next, ok := s.usualBody(p, q); ok {
			return next, done
		}
		line, next, ok := s.line(q)
		if !ok && len(line) > maxBanner && line[0] != '#' {
			break // a statement, whose end may be beyond any window
		}
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
			return s.noStatement(p, q, &h)
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
			quoted, known := s.quotedHeader(next)
			if !known {
				return p, more
			}
			if h.quoted = isSet && quoted; !h.quoted {
				break // the statement itself is a USE or a SET
			}
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
	bare = bare && !h.quoted
	if bare {
		if !h.queryTime {
			s.in.skip("event without a statement", s.offset(p), int64(q-p))
			return q, done
		}
		return s.noStatement(p, q, h)
	}
	doubted := s.doubt
	if s.dated = h.set; h.quoted {
		s.quote(q)
	}
	text, next, pr := s.statement(q)
	if pr == more {
		return p, more
	}
	if doubted && !h.set && h.queryTime {
		s.doubt = true
		s.in.skip(reasonForged, s.offset(p), int64(next-p))
		return next, done
	}
	s.doubt = s.doubt && h.set
	s.finish(p, text)
	return next, done
}

// reasonForged is the Remark on what looks like an event but lacks the SET timestamp that its server writes with every
// statement: comments of a statement that quote a header. Events that a server wrote look the same only where the one who
// wrote the statement could also write that line, which is not SQL in that place.
const reasonForged = "looks like an event without its SET timestamp: comment of a statement"

// usualBody is body for what nearly all events are: the SET timestamp line of the event before once more, and a
// statement of one line. A statement that ends in a semicolon is no banner, so nothing else need be looked at.
func (s *slowLog) usualBody(p, q int) (next int, ok bool) {
	set := s.clock.set0
	at := q + len(set)
	if len(set) == 0 || s.buf[q] != 'S' || at+1 >= s.end || s.buf[at] != '\n' || s.buf[at+1] == '#' || !bytes.HasPrefix(s.buf[q:s.end], set) {
		return 0, false
	}
	s.doubt = false
	text, next, ok := s.oneLine(at + 1)
	if ok {
		s.clock.epoch = s.clock.set1
		s.finish(p, text)
	}
	return next, ok
}

// noStatement ends an event that has a header and nothing else, as servers write for some failed connections.
func (s *slowLog) noStatement(p, next int, h *header) (int, progress) {
	if !s.ev.timed {
		s.in.skip("event without a statement", s.offset(p), int64(next-p))
		return next, done
	}
	if s.doubt && !h.set {
		s.in.skip(reasonForged, s.offset(p), int64(next-p))
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
	s.ev.at = s.clock.now(s.ev.thread, text, s.ev.known != nil)
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
