package digest

import (
	"bytes"
)

// knownLine reads the header line at q when it has the very form MariaDB and Percona write event after event, without
// looking for its end first. It returns where the next line begins, or q when the line must be read the long way. This
// is where most of the time of reading a slow log goes.
func (s *slowLog) knownLine(q int, h *header) int {
	b := s.buf[q:s.end]
	if len(b) < 20 || b[0] != '#' || b[1] != ' ' {
		return q
	}
	n := 0
	switch b[2] {
	case 'U':
		m := &s.memo.lastUser
		if h.queryTime || len(m.line) == 0 || !bytes.HasPrefix(b, m.line) {
			return q
		}
		s.ev.user, s.ev.host = m.user, m.host
		n = len(m.line)
	case 'Q':
		if n = s.queryTimeLine(b); n > 0 {
			h.queryTime = true
		}
	case 'R':
		n = s.rowsAffectedLine(b)
	case 'P':
		n = s.engineTimeLine(b)
	case 'F':
		m := &s.memo.lastFlags[b[3]&1] // "Full_scan" and "Filesort"
		if len(m.line) == 0 || !bytes.HasPrefix(b, m.line) {
			return q
		}
		s.ev.flags |= m.flags
		n = len(m.line)
	}
	if n > 0 {
		h.hashes = true
	}
	return q + n
}

// queryTimeLine reads "# Query_time: 0.000123  Lock_time: 0.000012  Rows_sent: 1  Rows_examined: 1" with its end, and
// returns its length, or 0 when the line is another.
func (s *slowLog) queryTimeLine(b []byte) int {
	f := fields{b: b}
	query := f.nanos("# Query_time: ")
	lock := f.nanos("  Lock_time: ")
	sent := f.count("  Rows_sent: ")
	examined := f.count("  Rows_examined: ")
	if !f.end() {
		return 0
	}
	s.ev.queryTime, s.ev.timed = narrow(query), true
	s.ev.lockTime, s.ev.rowsSent, s.ev.rowsExamined = lock, sent, examined
	s.dialect.examined = true
	return f.at
}

func (s *slowLog) rowsAffectedLine(b []byte) int {
	f := fields{b: b}
	affected := f.count("# Rows_affected: ")
	sent := f.count("  Bytes_sent: ")
	if !f.end() {
		return 0
	}
	s.ev.rowsAffected, s.ev.bytesSent = affected, sent
	return f.at
}

func (s *slowLog) engineTimeLine(b []byte) int {
	f := fields{b: b}
	f.nanos("# Pages_read_time: ")
	engine := f.nanos("  Engine_time: ") // milliseconds, in which 1 ns is 10^-9 too
	if !f.end() {
		return 0
	}
	s.ev.engineTime = engine / 1000
	return f.at
}

// fields reads a line from left to right, as long as it is as expected.
type fields struct {
	b   []byte
	at  int
	bad bool
}

func (f *fields) name(name string) bool {
	if f.bad || len(f.b)-f.at < len(name)+20 || string(f.b[f.at:f.at+len(name)]) != name {
		f.bad = true
		return false
	}
	f.at += len(name)
	return true
}

// count reads a number of at most eighteen digits.
func (f *fields) count(name string) (v uint64) {
	if !f.name(name) {
		return 0
	}
	start := f.at
	for f.at < len(f.b) && f.b[f.at]-'0' <= 9 {
		v = v*10 + uint64(f.b[f.at]-'0')
		f.at++
	}
	if n := f.at - start; n == 0 || n > 18 {
		f.bad = true
	}
	return v
}

// nanos reads seconds with four or six digits behind the point, less than 10^9 of them, as nanoseconds.
func (f *fields) nanos(name string) (v uint64) {
	v = f.count(name)
	if f.bad || f.at >= len(f.b) || f.b[f.at] != '.' || v >= 1e9 {
		f.bad = true
		return 0
	}
	f.at++
	start := f.at
	for f.at < len(f.b) && f.b[f.at]-'0' <= 9 {
		v = v*10 + uint64(f.b[f.at]-'0')
		f.at++
	}
	switch f.at - start {
	case 4:
		return v * 100_000
	case 6:
		return v * 1_000
	}
	f.bad = true
	return 0
}

// end steps over the end of the line.
func (f *fields) end() bool {
	if f.bad || f.at >= len(f.b) || f.b[f.at] != '\n' {
		return false
	}
	f.at++
	return true
}
