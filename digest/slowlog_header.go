package digest

import (
	"bytes"
	"math"
	"math/bits"
)

// header is what the lines in front of a statement have told so far.
type header struct {
	quoted    bool // the statement begins with comments that look like an event
	hashes    bool // there was a # line
	queryTime bool
	use, set  bool
}

// eventStart is how many bytes of a line isEventStart may look at.
const eventStart = 32

// isEventStart says whether a line can be the first of an event. Servers begin with Time or User@Host; the other three
// are seen in filtered logs and behind rotations.
func isEventStart(line []byte) bool {
	if len(line) < 7 || line[0] != '#' || line[1] != ' ' {
		return false
	}
	switch line[2] {
	case 'T':
		return bytes.HasPrefix(line, []byte("# Time:")) && isTime(line[7:]) ||
			bytes.HasPrefix(line, []byte("# Thread_id: "))
	case 'U':
		return bytes.HasPrefix(line, []byte("# User@Host: ")) || bytes.HasPrefix(line, []byte("# User: "))
	case 'Q':
		return bytes.HasPrefix(line, []byte("# Query_time: "))
	}
	return isAdmin(line)
}

// isTime says whether what is behind "# Time:" can be a time: digits, nothing, or what was put in the place of digits.
func isTime(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t")
	if len(rest) == 0 || rest[0] == '\n' || rest[0] == '\r' || isDigit(rest[0]) {
		return true
	}
	for i, c := range rest {
		switch c {
		case 'X', 'x', '*', '?', '-', ':', 'T', 'Z', '.', ' ':
		case '\n', '\r':
			return i > 4
		default:
			return false
		}
	}
	return len(rest) > 4
}

// startsOver says whether a line begins another event although the present one has no statement yet.
func startsOver(line []byte) bool {
	return len(line) > 6 && (line[2] == 'T' || line[2] == 'U') && isEventStart(line) &&
		!bytes.HasPrefix(line, []byte("# Thread_id: "))
}

func isAdmin(line []byte) bool {
	return len(line) > 24 && line[0] == '#' && line[2] == 'a' && bytes.HasPrefix(line, []byte("# administrator command: "))
}

// isStrayAttribute knows the line that Percona Server wrote without its # (PS-7492): "  Tmp_tables: 1  Tmp_disk_tables: 0".
func isStrayAttribute(line []byte) bool {
	if len(line) < 4 || line[0] != ' ' || line[1] != ' ' {
		return false
	}
	i := skipBlanks(line, 0)
	j := skipWord(line, i)
	return j > i+1 && line[i] >= 'A' && line[i] <= 'Z' && j+2 < len(line) && line[j] == ':' && line[j+1] == ' ' && line[j+2] != ' '
}

// headerLine takes in one line that begins with #.
func (s *slowLog) headerLine(line []byte, h *header) {
	if len(line) < 4 {
		return
	}
	switch line[2] {
	case 'T':
		if bytes.HasPrefix(line, []byte("# Time: ")) {
			s.timeLine(line)
			return
		}
		if bytes.HasPrefix(line, []byte("# Thread_id: ")) {
			s.threadLine(line)
			return
		}
	case 'U':
		if bytes.HasPrefix(line, []byte("# User@Host: ")) {
			s.userLine(line)
			return
		}
	case 'Q':
		if bytes.HasPrefix(line, []byte("# Query_time: ")) {
			h.queryTime = true
			s.dialect.sample(line)
		}
	case 'P':
		if bytes.HasPrefix(line, []byte("# Pages_accessed: ")) {
			return
		}
	case 'F':
		if s.knownFlags(line) {
			return
		}
	case 'e', 'N', 'W':
		return // explain, No InnoDB statistics, Warnings
	}
	s.attributes(line)
}

// timeLine reads "# Time: 071015 21:43:52" and "# Time: 2016-07-20T18:13:25.698433Z"; old Percona servers put User@Host
// behind it on the same line.
func (s *slowLog) timeLine(line []byte) {
	stamp := line[len("# Time: "):]
	if i := bytes.IndexByte(stamp, '#'); i >= 0 {
		s.userLine(stamp[i:])
		stamp = bytes.TrimRight(stamp[:i], " ")
	}
	if !s.clock.stamp(stamp) {
		s.remark("time that cannot be read")
	}
}

