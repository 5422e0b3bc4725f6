package digest

import (
	"bytes"
	"time"
)

// clock finds out when an event happened. There are three witnesses:
//
//   - an ISO stamp (MySQL 5.7 and later, on every event) is exact and tells its zone;
//   - SET timestamp is in UTC, but a session may set it to anything;
//   - the old stamp is local time of an unknown zone, and only written when the second changes.
//
// The first is believed; the second unless it is more than a day away from the third; else the third, moved by the
// difference that events with both have shown. MariaDB also writes the third from the session's own clock, so a session
// that set its clock (a replayed binary log does) is given the time of the event before.
type clock struct {
	raw   []byte // the last stamp, to recognise it
	old   int64  // microseconds of the last old stamp, as if UTC; 0: none
	zone  int64  // what to add to it to get UTC
	zoned bool   // it was learned
	iso   int64  // of this event
	epoch int64  // of this event's SET timestamp
	set0  []byte // the last SET line and what it meant
	set1  int64
	last  int64           // time of the event before
	leans bool            // a time was taken from lines that may be in front of this part, see slowlog_parts.go
	own   map[uint64]bool // connections that set their own clock

	second isoSecond

	usual witnesses // of the last event that SET timestamp gave its time
	early span      // see there
}

// witnesses are what a time was taken from.
type witnesses struct{ epoch, old int64 }

func (c *clock) begin() { c.iso, c.epoch = 0, 0 }

// now is the time of the present event, which is this statement. Statements of a known shape do not set a clock, see shapes.parts.
func (c *clock) now(thread uint64, text []byte, known bool) int64 {
	if known && len(c.own) == 0 {
		c.last = c.told()
		return c.last
	}
	own := len(c.own) > 0 && c.own[thread]
	c.statement(thread, text)
	if own || len(c.own) > 0 && c.own[thread] {
		if c.last != 0 {
			return c.last
		}
		c.leans = true
	}
	c.last = c.told()
	return c.last
}

func (c *clock) told() int64 {
	switch {
	case c.iso != 0:
		return c.iso
	case c.epoch != 0 && c.usual == witnesses{c.epoch, c.old}:
		return c.epoch // the same second once more: there is nothing to learn
	case c.epoch != 0 && c.old == 0:
		c.early.add(c.epoch)
		c.usual = witnesses{c.epoch, c.old}
		return c.epoch
	case c.epoch != 0 && isNear(c.epoch, c.old):
		if zone, ok := zoneOf(c.epoch, c.old); ok {
			c.zone, c.zoned = zone, true
		}
		c.usual = witnesses{c.epoch, c.old}
		return c.epoch
	}
	c.leans = true
	if c.old == 0 {
		return 0
	}
	return c.old + c.zone
}

// isNear says whether SET timestamp is within a day and the widest zones of the stamp.
func isNear(epoch, old int64) bool {
	const day = 26 * 3600 * 1e6
	return epoch-old < day && old-epoch < day
}

// zoneStep is what zones are multiples of.
const zoneStep = 15 * 60 * 1e6

// zoneOf takes the zone from an event with both a stamp and SET timestamp. The latter is the start of the statement and the
// former its end, so it only trusts differences near a quarter of an hour.
func zoneOf(epoch, old int64) (zone int64, ok bool) {
	const slack = 5 * 60 * 1e6
	diff := epoch - old
	near := (diff + zoneStep/2) / zoneStep * zoneStep
	if diff+zoneStep/2 < 0 {
		near = -((-diff + zoneStep/2) / zoneStep * zoneStep)
	}
	off := diff - near
	return near, off < slack && off > -slack
}

// statement looks whether a session sets its clock, or gives it back.
func (c *clock) statement(thread uint64, text []byte) {
	if len(text) < 15 || text[0]|0x20 != 's' || !hasFold(text, "set") {
		return
	}
	v := bytes.ToLower(bytes.TrimSpace(text[3:min(len(text), 64)]))
	v = bytes.TrimPrefix(bytes.TrimPrefix(v, []byte("session ")), []byte("@@session."))
	v, is := bytes.CutPrefix(bytes.TrimPrefix(v, []byte("@@")), []byte("timestamp"))
	if !is {
		return
	}
	v = bytes.TrimLeft(v, " :=")
	if bytes.HasPrefix(v, []byte("default")) || string(v) == "0" {
		delete(c.own, thread)
		return
	}
	if c.own == nil {
		c.own = map[uint64]bool{}
	}
	if len(c.own) < 4096 {
		c.own[thread] = true
	}
}

// stamp reads what is behind "# Time: ".
func (c *clock) stamp(b []byte) bool {
	if len(b) > 10 && b[4] == '-' {
		t, err := time.Parse(time.RFC3339Nano, string(b))
		if err != nil {
			if t, err = time.Parse("2006-01-02T15:04:05.999999", string(b)); err != nil {
				return false
			}
		}
		c.iso = t.UnixMicro()
		c.second.learn(b, c.iso)
		return true
	}
	if c.old != 0 && bytes.Equal(c.raw, b) {
		return true
	}
	v, ok := oldStamp(b)
	if ok {
		c.old, c.raw = v, append(c.raw[:0], b...)
	}
	return ok
}

// oldStamp reads "071015 21:43:52", where the hour may be padded with a blank.
func oldStamp(b []byte) (int64, bool) {
	var f [6]int
	i, n := 0, 0
	for n < 3 {
		if i+2 > len(b) || !isDigit(b[i]) || !isDigit(b[i+1]) {
			return 0, false
		}
		f[n] = int(b[i]-'0')*10 + int(b[i+1]-'0')
		i += 2
		n++
	}
	for n < 6 {
		for i < len(b) && (b[i] == ' ' || b[i] == ':') {
			i++
		}
		if i >= len(b) || !isDigit(b[i]) {
			return 0, false
		}
		for ; i < len(b) && isDigit(b[i]); i++ {
			f[n] = f[n]*10 + int(b[i]-'0')
			if f[n] > 60 {
				return 0, false
			}
		}
		n++
	}
	if f[1] < 1 || f[1] > 12 || f[2] < 1 || f[2] > 31 || f[3] > 23 {
		return 0, false
	}
	year := 2000 + f[0]
	if f[0] >= 70 {
		year = 1900 + f[0]
	}
	return time.Date(year, time.Month(f[1]), f[2], f[3], f[4], f[5], 0, time.UTC).UnixMicro(), true
}

// set reads "SET timestamp=1197996507;" and "SET insert_id=34484549,timestamp=1197996507;".
func (c *clock) set(line []byte) {
	if bytes.Equal(line, c.set0) {
		c.epoch = c.set1
		return
	}
	i := bytes.Index(line, []byte("timestamp="))
	if i < 0 {
		return
	}
	v := line[i+len("timestamp="):]
	end := 0
	for end < len(v) && (isDigit(v[end]) || v[end] == '.') {
		end++
	}
	w, ok := parseSeconds(v[:end])
	if ok && w.hi == 0 && w.lo < 1<<62 {
		c.epoch = int64(w.lo / 1000)
		c.set0, c.set1 = append(c.set0[:0], line...), c.epoch
	}
}
