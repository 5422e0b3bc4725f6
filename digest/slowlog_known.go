package digest

import "bytes"

// knownMargin is how much of the window there must be behind the beginning of a line for knownLine to look at it: more
// than the longest line it reads but for one, whose end it looks for.
const knownMargin = 192

// knownLine reads the header line at q when it has the very form MariaDB and Percona write event after event, without
// looking for its end first. It returns where the next line begins, or q when the line must be read the long way. This
// is where most of the time of reading a slow log goes.
func (s *slowLog) knownLine(q int, h *header) int {
	if s.end-q < knownMargin {
		return q
	}
	b := s.buf[q:s.end]
	if b[0] != '#' || b[1] != ' ' {
		return q
	}
	n := 0
	switch b[2] {
	case 'U':
		if !h.queryTime {
			n = s.knownUser(b)
		}
	case 'T':
		if n = s.knownThread(b); n == 0 && !h.queryTime {
			n = s.clock.known(b)
		}
	case 'Q':
		if n = s.queryTimeLine(b); n > 0 {
			h.queryTime = true
		}
	case 'R':
		n = s.rowsAffectedLine(b)
	case 'P':
		if n = s.engineTimeLine(b); n == 0 {
			n = pagesLine(b)
		}
	case 'F':
		n = s.memo.lastFlags[flagSlot(b[3])].match(b, &s.ev)
	}
	if n > 0 {
		h.hashes = true
	}
	return q + n
}

// knownUser reads a User@Host line that is the one before, but for the number of the connection that MySQL writes behind
// it, and returns its length, or 0.
func (s *slowLog) knownUser(b []byte) int {
	m := &s.memo.lastUser
	if len(m.line) == 0 || len(b) < len(m.line)+32 || !bytes.HasPrefix(b, m.line) {
		return 0
	}
	i := len(m.line)
	if m.hasID {
		if string(b[i:i+6]) != "  Id: " {
			return 0
		}
		for i += 6; i < len(m.line)+20 && b[i] == ' '; i++ {
		}
		id, end, ok := shortCount(b, i)
		if !ok || b[end] != '\n' {
			return 0
		}
		s.ev.thread, i = id, end+1
	}
	s.ev.user, s.ev.host = m.user, m.host
	return i
}

// knownThread reads a Thread_id line whose tail is that of the one before, and returns its length, or 0.
func (s *slowLog) knownThread(b []byte) int {
	m := &s.memo.lastThread
	if string(b[2:13]) != "Thread_id: " {
		return 0
	}
	id, i, ok := shortCount(b, 13)
	if !ok || len(m.tail) == 0 || !bytes.HasPrefix(b[i:], m.tail) {
		return 0
	}
	s.ev.thread = id
	s.takeSchema(m)
	return i + len(m.tail)
}

// queryTimeLine reads "# Query_time: 0.000123  Lock_time: 0.000012  Rows_sent: 1  Rows_examined: 1" with its end, and
// returns its length, or 0 when the line is another. Names are compared in pieces of at most sixteen bytes, for which the
// compiler needs no call.
func (s *slowLog) queryTimeLine(b []byte) int {
	if string(b[2:14]) != "Query_time: " {
		return 0
	}
	query, i, ok := knownSeconds(b, 14)
	if !ok || string(b[i:i+13]) != "  Lock_time: " {
		return 0
	}
	lock, i, ok := knownSeconds(b, i+13)
	if ok && b[i] == ' ' && b[i+1] == ' ' { // MariaDB and Percona write two blanks, MySQL one
		i++
	}
	if !ok || string(b[i:i+12]) != " Rows_sent: " {
		return 0
	}
	sent, i, ok := knownCount(b, i+12)
	if !ok || b[i] != ' ' || string(b[i+1:i+17]) != " Rows_examined: " {
		return 0
	}
	examined, i, ok := knownCount(b, i+17)
	if !ok || b[i] != '\n' {
		return 0
	}
	s.ev.queryTime, s.ev.timed = narrow(query), true
	s.ev.lockTime, s.ev.rowsSent, s.ev.rowsExamined = lock, sent, examined
	s.dialect.examined = true
	return i + 1
}

// rowsAffectedLine reads "# Rows_affected: 1  Bytes_sent: 11".
func (s *slowLog) rowsAffectedLine(b []byte) int {
	if string(b[2:17]) != "Rows_affected: " {
		return 0
	}
	affected, i, ok := knownCount(b, 17)
	if !ok || string(b[i:i+14]) != "  Bytes_sent: " {
		return 0
	}
	sent, i, ok := knownCount(b, i+14)
	if !ok || b[i] != '\n' {
		return 0
	}
	s.ev.rowsAffected, s.ev.bytesSent = affected, sent
	return i + 1
}

// engineTimeLine reads "# Pages_read_time: 0.0000  Engine_time: 0.0237", in milliseconds.
func (s *slowLog) engineTimeLine(b []byte) int {
	if string(b[2:18]) != "Pages_read_time:" || b[18] != ' ' {
		return 0
	}
	_, i, ok := knownMillis(b, 19)
	if !ok || string(b[i:i+15]) != "  Engine_time: " {
		return 0
	}
	engine, i, ok := knownMillis(b, i+15)
	if !ok || b[i] != '\n' {
		return 0
	}
	s.ev.engineTime = engine / 1000
	return i + 1
}

// pagesLine steps over "# Pages_accessed: 2  Pages_read: 0 ..", which tells nothing that is kept.
func pagesLine(b []byte) int {
	if string(b[2:18]) != "Pages_accessed: " {
		return 0
	}
	return bytes.IndexByte(b, '\n') + 1
}

// knownCount reads the number of at most eighteen digits at i.
func knownCount(b []byte, i int) (v uint64, end int, ok bool) {
	if c := b[i] - '0'; c <= 9 && b[i+1]-'0' > 9 { // most rows are few
		return uint64(c), i + 1, true
	}
	if v, end, ok = shortCount(b, i); ok {
		return v, end, true
	}
	for end = i; end < len(b) && end < i+19 && isDigit(b[end]); end++ {
		v = v*10 + uint64(b[end]-'0')
	}
	return v, end, end > i && end < i+19
}

// knownMillis is knownSeconds for times of four digits.
func knownMillis(b []byte, i int) (v uint64, end int, ok bool) {
	if v, ok = shortTenths(b, i); ok && !isDigit(b[i+6]) {
		return v * 100_000, i + 6, true
	}
	return knownSeconds(b, i)
}

// knownSeconds reads seconds with four or six digits behind the point, less than 10^9 of them, as nanoseconds.
func knownSeconds(b []byte, i int) (v uint64, end int, ok bool) {
	if v, ok = shortMicros(b, i); ok && !isDigit(b[i+8]) {
		return v * 1000, i + 8, true
	}
	v, end, ok = knownCount(b, i)
	if !ok || b[end] != '.' || v >= 1e9 {
		return 0, i, false
	}
	fraction, last, ok := knownCount(b, end+1)
	switch n := last - end - 1; {
	case ok && n == 4:
		return v*1_000_000_000 + fraction*100_000, last, true
	case ok && n == 6:
		return v*1_000_000_000 + fraction*1_000, last, true
	}
	return 0, i, false
}