// attributes reads "Name: value  Name: value ..".
func (s *slowLog) attributes(line []byte) {
	i := 0
	for i < len(line) {
		for i < len(line) && !isWord(line[i]) {
			i++
		}
		start := i
		i = skipWord(line, i)
		if i >= len(line) || line[i] != ':' {
			if i < len(line) && line[i] != ' ' { // not an attribute: to the next blank
				for i < len(line) && line[i] != ' ' {
					i++
				}
			}
			continue
		}
		key := line[start:i]
		for i++; i < len(line) && line[i] == ' '; i++ {
		}
		value := i
		for i < len(line) && line[i] != ' ' {
			i++
		}
		if i > value && line[i-1] == ':' && skipWord(line, value) == i-1 {
			s.attribute(key, nil) // the value is empty, this is the next name
			i = value
			continue
		}
		s.attribute(key, line[value:i])
	}
}

func (s *slowLog) attribute(key, value []byte) {
	e := &s.ev
	if len(value) == 0 && string(key) != "Schema" {
		return
	}
	switch string(key) {
	case "Query_time":
		var ok bool
		if e.queryTime, ok = parseSeconds(value); !ok {
			s.remark("Query_time that is not a number")
			return
		}
		if e.queryTime.hi != 0 || e.queryTime.lo > centuryNanos {
			s.remark("Query_time above a hundred years: the server's clock was set back")
		}
		e.timed = true
	case "Lock_time":
		e.lockTime = parseNanos(value)
	case "Rows_sent":
		e.rowsSent = parseCount(value)
	case "Rows_examined":
		e.rowsExamined = parseCount(value)
	case "Rows_affected":
		e.rowsAffected = parseCount(value)
	case "Bytes_sent":
		e.bytesSent = parseCount(value)
	case "Engine_time": // milliseconds, alone among the times of the slow log
		e.engineTime = parseNanos(value) / 1000
	case "Thread_id", "Id":
		e.thread = parseCount(value)
	case "Schema":
		s.memo.hasSchema = true
		e.db = named1(value)
	case "Last_errno", "Errno":
		if parseCount(value) != 0 {
			e.flags |= 1 << flagError
		}
	case "Killed":
		if parseCount(value) != 0 {
			e.flags |= 1 << flagKilled
		}
	case "QC_hit", "QC_Hit":
		s.flag(flagCacheHit, value)
	case "Full_scan":
		s.flag(flagFullScan, value)
	case "Full_join":
		s.flag(flagFullJoin, value)
	case "Tmp_table":
		s.flag(flagTmpTable, value)
	case "Tmp_table_on_disk":
		s.flag(flagTmpDisk, value)
	case "Filesort":
		s.flag(flagFilesort, value)
	case "Filesort_on_disk":
		s.flag(flagFilesortDisk, value)
	case "Log_slow_rate_limit":
		if n := parseCount(value); n > 1 {
			s.remark(noteSampled)
		}
	}
}

func (s *slowLog) flag(bit int, value []byte) {
	if string(value) == "Yes" {
		s.ev.flags |= 1 << bit
	}
}

// noteSampled is the remark on events of a server that logs only a sample.
const noteSampled = "sampled by the server (Log_slow_rate_limit): counts are of the sample"

const centuryNanos = 100 * 366 * 86400 * 1e9

// parseSeconds reads decimal seconds into nanoseconds. Digits behind the ninth and anything behind a second point are
// left out: a server bug printed 18446744073708.796870.000036, of which the reference takes the first number.
func parseSeconds(b []byte) (wide, bool) {
	var sec, frac uint64
	i := 0
	for i < len(b) && isDigit(b[i]) {
		if sec > (math.MaxUint64-9)/10 {
			return wide{}, false
		}
		sec = sec*10 + uint64(b[i]-'0')
		i++
	}
	if i == 0 && (len(b) < 2 || b[0] != '.') {
		return wide{}, false
	}
	if i < len(b) && b[i] == '.' {
		i++
		scale := uint64(100_000_000)
		for ; i < len(b) && isDigit(b[i]); i++ {
			frac += uint64(b[i]-'0') * scale
			scale /= 10
		}
	}
	if i < len(b) && b[i] != '.' {
		return wide{}, false
	}
	hi, lo := bits.Mul64(sec, 1e9)
	w := wide{hi, lo}
	w.addSmall(frac)
	return w, true
}

func parseNanos(b []byte) uint64 {
	w, _ := parseSeconds(b)
	return w.saturated()
}

// parseCount reads an unsigned number; what is none (-1 for unknown) counts as nothing.
func parseCount(b []byte) uint64 {
	var v uint64
	for _, c := range b {
		if !isDigit(c) || v > (math.MaxUint64-9)/10 {
			return 0
		}
		v = v*10 + uint64(c-'0')
	}
	return v
}
