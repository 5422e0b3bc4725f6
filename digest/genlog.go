package digest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// ReadGeneralLog counts the events of a general log: MySQL 5.0 to 8.4 and MariaDB, old stamps and ISO stamps. There are no
// latencies in it, so its events count as untimed. As in the reference, everything but Query is an administrator command
// under the rule set ptqd; under lexer an Execute counts as the statement it runs.
func (b *Builder) ReadGeneralLog(name string, r io.Reader) error {
	g := &generalLog{b: b, in: input{name: name, kind: "genlog"}, r: bufio.NewReaderSize(r, sniffSize), sessions: map[uint64]*session{}}
	err := g.run()
	g.in.dialect = g.dialect.String()
	g.in.bytes = g.offset
	b.d.inputs = append(b.d.inputs, g.in)
	if err != nil {
		return fmt.Errorf("read general log %s: %w", name, err)
	}
	return nil
}

// generalLog reads line by line. A statement goes on until a line that begins another event, but not while a literal is
// open: a literal may hold lines that look like events, as in the slow log. When the literal turns out never to close, the
// lines behind it are read again as what they look like.
type generalLog struct {
	b        *Builder
	in       input
	r        *bufio.Reader
	offset   int64 // behind the last line read
	again    []keptLine
	dialect  dialect
	sessions map[uint64]*session
	at       int64

	open    bool // a statement is being read
	began   int64
	thread  uint64
	text    []byte
	state   lexState
	suspect []keptLine // lines inside the open literal, from the first that looks like an event
	held    int        // bytes in suspect
	keep    int        // bytes of the statement in front of them
	cut     bool
}

type keptLine struct {
	text   []byte
	offset int64
}

// session is what a connection has told about itself.
type session struct{ user, host, db name }

// maxSessions bounds what is remembered of connections that never end.
const maxSessions = 100_000

func (g *generalLog) run() error {
	for {
		line, err := g.next()
		if errors.Is(err, io.EOF) {
			if g.open && g.state.isOpen() && len(g.suspect) > 0 {
				g.reopen()
				continue
			}
			g.finish()
			return nil
		}
		if err != nil {
			g.finish()
			return err
		}
		g.line(line)
	}
}

