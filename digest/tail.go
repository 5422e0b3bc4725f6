package digest

import (
	"bytes"
	"fmt"
)

// Tail is the digest of a slow log that grows. It is not safe for concurrent use.
type Tail struct {
	parts partJoiner // each look is one: it continues with the database and the clock of the events before
	rest  []byte     // the last event, which may not be whole
}

// NewTail begins with nothing. Name is for reports.
func NewTail(name string, o Options) *Tail {
	o.Workers = 1
	return &Tail{parts: partJoiner{b: New(o), in: input{name: name, kind: "slowlog"}, left: &carried{}}}
}

// Add counts what was added to the log. The last event waits until another begins behind it, or until Flush.
func (t *Tail) Add(text []byte) error {
	t.rest = append(t.rest, text...)
	cut := lastCut(t.rest)
	if cut == 0 {
		if len(t.rest) > 2*defaultStatement {
			return t.Flush() // no log, or one statement that nobody has the whole of
		}
		return nil
	}
	whole := t.rest[:cut]
	t.rest = bytes.Clone(t.rest[cut:])
	return t.count(whole)
}

// Flush counts what waits: nothing more comes for now.
func (t *Tail) Flush() error {
	whole := t.rest
	t.rest = nil
	if len(whole) == 0 {
		return nil
	}
	return t.count(whole)
}

func (t *Tail) count(text []byte) error {
	j := &t.parts
	p := &part{text: text, from: j.in.bytes}
	j.b.readPart(j.in.name, p, j.left, make([]byte, firstBuffer))
	if j.take(p); j.err != nil {
		return fmt.Errorf("follow %s: %w", j.in.name, j.err)
	}
	j.in.dialect = j.dialect.String()
	j.b.d.inputs = []input{j.in}
	return nil
}

// Digest is what was counted so far: to be looked at, until the next Add.
func (t *Tail) Digest() *Digest { return t.parts.b.Digest() }
