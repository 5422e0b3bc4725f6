package digest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// ProxySQL's query log with mysql-eventslog_format=2: an object of JSON a line. It is what a pool's sessions, which a server's
// slow log may not see, have in common.

// proxyEvent is one line. Times are microseconds since the epoch.
type proxyEvent struct {
	Client   string  `json:"client"`
	Event    string  `json:"event"`
	Query    *string `json:"query"`
	Schema   string  `json:"schemaname"`
	User     string  `json:"username"`
	Thread   uint64  `json:"thread_id"`
	Duration *uint64 `json:"duration_us"`
	Start    int64   `json:"starttime_timestamp_us"`
	End      int64   `json:"endtime_timestamp_us"`
	Affected uint64  `json:"rows_affected"`
	Sent     uint64  `json:"rows_sent"`
	Errno    uint64  `json:"errno"`
}

// isProxyLine says whether a line may be one of ProxySQL's.
func isProxyLine(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\x00")
	return len(line) > 0 && line[0] == '{' && bytes.Contains(line, []byte(`"duration_us"`)) && bytes.Contains(line, []byte(`"schemaname"`))
}

const (
	skipProxyLine  = "lines that are not events of ProxySQL's log"
	skipProxyEvent = "events of ProxySQL's log other than statements"
	longestLine    = 64 << 20
)

// ReadProxySQL reads ProxySQL's query log in JSON.
func (b *Builder) ReadProxySQL(name string, r io.Reader) error {
	in := input{name: name, kind: "proxysql"}
	defer func() { b.d.inputs = append(b.d.inputs, in) }()
	lines := bufio.NewReaderSize(r, sniffSize)
	for {
		at := in.bytes
		line, err := wholeLine(lines, &in.bytes)
		if text := bytes.TrimSpace(line); len(text) > 0 {
			b.proxyLine(&in, text, at)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
}

// wholeLine is the next line, or the beginning of one that is too long to be any.
func wholeLine(r *bufio.Reader, read *int64) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		*read += int64(len(part))
		if len(line) < longestLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (b *Builder) proxyLine(in *input, line []byte, at int64) {
	var p proxyEvent
	if err := json.Unmarshal(line, &p); err != nil || p.Query == nil {
		in.skip(skipProxyLine, at, int64(len(line)))
		return
	}
	e := event{
		text: []byte(*p.Query), db: named1([]byte(p.Schema)), user: named1([]byte(p.User)), thread: p.Thread,
		rowsSent: p.Sent, rowsAffected: p.Affected, at: p.Start,
	}
	if host, _, err := net.SplitHostPort(p.Client); err == nil {
		e.host = named1([]byte(host))
	}
	if e.at == 0 && p.End != 0 && p.Duration != nil {
		e.at = p.End - int64(*p.Duration)
	}
	if p.Duration != nil {
		e.timed, e.queryTime = true, narrow(*p.Duration*uint64(time.Microsecond))
	}
	if p.Errno != 0 {
		e.flags |= 1 << flagError
	}
	switch p.Event {
	case "COM_QUERY", "COM_STMT_EXECUTE", "":
	case "COM_STMT_PREPARE":
		e.text, e.flags = []byte("administrator command: Prepare"), e.flags|1<<flagAdmin
	default:
		in.skip(skipProxyEvent, at, int64(len(line)))
		return
	}
	b.add(in, &e)
}