// next is the next line, from those to be read again first. A line longer than the longest statement is cut.
func (g *generalLog) next() (keptLine, error) {
	if len(g.again) > 0 {
		l := g.again[0]
		g.again = g.again[1:]
		return l, nil
	}
	l := keptLine{offset: g.offset}
	for {
		part, err := g.r.ReadSlice('\n')
		g.offset += int64(len(part))
		if room := g.b.options.MaxStatement - len(l.text); room > 0 {
			l.text = append(l.text, part[:min(len(part), room)]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && g.offset > l.offset, err == nil:
			return l, nil
		default:
			return l, err
		}
	}
}

func (g *generalLog) line(l keptLine) {
	text := trimCR(bytes.TrimSuffix(l.text, []byte("\n")))
	starts := isGeneralLine(text)
	if g.open && g.state.isOpen() && (starts || len(g.suspect) > 0) {
		if len(g.suspect) == 0 {
			g.keep = len(g.text)
		}
		g.suspect = append(g.suspect, keptLine{bytes.Clone(l.text), l.offset})
		g.held += len(l.text)
		if g.held > lookBehind {
			g.reopen()
			return
		}
		g.append(l.text)
		if !g.state.isOpen() {
			g.in.note("text inside a literal looks like an event: kept as data", g.began)
			g.suspect, g.held = nil, 0
		}
		return
	}
	switch {
	case starts:
		g.finish()
		g.event(text, l)
	case g.dialect.banner(text):
		g.finish()
	case g.open:
		g.append(l.text)
	case !isBlankLine(text):
		g.in.skip(ReasonOutside, l.offset, int64(len(l.text)))
	}
}

// reopen ends a statement whose literal never closes in front of the first line that looks like an event.
func (g *generalLog) reopen() {
	g.in.note("literal without an end", g.began)
	g.again = append(g.suspect, g.again...)
	g.suspect, g.held = nil, 0
	g.text = g.text[:g.keep]
	g.state = inCode
	g.finish()
}

func (st lexState) isOpen() bool { return st != inCode && st != inLine }

// append adds a line to the statement and follows its quotes.
func (g *generalLog) append(line []byte) {
	for i := 0; i < len(line); {
		if line[i] == '\n' && g.state == inLine {
			g.state = inCode
		}
		i += g.state.step(line[i:])
	}
	room := g.b.options.MaxStatement - len(g.text)
	if len(line) > room {
		g.cut = true
	}
	g.text = append(g.text, line[:min(len(line), room)]...)
}

// event begins the event of a line.
func (g *generalLog) event(text []byte, l keptLine) {
	h, _ := parseGeneralLine(text)
	if h.stamp != nil {
		if at, ok := generalStamp(h.stamp); ok {
			g.at = at
		}
	}
	g.began, g.thread = l.offset, h.thread
	switch string(h.command) {
	case "Query":
		g.statement(l.text[h.arg:])
		return
	case "Execute":
		if g.b.options.Rules == RulesLexer {
			g.statement(l.text[h.arg:])
			return
		}
	case "Connect":
		g.connect(l.text[h.arg:])
		return
	case "Init DB":
		if f := bytes.Fields(text[h.arg:]); len(f) > 0 {
			g.session().db = named1(bytes.Trim(bytes.Clone(f[0]), "`"))
		}
	}
	g.admin(h.command)
	if string(h.command) == "Quit" {
		delete(g.sessions, g.thread)
	}
}

func (g *generalLog) statement(text []byte) {
	g.open, g.text, g.state, g.cut = true, g.text[:0], inCode, false
	g.append(text)
}

// admin counts an event that is not a statement. Like the reference it is named by the first word of the command, except for
// Init DB.
func (g *generalLog) admin(command []byte) {
	if i := bytes.IndexByte(command, ' '); i > 0 && string(command) != "Init DB" {
		command = command[:i]
	}
	g.count(append([]byte("administrator command: "), command...), 1<<flagAdmin)
}

// connect reads "root@localhost on shop using Socket". A refused connection is a class of its own, as in the reference,
// with the line's end in its name: the ID depends on it.
func (g *generalLog) connect(arg []byte) {
	if bytes.HasPrefix(arg, []byte("Access denied")) {
		g.count(append([]byte("administrator command: "), arg...), 1<<flagAdmin|1<<flagError)
		return
	}
	s := g.session()
	*s = session{}
	if f := bytes.Fields(arg); len(f) > 0 {
		user, host, _ := bytes.Cut(bytes.Clone(f[0]), []byte("@"))
		s.user, s.host = named1(user), named1(host)
	}
	if i := bytes.Index(arg, []byte(" on ")); i >= 0 && i+4 < len(arg) && arg[i+4] != ' ' {
		if f := bytes.Fields(arg[i+4:]); len(f) > 0 && string(f[0]) != "using" {
			s.db = named1(bytes.Clone(f[0]))
		}
	}
	g.admin([]byte("Connect"))
}

func (g *generalLog) session() *session {
	s := g.sessions[g.thread]
	if s == nil {
		s = &session{}
		if len(g.sessions) < maxSessions {
			g.sessions[g.thread] = s
		}
	}
	return s
}

// finish counts the statement being read.
func (g *generalLog) finish() {
	if !g.open {
		return
	}
	g.open = false
	text := bytes.TrimSuffix(g.text, []byte("\n"))
	text = bytes.TrimSuffix(text, []byte("\r"))
	if g.cut {
		g.in.note("statement longer than the reader's window: classed by its beginning", g.began)
	}
	g.count(text, 0)
}

func (g *generalLog) count(text []byte, flags uint32) {
	e := event{at: g.at, thread: g.thread, text: text, flags: flags}
	if flags&(1<<flagAdmin) != 0 {
		e.fingerprint = text
	}
	if s := g.sessions[g.thread]; s != nil {
		e.user, e.host, e.db = s.user, s.host, s.db
	}
	g.b.add(&g.in, &e)
}

// generalStamp reads both kinds of stamps.
func generalStamp(b []byte) (int64, bool) {
	if len(b) > 10 && b[4] == '-' {
		t, err := time.Parse(time.RFC3339Nano, string(b))
		return t.UnixMicro(), err == nil
	}
	return oldStamp(b)
}
