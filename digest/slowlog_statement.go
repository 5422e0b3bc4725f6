package digest

import "bytes"

// statementScan is the state of reading one long statement, kept while the window is filled up.
type statementScan struct {
	active  bool
	start   int // of the statement
	pos     int // how far it was read
	state   lexState
	suspect int  // where, inside a literal, something began that looks like another event; 0: nowhere
	cut     bool // it ended in mid-text
	hole    int  // where the middle was dropped; 0: nowhere
}

func (c *statementScan) move(by int) {
	c.start += by
	c.pos += by
	if c.suspect > 0 {
		c.suspect += by
	}
	if c.hole > 0 {
		c.hole += by
	}
}

type lexState byte

const (
	inCode lexState = iota
	inSingle
	inDouble
	inBacktick
	inBlock // comment
	inLine  // comment
)

// statement finds the text of the statement at p: up to a semicolon at the end of a line, outside of literals and block
// comments, behind which another event, a banner or the end of the file follows.
func (s *slowLog) statement(p int) (text []byte, next int, pr progress) {
	if !s.scan.active || s.scan.start != p {
		if text, next, ok := s.oneLine(p); ok {
			return text, next, done
		}
		s.scan = statementScan{active: true, start: p, pos: p}
	}
	end, next, pr := s.scanStatement()
	if pr == more {
		return nil, 0, more
	}
	from := s.scan.start
	s.doubt = s.scan.state == inLine || s.scan.cut
	if s.scan.hole > 0 {
		end = min(end, s.scan.hole)
		s.remark("statement longer than the reader's window: classed by its beginning")
	}
	s.scan = statementScan{}
	return s.buf[from:end], next, done
}

// oneLine is the common case: the statement is one line, and the one-pass fingerprint says that it is closed.
func (s *slowLog) oneLine(p int) (text []byte, next int, ok bool) {
	if k, end := s.shapes.match(s.buf[p:s.end], &s.gaps); k != nil {
		if last, known := s.boundary(p + end + 2); last && known {
			s.ev.known, s.ev.gaps, s.ev.fingerprint = k, &s.gaps, k.fingerprint
			return s.buf[p : p+end], p + end + 2, true
		}
		return nil, 0, false
	}
	n := bytes.IndexByte(s.buf[p:s.end], '\n')
	if n < 1 {
		return nil, 0, false
	}
	end := p + n
	if s.buf[end-1] == '\r' {
		end--
	}
	if end == p || s.buf[end-1] != ';' {
		return nil, 0, false
	}
	next = p + n + 1
	if last, known := s.boundary(next); !last || !known {
		return nil, 0, false
	}
	text = s.buf[p : end-1]
	fp, ok := ptqdFast(s.fp, text)
	s.fp = fp[:0]
	if !ok {
		return nil, 0, false
	}
	k := s.shapes.add(text)
	if s.b.options.Rules == RulesPtqd {
		s.ev.fingerprint = fp
		if k != nil {
			k.fingerprint = bytes.Clone(fp)
		}
	}
	return text, next, true
}

// scanStatement reads on with the lexer. It returns where the text ends and where the next thing begins.
func (s *slowLog) scanStatement() (end, next int, pr progress) {
	c := &s.scan
	for c.pos < s.end {
		i := c.pos
		b := s.buf[i]
		if b == '\n' {
			end, next, ok, known := s.lineEnd(i)
			if !known {
				return 0, 0, more
			}
			if ok {
				return end, next, done
			}
			if c.state == inLine {
				c.state = inCode
			}
			c.pos++
			continue
		}
		if b == 0 {
			end, next, ok, known := s.zeros(i)
			if !known {
				return 0, 0, more
			}
			if ok {
				return end, next, done
			}
			continue
		}
		if i+3 > s.end && !s.eof {
			return 0, 0, more
		}
		c.pos += c.state.step(s.buf[i:s.end])
	}
	if !s.eof {
		return 0, 0, more
	}
	return s.lastStatement()
}

