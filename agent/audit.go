package agent

import (
	"encoding/json"
	"log/slog"
	"os"
	"sync"
	"time"

	"stowage/farm"
)

const (
	auditFile = "audit.jsonl"
	auditMax  = 32 << 20 // bytes; then it becomes audit.jsonl.1
)

// audit is what the agent did, one JSON object a line: when, asked by whom, for
// which call, on what, how it ended. Contents of files, logins and tokens are
// never in it; what a command printed is, its first and its last part. Calls that only look are written when they fail.
type audit struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64
	log  *slog.Logger
}

type auditLine struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"` // begin, done, failed, refused, revoked, command, command-ended
	Call    string    `json:"call,omitempty"`
	ID      string    `json:"id"`
	By      string    `json:"by,omitempty"`    // the certificate's name
	Asker   string    `json:"asker,omitempty"` // program and person, as it says itself
	For     string    `json:"for,omitempty"`   // the attempt of a step
	On      string    `json:"on,omitempty"`
	Place   string    `json:"place,omitempty"`
	Owner   string    `json:"owner,omitempty"`
	Peer    string    `json:"peer,omitempty"` // the other end of a copy
	Bytes   int64     `json:"bytes,omitempty"`
	Seconds float64   `json:"seconds,omitempty"`
	Text    string    `json:"text,omitempty"` // a command, or its exit code and what it printed
	Error   string    `json:"error,omitempty"`
}

func openAudit(path string, log *slog.Logger) (*audit, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, &farm.Error{Op: "open audit log", Subject: path, Err: err}
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, &farm.Error{Op: "open audit log", Subject: path, Err: err}
	}
	return &audit{path: path, file: f, size: st.Size(), log: log}, nil
}

func (a *audit) begin(id string, q request, by string) {
	if isChange(q) {
		a.write(lineOf("begin", id, q, by))
	}
}

func (a *audit) end(id string, q request, by string, took time.Duration, out answer, err error) {
	if !isChange(q) && err == nil {
		return
	}
	l := lineOf("done", id, q, by)
	l.Seconds = took.Round(time.Millisecond).Seconds()
	if q.Call == callFetch {
		l.Bytes = out.Copied.Bytes
	}
	if err != nil {
		l.Event, l.Error = "failed", err.Error()
	}
	a.write(l)
}

func (a *audit) refused(id string, err error) {
	a.write(auditLine{Event: "refused", ID: id, Error: err.Error()})
}

func lineOf(event, id string, q request, by string) auditLine {
	l := auditLine{Event: event, Call: q.Call, ID: id, By: by, Asker: q.Asker, For: q.For, On: q.subject(), Place: keyOf(q), Owner: q.Owner, Peer: string(q.To)}
	if q.From != "" {
		l.Peer = string(q.From)
	}
	return l
}

// write adds a line. A full disk must not stop a database from being started:
// what cannot be written goes to the agent's own log.
func (a *audit) write(l auditLine) {
	l.Time = time.Now().UTC()
	raw, err := json.Marshal(l)
	if err != nil {
		return // strings and numbers always encode
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.size > auditMax {
		a.rotate()
	}
	n, err := a.file.Write(append(raw, '\n'))
	a.size += int64(n)
	if err != nil {
		a.log.Error("audit line not written", "line", string(raw), "error", err)
	}
}

// rotate keeps one older file. When it fails the old file goes on.
func (a *audit) rotate() {
	if os.Rename(a.path, a.path+".1") != nil {
		return
	}
	f, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	a.file.Close()
	a.file, a.size = f, 0
}

func (a *audit) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.file.Close() // every line was written when it was made
}
