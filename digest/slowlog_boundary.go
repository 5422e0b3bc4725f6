package digest

import "bytes"

// boundary says whether an event can end in front of p: the end of the file, a hole, another event or a banner follows, blank
// lines apart. known is false when the window ends too early to tell.
func (s *slowLog) boundary(p int) (is, known bool) {
	if s.end-p > eventStart && s.buf[p] == '#' { // the common case, without looking for the end of the line
		return isEventStart(s.buf[p : p+eventStart]), true
	}
	for {
		if p < s.end && s.buf[p] == 0 {
			q := s.pastZeros(p)
			if q-p >= holeRun {
				return true, true
			}
			if p = q; p == s.end {
				return s.eof, s.eof
			}
		}
		line, next, ok := s.line(p)
		if !ok {
			if len(line) > maxBanner {
				return false, true
			}
			return false, false
		}
		if len(line) > 0 && !isBlankLine(line) {
			return isEventStart(line) || isBanner(line), true
		}
		if next >= s.end {
			return s.eof, s.eof
		}
		p = next
	}
}

// atBoundary says whether nothing stands between the header lines and a boundary.
func (s *slowLog) atBoundary(p int) (is, known bool) {
	if p >= s.end {
		return s.eof, s.eof
	}
	return s.boundary(p)
}

func (s *slowLog) onlyBlank(p int) bool { return isBlankLine(s.buf[p:s.end]) }

// cutHere says whether behind the newline i another event begins so plainly that the statement in front of it must have
// been cut off: two header lines that fit each other, or a banner of two lines. One line alone may be a comment.
func (s *slowLog) cutHere(i int) (cut, known bool) {
	if i+1 >= s.end {
		return false, s.eof
	}
	switch c := s.buf[i+1]; {
	case c == '#':
		if i+16 > s.end && !s.eof {
			return false, false
		}
		if !isEventStart(s.buf[i+1 : min(s.end, i+33)]) {
			return false, true
		}
	case c != '/' && (c < 'A' || c > 'z'):
		return false, true
	}
	first, next, ok := s.line(i + 1)
	if !ok {
		return false, len(first) > maxBanner+1 // the last byte may be of the line's end
	}
	if len(first) > maxBanner {
		return false, true // as it would be where the window ends inside of it
	}
	event := isEventStart(first)
	if !event && !isStart(first) {
		return false, true
	}
	second, _, ok := s.line(next)
	if !ok {
		return false, false
	}
	if event {
		return follows(first, second), true
	}
	return isBanner(second), true
}

// follows says whether the second line is what a server writes behind the first.
func follows(first, second []byte) bool {
	switch {
	case bytes.HasPrefix(first, []byte("# Time: ")):
		return bytes.HasPrefix(second, []byte("# User@Host: ")) || bytes.HasPrefix(second, []byte("# Query_time: "))
	case bytes.HasPrefix(first, []byte("# User@Host: ")):
		return bytes.HasPrefix(second, []byte("# Thread_id: ")) || bytes.HasPrefix(second, []byte("# Query_time: ")) ||
			bytes.HasPrefix(second, []byte("# Schema: "))
	}
	return false
}

// gluedBanner is where, in the line that the newline i ends, a server's banner begins behind the rest of a statement: a
// server that died in the middle of writing and came back. -1 when there is none.
func (s *slowLog) gluedBanner(i int) int {
	const tail = "started with:"
	end := i
	if end > 0 && s.buf[end-1] == '\r' {
		end--
	}
	if end-s.scan.start < len(tail) || string(s.buf[end-len(tail):end]) != tail {
		return -1
	}
	from := max(s.scan.start, end-maxBanner+1)
	if n := bytes.LastIndexByte(s.buf[from:end], '\n'); n >= 0 {
		from += n + 1
	}
	line := s.buf[from:end]
	version := bytes.LastIndex(line, []byte(", Version: "))
	if version < 0 {
		return -1
	}
	path := version
	for path > 0 && !isBlank(line[path-1]) {
		path--
	}
	slash := bytes.IndexByte(line[path:version], '/')
	if slash < 0 {
		return -1
	}
	return from + path + slash
}
