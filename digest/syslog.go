package digest

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"stowage/internal/lazy"
)

// A slow or general log that went through syslog has a prefix on every line: when, from which host, which program. syslogReader
// takes the prefixes off. Lines of other programs and hosts, which a syslog holds in between, are left out and counted.

// syslogPrefix is that of RFC 3164 (Nov 21 10:00:00 db1 mysqld[7]: ) or with the time of RFC 3339; a priority may be before.
var syslogPrefix = lazy.Regexp(`^(?:<\d{1,3}>(?:1 )?)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)) (\S+ [^\s:\[]+(?:\[\d+\])?):? ?`)

// noteOtherPrograms is the Remark on lines of a syslog that are not the log's.
const noteOtherPrograms = "lines of other programs or hosts in the syslog: not read"

// splitSyslog is the host and program of a line, and what it says; ok is false for a line without a prefix.
func splitSyslog(line []byte) (from, says []byte, ok bool) {
	m := syslogPrefix().FindSubmatchIndex(line)
	if m == nil {
		return nil, line, false
	}
	return line[m[2]:m[3]], line[m[1]:], true
}

// isSyslogLine says whether a line is one of a log behind a prefix.
func isSyslogLine(line []byte) bool {
	_, says, ok := splitSyslog(line)
	return ok && (isEventStart(says) || isGeneralLine(unescaped(says)))
}

// unescaped takes back what syslog daemons make of a tab and of a line's end inside a message.
func unescaped(says []byte) []byte {
	if bytes.IndexByte(says, '#') < 0 {
		return says
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(says, []byte("#011"), []byte("\t")), []byte("#012"), []byte("\n"))
}

// syslogReader gives what the first host and program that log statements say.
type syslogReader struct {
	in     *bufio.Reader
	from   []byte // whose lines are read; nil: not known yet
	others uint64 // lines of others
	out    []byte
	err    error
}

func (s *syslogReader) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		line, err := s.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil // what follows has no prefix, and passes as it is
		}
		s.err = err
		from, says, ok := splitSyslog(line)
		switch {
		case !ok:
			s.out = line
			continue
		case s.from == nil && isSyslogLine(line):
			s.from = bytes.Clone(from)
		}
		if !bytes.Equal(from, s.from) {
			s.others++
			continue
		}
		s.out = unescaped(says)
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

var _ io.Reader = (*syslogReader)(nil)
