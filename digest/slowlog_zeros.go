package digest

import "bytes"

// Zero bytes in a slow log. A machine that lost its power leaves a file that has its new length but not its last text: zero
// bytes at the end, or in the middle when the server came back and wrote on. A log that was truncated while the server went on
// writing at its old place (logrotate's copytruncate) begins with them. Space that was reserved ends a log with them. No server
// writes zero bytes itself, but for those in literals and comments of clients.

// reasonZeros is the Remark on them.
const reasonZeros = "zero bytes: a crash, a truncated log or reserved space left a hole"

// holeRun is how many zero bytes in a row are a hole in every place outside of literals and block comments. Fewer are one in
// front of an event, a banner or the end of the file.
const holeRun = 64

// pastZeros is the first byte at or behind p that is not zero, or the end of the window.
func (s *slowLog) pastZeros(p int) int {
	return s.end - len(bytes.TrimLeft(s.buf[p:s.end], "\x00"))
}

// hole skips the zero bytes at p, as far as the window goes.
func (s *slowLog) hole(p int) (next int) {
	next = s.pastZeros(p)
	if s.zeroed == s.offset(p) && s.offset(p) > 0 {
		s.in.extendSkip(reasonZeros, int64(next-p)) // the window ended in the middle of them
	} else {
		s.in.skip(reasonZeros, s.offset(p), int64(next-p))
	}
	s.zeroed = s.offset(next)
	return next
}

// holeIn is where in a line a hole begins, or -1. A line that is cut by a hole ends there.
func (s *slowLog) holeIn(line []byte, isLast bool) int {
	for at := 0; ; {
		z := bytes.IndexByte(line[at:], 0)
		if z < 0 {
			return -1
		}
		at += z
		rest := bytes.TrimLeft(line[at:], "\x00")
		if len(line)-at-len(rest) >= holeRun || isLast && len(rest) == 0 {
			return at
		}
		at = len(line) - len(rest)
	}
}

// zeros decides at a zero byte at i inside a statement whether the statement ends there. Inside a literal or a block comment
// zero bytes are data, unless the literal is never closed and an event follows them.
func (s *slowLog) zeros(i int) (end, next int, ok, known bool) {
	c := &s.scan
	if c.state != inCode && c.state != inLine {
		return 0, 0, false, s.zerosInLiteral(i)
	}
	ends, known := s.boundary(i)
	if !known {
		return 0, 0, false, false
	}
	if !ends {
		c.pos = s.pastZeros(i)
		return 0, 0, false, true
	}
	for end = i; end > c.start && isBlank(s.buf[end-1]); {
		end--
	}
	if end > c.start && s.buf[end-1] == ';' {
		return end - 1, i, true, true
	}
	s.remark("statement cut off by zero bytes")
	c.cut = true
	return end, i, true, true
}

// zerosInLiteral goes past zero bytes, and remembers an event right behind them.
func (s *slowLog) zerosInLiteral(i int) (known bool) {
	c := &s.scan
	q := s.pastZeros(i)
	if q+eventStart > s.end && !s.eof {
		c.pos = q - 1
		return false
	}
	if isEventStart(s.buf[q:min(s.end, q+eventStart)]) {
		c.suspected(q)
	}
	c.pos = q
	return true
}
