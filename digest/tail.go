package digest

import (
	"bytes"
	"fmt"
)

// Tail is the digest of a slow log that grows. It is not safe for concurrent use.
type Tail struct {
	o     Options
	name  string
	total *Digest
	rest  []byte // the last event, which may not be whole
}

// NewTail begins with nothing. Name is for reports.
func NewTail(name string, o Options) *Tail {
	o.Workers = 1
	return &Tail{o: o, name: name, total: New(o).Digest()}
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
	b := New(t.o)
	if err := b.ReadSlowLog(t.name, bytes.NewReader(text)); err != nil {
		return fmt.Errorf("follow %s: %w", t.name, err)
	}
	d := b.Digest()
	if len(t.total.inputs) > 0 { // one input, not one for each look
		mine := &t.total.inputs[0]
		for _, in := range d.inputs {
			mine.bytes, mine.events, mine.left = mine.bytes+in.bytes, mine.events+in.events, mine.left+in.left
			mine.saw(in.from)
			mine.saw(in.to)
			for _, r := range in.skipped {
				mine.skipped = remarkOn(mine.skipped, r.reason, r.offset, r.bytes)
				addTimes(mine.skipped, r.reason, r.count-1)
			}
		}
		d.inputs = nil
	}
	return t.total.Merge(d)
}

// Digest is what was counted so far: to be looked at, until the next Add.
func (t *Tail) Digest() *Digest { return t.total }
