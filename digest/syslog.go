package digest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"regexp"

	"stowage/internal/lazy"
)

// A slow or general log that went through syslog or a container's log has a prefix on every line: when, from which host, which program.
// syslogReader takes the prefixes off. Lines of other programs and hosts, which such a log holds in between, are left out and counted.

// wrapped is one line of such a log.
type wrapped struct {
	from []byte // host and program, or stream
	says []byte
}

// wrapping takes the prefix off a line; ok is false for a line without one.
type wrapping func(line []byte) (w wrapped, ok bool)

// wrappings are the known ones. What a first event is recognised by is kept for the whole log: some fit lines of others.
var wrappings = []wrapping{
	inCRI,
	prefixed(lazy.Regexp(`^<\d{1,3}>1 \S+ (\S+ \S+ \S+) \S+ (?:-|(?:\[(?:[^\]\\]|\\.)*\])+) ?(?:\x{feff})?`), unescaped), // RFC 5424
	// RFC 3164 (Nov 21 10:00:00 db1 mysqld[7]: ), or with the time of RFC 3339; a priority may be before.
	prefixed(lazy.Regexp(`^(?:<\d{1,3}>(?:1 )?)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)) (\S+ [^\s:\[]+(?:\[\d+\])?):? ?`), unescaped),
	// docker logs -t, docker compose logs, kubectl logs --prefix --timestamps.
	prefixed(lazy.Regexp(`^(?:(\S+) +\| |(\[\S+\]) )?(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) )?`), nil),
	inJSON,
}

func prefixed(prefix func() *regexp.Regexp, unescape func([]byte) []byte) wrapping {
	return func(line []byte) (w wrapped, ok bool) {
		m := prefix().FindSubmatchIndex(line)
		if m == nil || m[1] == 0 {
			return wrapped{says: line}, false
		}
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				w.from = line[m[i]:m[i+1]]
			}
		}
		if w.says = line[m[1]:]; unescape != nil {
			w.says = unescape(w.says)
		}
		return w, true
	}
}

// cri is what container runtimes of Kubernetes write: the stream, and P where a line longer than 16 kB continues in the next, or F.
var cri = lazy.Regexp(`^\S+T\S+ (stdout|stderr) ([FP])(?::\S+)? `)

func inCRI(line []byte) (w wrapped, ok bool) {
	m := cri().FindSubmatchIndex(line)
	if m == nil {
		return wrapped{says: line}, false
	}
	w = wrapped{from: line[m[2]:m[3]], says: line[m[1]:]}
	if line[m[4]] == 'P' {
		w.says = bytes.TrimSuffix(w.says, []byte("\n"))
	}
	return w, true
}

// inJSON knows an object a line: Docker's json-file, where log has the end of the line unless the next one continues it, and journalctl -o json.
func inJSON(line []byte) (w wrapped, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		return wrapped{says: line}, false
	}
	var o struct {
		Log     *string         `json:"log"`
		Stream  string          `json:"stream"`
		Message json.RawMessage `json:"MESSAGE"`
		Host    string          `json:"_HOSTNAME"`
		Program string          `json:"SYSLOG_IDENTIFIER"`
	}
	if json.Unmarshal(line, &o) != nil {
		return wrapped{says: line}, false
	}
	if o.Log != nil {
		return wrapped{from: []byte(o.Stream), says: []byte(*o.Log)}, true
	}
	var text string
	if json.Unmarshal(o.Message, &text) != nil {
		var octets []int // of a message that is not UTF-8
		if json.Unmarshal(o.Message, &octets) != nil {
			return wrapped{says: line}, false
		}
		for _, c := range octets {
			text += string([]byte{byte(c)})
		}
	}
	return wrapped{from: []byte(o.Host + " " + o.Program), says: []byte(text + "\n")}, true
}

// noteOtherPrograms is the Remark on lines of a syslog that are not the log's.
const noteOtherPrograms = "lines of other programs, hosts or streams in between: not read"

// wrappingOf is how a line is wrapped that begins an event, or nil.
func wrappingOf(line []byte) wrapping {
	for _, unwrap := range wrappings {
		if w, ok := unwrap(line); ok && (isEventStart(w.says) || isGeneralLine(w.says)) {
			return unwrap
		}
	}
	return nil
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
	unwrap wrapping // nil: not known yet
	from   []byte   // whose lines are read
	read   int64
	others uint64 // lines of others
	out    []byte
	err    error
}

func (s *syslogReader) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		var line []byte
		line, s.err = wholeLine(s.in, &s.read)
		if len(line) == 0 {
			continue
		}
		if s.unwrap == nil {
			if s.unwrap = wrappingOf(line); s.unwrap == nil {
				s.others++
				continue
			}
			w, _ := s.unwrap(line)
			s.from = bytes.Clone(w.from)
		}
		w, ok := s.unwrap(line)
		switch {
		case !ok:
			s.out = line
		case !bytes.Equal(w.from, s.from):
			s.others++
		default:
			s.out = w.says
		}
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

var _ io.Reader = (*syslogReader)(nil)
