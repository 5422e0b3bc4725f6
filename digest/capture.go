package digest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"stowage/capture"
)

// ReadCapture counts the events of a packet capture: pcap, pcapng, or the text that tcpdump -x -tttt prints. A query's time
// is that from its last packet to the first packet of the answer, as at the place of the capture: the network's part is
// in it. A connection's time is that from its first packet to the server's word on the login. Events are stamped with the
// answer. There is no lock time and nothing is known of the rows examined.
//
// What the packets mean is the business of package capture: servers are known by what they say, sequence numbers are
// obeyed, and where segments were lost the query is counted without a time, never with a wrong one. The compressed
// protocol is read; encrypted connections are counted and named.
//
// Prepared statements: in pcap and pcapng, the execution of one counts as the statement itself, as in the slow log of the
// same run, so that the two can be compared. The reference reads tcpdump's text only and calls it "EXECUTE ..": in that
// format, and under its rule set, so do we. Preparing and closing are counted as PREPARE and DEALLOCATE PREPARE, as by the
// reference; of a log, they are administrator commands.
func (b *Builder) ReadCapture(name string, r io.Reader) error {
	in := bufio.NewReaderSize(r, sniffSize)
	head, _ := in.Peek(sniffSize)
	format := capture.FormatOf(head)
	if format == "" {
		return fmt.Errorf("read capture %s: %w", name, ErrUnknownInput)
	}
	c := capturedEvents{
		b: b, in: input{name: name, kind: "pcap", dialect: "mysql protocol"},
		isNamedExecute: format == capture.FormatText && b.options.Rules == RulesPtqd,
		templates:      map[uint64]template{},
	}
	c.statements.inNames = b.options.Rules == RulesLexer
	c.executions.inNames = c.statements.inNames
	sum, err := capture.Read(name, in, capture.Options{MaxQuery: b.options.MaxStatement}, c.count)
	c.conclude(&sum)
	b.d.inputs = append(b.d.inputs, c.in)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// capturedEvents counts the events of one capture.
type capturedEvents struct {
	b              *Builder
	in             input
	isNamedExecute bool // an execution is called EXECUTE
	templates      map[uint64]template

	// The present event, with the texts that are made up for it. They are here so that no event needs memory of its own.
	e       event
	text    []byte
	gaps    [maxShapeGaps + 1]int
	fp      []byte
	learned *knownStatement // shape of the present event, when it is new

	// Shapes of what came before: those of prepared statements apart, as their fingerprints are made of other texts.
	statements, executions shapes

	// Who the last event was of: the next is often of the same.
	session                uint64
	lastUser, lastDB       string
	userName, host, dbName name
}

// template is a prepared statement with its fingerprint. Executions of it differ in their values only.
type template struct{ text, fingerprint []byte }

// What is remembered of prepared statements.
const (
	maxTemplates = 1024
	maxTemplate  = 4 << 10 // bytes
)

// flagCut marks an event whose text is not the statement, or not all of it. It is beyond the flags that are counted.
const flagCut = 31

// count takes in one event.
func (c *capturedEvents) count(p *capture.Event) {
	if p.Command == capture.LongData { // a part of the execution that follows
		return
	}
	if p.Holed {
		c.in.skip("statement with a lost piece", p.Offset, int64(p.QueryBytes))
		return
	}
	c.e = event{
		at: micros(p.AnswerAt), began: micros(p.At), thread: p.Session,
		rowsSent: p.RowsSent, rowsAffected: p.RowsAffected, bytesSent: p.BytesSent,
	}
	e := &c.e
	e.timed = p.Answered
	e.queryTime = narrow(uint64(p.Latency))
	switch {
	case p.Command == capture.Connect:
		c.connect(e, p)
	case p.Command == capture.Quit, p.Command == capture.CloseStatement: // nobody answers
		e.timed, e.at = true, e.began
	case e.at == 0 || !p.Answered:
		e.at = e.began
	}
	if p.ErrorCode != 0 || p.Aborted {
		e.flags |= 1 << flagError
	}
	if p.Truncated {
		e.flags |= 1 << flagCut
	}
	c.who(e, p)
	c.what(e, p)
	c.b.add(&c.in, e)
}

// connect times a login from the first packet of the connection to the last of the answer, as the reference does.
func (c *capturedEvents) connect(e *event, p *capture.Event) {
	e.timed, e.queryTime = false, wide{}
	e.began = micros(p.Began)
	if e.at = micros(p.DoneAt); e.at == 0 {
		e.at = e.began
		return
	}
	if !p.Incomplete || p.Aborted {
		e.timed, e.queryTime = true, narrow(uint64(max(0, p.DoneAt.Sub(p.Began))))
	}
}

// who fills in user, host and database.
func (c *capturedEvents) who(e *event, p *capture.Event) {
	if p.Session != c.session {
		host := p.Client
		if i := strings.LastIndexByte(host, ':'); i >= 0 {
			host = strings.Trim(host[:i], "[]")
		}
		c.session, c.host = p.Session, named1(append(c.host.text[:0], host...))
	}
	if p.User != c.lastUser {
		c.lastUser, c.userName = p.User, named1(append(c.userName.text[:0], p.User...))
	}
	if p.DB != c.lastDB {
		c.lastDB, c.dbName = p.DB, named1(append(c.dbName.text[:0], p.DB...))
	}
	e.host, e.user, e.db = c.host, c.userName, c.dbName
}

// what fills in the text.
func (c *capturedEvents) what(e *event, p *capture.Event) {
	switch p.Command {
	case capture.Query:
		e.text = p.Query
		if len(p.Query) <= maxShapeText {
			e.text = c.textOf("", p.Query)
			c.recognise(&c.statements, e)
		}
	case capture.Prepare, capture.CloseStatement, capture.ResetStatement:
		c.prepared(e, p)
	case capture.Execute, capture.BulkExecute:
		c.execute(e, p)
	default:
		e.text, e.flags = c.textOf(adminPrefix, commandName(p.Command)), e.flags|1<<flagAdmin
		e.fingerprint = e.text
	}
}

// prepared makes the text of what is done to a prepared statement, but for its execution. Classes are named as by the
// reference. Who takes single statements must know at sight that it is none, and gets the slow log's name.
func (c *capturedEvents) prepared(e *event, p *capture.Event) {
	e.flags |= 1 << flagAdmin
	switch isSingle := c.b.sink != nil; {
	case p.Command == capture.Prepare && isSingle:
		e.text = c.textOf(adminPrefix + "Prepare")
	case p.Command == capture.Prepare:
		e.text = c.textOf("PREPARE ", p.Query)
	case p.Command == capture.CloseStatement && isSingle:
		e.text = c.textOf(adminPrefix + "Close stmt")
	case p.Command == capture.CloseStatement:
		e.text = strconv.AppendUint(c.textOf("DEALLOCATE PREPARE "), uint64(p.Prepared), 10)
	case isSingle:
		e.text = c.textOf(adminPrefix + "Reset stmt")
	default:
		e.text = strconv.AppendUint(c.textOf("RESET "), uint64(p.Prepared), 10)
	}
}

const adminPrefix = "administrator command: "

// textOf makes up a text.
func (c *capturedEvents) textOf(head string, rest ...[]byte) []byte {
	c.text = append(c.text[:0], head...)
	for _, r := range rest {
		c.text = append(c.text, r...)
	}
	return c.text
}

// execute makes the text of an execution: the statement with its values in it, and the fingerprint of the statement
// without them, which is the same but for statements that are odd in themselves.
func (c *capturedEvents) execute(e *event, p *capture.Event) {
	switch {
	case len(p.Query) == 0:
		e.text, e.flags = c.textOf("EXECUTE (unknown statement)"), e.flags|1<<flagCut
		return
	case c.isNamedExecute:
		c.textOf("EXECUTE ")
	default:
		c.textOf("")
	}
	word := len(c.text)
	c.text = p.AppendQuery(c.text)
	e.text = c.text
	if c.recognise(&c.executions, e); e.known == nil && c.b.sink == nil {
		e.fingerprint = c.fingerprint(string(c.text[:word]), p.Query)
	}
	if c.learned != nil {
		c.learned.fingerprint = e.fingerprint
	}
}

// recognise looks for the shape of a text that is at the beginning of c.text, and learns it when it is new.
func (c *capturedEvents) recognise(t *shapes, e *event) {
	const tail = ";\n" + "0123456789abcdef0123456789abcdef" // where a statement ends, and what shapes.match may look at behind it
	c.learned = nil
	size := len(e.text)
	if size > maxShapeText || c.b.sink != nil {
		return
	}
	c.text = append(c.text, tail...)
	if k, end := t.match(c.text, &c.gaps); k != nil && end == size {
		e.known, e.gaps, e.fingerprint = k, &c.gaps, k.fingerprint
	} else if fp, ok := ptqdFast(c.fp, e.text); ok {
		c.fp, c.learned = fp[:0], t.add(e.text)
		if t == &c.statements && c.b.options.Rules == RulesPtqd {
			e.fingerprint = fp
		}
	}
	c.text = c.text[:size]
	e.text = c.text
}

// fingerprint is that of a prepared statement behind a word.
func (c *capturedEvents) fingerprint(word string, text []byte) []byte {
	key := hashBytes(text)
	if t, ok := c.templates[key]; ok && bytes.Equal(t.text, text) {
		return t.fingerprint
	}
	fingerprint := c.b.fingerprint(&event{text: append([]byte(word), text...)})
	if len(text) > maxTemplate {
		return fingerprint
	}
	if len(c.templates) >= maxTemplates {
		clear(c.templates)
	}
	t := template{bytes.Clone(text), bytes.Clone(fingerprint)}
	c.templates[key] = t
	return t.fingerprint
}

// maxLossy is how many connections that lost something are named.
const maxLossy = 16

// conclude takes over what there is to say about the whole capture.
func (c *capturedEvents) conclude(sum *capture.Summary) {
	in := &c.in
	in.bytes = int64(sum.Bytes)
	for _, r := range sum.Skipped {
		kept := remark{reason: r.Reason, count: r.Count, offset: r.FirstOffset}
		if r.IsLoss {
			in.skipped = append(in.skipped, kept)
		} else {
			in.notes = append(in.notes, kept)
		}
	}
	for k, l := range sum.Losses {
		if k == maxLossy {
			in.notes = append(in.notes, remark{reason: "more connections with lost segments", count: sum.Lossy - maxLossy, offset: l.FirstOffset})
			break
		}
		in.skipped = append(in.skipped, remark{
			reason: fmt.Sprintf("gaps in the connection of %s with %s", l.Client, l.Server),
			count:  l.Gaps, bytes: int64(l.FromClient + l.FromServer), offset: l.FirstOffset,
		})
	}
	if sum.Compressed > 0 {
		in.notes = append(in.notes, remark{reason: "connections that speak the compressed protocol", count: sum.Compressed})
	}
}

// micros is a time in microseconds since the epoch, 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// commandNames are what the reference calls commands that are not statements.
var commandNames = map[capture.Command]string{
	capture.Quit: "Quit", capture.InitDB: "Init_db", capture.FieldList: "Field_list", capture.CreateDB: "Create_db",
	capture.DropDB: "Drop_db", capture.Refresh: "Refresh", capture.Shutdown: "Shutdown", capture.Statistics: "Statistics",
	capture.ProcessInfo: "Process_info", capture.Connect: "Connect", capture.ProcessKill: "Process_kill", capture.Debug: "Debug",
	capture.Ping: "Ping", capture.ChangeUser: "Change_user", capture.RegisterReplica: "Register_slave",
	capture.SetOption: "Set_option", capture.Fetch: "Stmt_fetch", capture.ResetConnection: "Reset_connection",
}

func commandName(c capture.Command) []byte {
	if n, ok := commandNames[c]; ok {
		return []byte(n)
	}
	return fmt.Appendf(nil, "0x%02x", byte(c))
}