// step moves over one token that begins b, or a run of bytes that mean nothing, and returns its length.
func (st *lexState) step(b []byte) int {
	switch *st {
	case inCode:
		return st.stepCode(b)
	case inSingle, inDouble:
		quote := byte('\'')
		if *st == inDouble {
			quote = '"'
		}
		switch b[0] {
		case '\\':
			if len(b) > 1 && b[1] != '\n' {
				return 2
			}
		case quote:
			*st = inCode
		}
	case inBacktick:
		if b[0] == '`' {
			*st = inCode
		}
	case inBlock:
		if b[0] == '*' && len(b) > 1 && b[1] == '/' {
			*st = inCode
			return 2
		}
	}
	return 1
}

func (st *lexState) stepCode(b []byte) int {
	switch b[0] {
	case '\'':
		*st = inSingle
	case '"':
		*st = inDouble
	case '`':
		*st = inBacktick
	case '#':
		*st = inLine
	case '-':
		if len(b) > 2 && b[1] == '-' && (isBlank(b[2]) || b[2] == ';') {
			*st = inLine
			return 2
		}
	case '/':
		if len(b) > 2 && b[1] == '*' && b[2] != '!' && !(b[2] == 'M' && len(b) > 3 && b[3] == '!') {
			*st = inBlock
			return 2
		}
	}
	return 1
}

// lineEnd decides at the newline i whether the statement ends there.
func (s *slowLog) lineEnd(i int) (end, next int, ok, known bool) {
	c := &s.scan
	text := i
	if text > c.start && s.buf[text-1] == '\r' {
		text--
	}
	closed := text > c.start && s.buf[text-1] == ';'
	open := c.state != inCode && c.state != inLine
	if c.suspect > 0 && i-c.suspect > lookBehind {
		return s.resync()
	}
	if !closed {
		if at := s.gluedBanner(i); at > c.start {
			if open {
				c.suspected(at)
				return 0, 0, false, true
			}
			s.remark("statement cut off in mid-text")
			return at, at, true, true
		}
		cut, known := s.cutHere(i)
		if !known {
			return 0, 0, false, false
		}
		if !cut {
			return 0, 0, false, true
		}
		if is, known := s.inComment(i + 1); is || !known {
			return 0, 0, false, known
		}
		if open {
			c.suspected(i + 1)
			return 0, 0, false, true
		}
		s.remark("statement cut off in mid-text")
		c.cut = true
		return text, i + 1, true, true
	}
	last, known := s.boundary(i + 1)
	if !known {
		return 0, 0, false, false
	}
	if is, known := s.inComment(i + 1); last && (is || !known) {
		return 0, 0, false, known
	}
	switch {
	case !last, open && i+1 < s.end && s.buf[i+1] == 0: // zero bytes in a literal are data: see zeros
		return 0, 0, false, true
	case open && i+1 < s.end && !s.onlyBlank(i+1):
		c.suspected(i + 1)
		return 0, 0, false, true
	case open: // end of file inside a literal
		return 0, 0, false, true
	}
	if c.suspect > 0 {
		s.remark("text inside a literal looks like an event: kept as data")
	}
	return text - 1, i + 1, true, true
}

func (c *statementScan) suspected(at int) {
	if c.suspect == 0 {
		c.suspect = at
	}
}

// resync ends a statement whose literal was never closed at the first thing inside it that looks like an event.
func (s *slowLog) resync() (end, next int, ok, known bool) {
	at := s.scan.suspect
	s.remark("literal without an end")
	for at > s.scan.start && s.buf[at-1] == 0 {
		at-- // they are read, and counted, for themselves
	}
	end = at
	for end > s.scan.start && (s.buf[end-1] == '\n' || s.buf[end-1] == '\r') {
		end--
	}
	if end > s.scan.start && s.buf[end-1] == ';' {
		end--
	}
	return end, at, true, true
}

// lastStatement ends the statement at the end of the file.
func (s *slowLog) lastStatement() (end, next int, pr progress) {
	c := &s.scan
	s.open = true
	if c.state != inCode && c.state != inLine && c.suspect > 0 {
		end, next, _, _ := s.resync()
		return end, next, done
	}
	end, next = s.end, s.end
	for end > c.start && (isBlank(s.buf[end-1]) || s.buf[end-1] == 0) {
		if end--; s.buf[end] == 0 {
			next = end
		}
	}
	if end > c.start && s.buf[end-1] == ';' {
		s.open = c.state != inCode && c.state != inLine
		return end - 1, next, done
	}
	s.remark("last statement cut off by the end of the file")
	return end, next, done
}
