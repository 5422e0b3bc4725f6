package digest

import "bytes"

// isoSecond is the second of the last ISO stamp: thousands of events have it, and differ in what is behind the point.
type isoSecond struct {
	front []byte // "2016-07-20T18:13:25."
	back  []byte // the zone and the end of the line
	at    int64  // microseconds of the full second
}

const (
	isoFront  = len("2016-07-20T18:13:25.")
	isoMicros = 6
)

// learn takes in a stamp and what it meant.
func (s *isoSecond) learn(stamp []byte, at int64) {
	s.front = s.front[:0]
	if len(stamp) < isoFront+isoMicros+1 || len(stamp) > 40 || stamp[isoFront-1] != '.' || stamp[len(stamp)-1] == '\r' {
		return
	}
	micros, back := stamp[isoFront:isoFront+isoMicros], stamp[isoFront+isoMicros:]
	if parseNumber(micros) < 0 || isDigit(back[0]) {
		return
	}
	s.front = append(s.front, stamp[:isoFront]...)
	s.back = append(append(s.back[:0], back...), '\n')
	s.at = at - parseNumber(micros)
}

// parseNumber is a number of digits only, or -1.
func parseNumber(b []byte) (v int64) {
	for _, c := range b {
		if !isDigit(c) {
			return -1
		}
		v = v*10 + int64(c-'0')
	}
	return v
}

// known reads a "# Time:" line with a stamp of the second before and returns its length, or 0. There must be knownMargin
// bytes in b.
func (c *clock) known(b []byte) int {
	const lead = len("# Time: ")
	s := &c.second
	if len(s.front) == 0 || string(b[:lead]) != "# Time: " || !bytes.HasPrefix(b[lead:], s.front) {
		return 0
	}
	i := lead + isoFront
	micros, end, ok := shortCount(b, i)
	if !ok || end != i+isoMicros || !bytes.HasPrefix(b[end:], s.back) {
		return 0
	}
	c.iso = s.at + int64(micros)
	return end + len(s.back)
}
