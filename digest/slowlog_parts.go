package digest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// A slow log is read by several goroutines in parts, cut where an event begins behind the end of a statement. Such a place
// may be inside a literal (somebody may have forged it), and events may take their database or time from lines in front
// of the part. So a part is only believed when the part in front of it ended outside of any statement and what was carried
// over is as it was supposed to be; else it is read again. Every part is digested on its own and merged in the order of
// the file; merging is exact, so the result is that of one pass.

// part is one piece of a log and what came of it.
type part struct {
	from, to int64       // in the log
	log      io.ReaderAt // where to read it from, or nil
	text     []byte      // what it is, where log is nil

	supposed *carried // what the parts in front were supposed to leave
	read     *slowLog // set when ready is closed
	err      error    // likewise: of reading
	ready    chan struct{}
}

// partCutter cuts a log.
type partCutter interface {
	// next is the next part, or nil at the end, with the error that ended it. classes is how many there are so far.
	next(classes int) (*part, error)
	// done takes back the memory of a part.
	done(*part)
	// rest is what must be read in one piece, because there is no place to cut or it does not pay, and where it begins; or
	// nil.
	rest() (r io.Reader, offset int64)
}

// readSlowLogFile reads a slow log at several places at once, if it is one and can be read that way.
func (b *Builder) readSlowLogFile(name string, r io.Reader) (is bool, err error) {
	log, size := readAgain(r)
	if log == nil || b.options.Workers < 2 {
		return false, nil
	}
	head := make([]byte, sniffSize)
	if n, err := log.ReadAt(head, 0); err != nil && err != io.EOF || sniff(head[:n]) != kindSlowLog {
		return false, nil
	}
	return true, b.readSlowLogInParts(name, newFileCutter(log, size, b.options.Workers))
}

func (b *Builder) readSlowLogInParts(name string, c partCutter) error {
	j := partJoiner{b: b, in: input{name: name, kind: "slowlog"}, left: &carried{}}
	work := make(chan *part)
	defer close(work)
	var left atomic.Pointer[carried] // by the part joined last
	left.Store(j.left)
	for range b.options.Workers {
		go func() {
			window := make([]byte, firstBuffer)
			for p := range work {
				p.supposed = left.Load()
				window = b.readPart(name, p, p.supposed, window)
				close(p.ready)
			}
		}()
	}
	var queue []*part // handed out, in the order of the file
	var err error
	for j.err == nil {
		var p *part
		if p, err = c.next(len(b.d.byHash)); p == nil {
			break
		}
		work <- p
		if queue = append(queue, p); len(queue) > b.options.Workers {
			j.join(queue[0])
			left.Store(j.left.suppose())
			c.done(queue[0])
			queue = queue[1:]
		}
	}
	for _, p := range queue {
		j.join(p)
	}
	if rest, offset := c.rest(); rest != nil && err == nil && j.err == nil {
		err = j.rest(rest, offset)
	}
	j.end()
	if j.err != nil {
		err = j.err
	}
	j.in.dialect = j.dialect.String()
	b.d.inputs = append(b.d.inputs, j.in)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read slow log %s: %w", name, err)
	}
	return nil
}

// readPart digests one part as if the parts in front of it had left that. It returns the window for the next.
func (b *Builder) readPart(name string, p *part, before *carried, window []byte) []byte {
	o := b.options
	o.Workers = 1
	s := newSlowLog(New(o), name, p.reader(), window)
	s.take(before)
	if p.log == nil && len(p.text) <= o.MaxStatement+2*lookBehind { // no larger than a window may be: let it be one
		s.buf, s.end, s.eof = p.text, len(p.text), true
	}
	p.err = s.run()
	s.in.bytes = s.base + int64(s.end)
	if p.log != nil && len(s.buf) <= 4*firstBuffer {
		window = s.buf
	}
	p.read, s.buf, s.r = s, nil, nil
	return window
}

func (p *part) reader() io.Reader {
	if p.log == nil {
		return bytes.NewReader(p.text)
	}
	return io.NewSectionReader(p.log, p.from, p.to-p.from)
}

// partJoiner puts the parts together, in the order of the file.
type partJoiner struct {
	b       *Builder
	in      input
	dialect dialect
	left    *carried // by the part joined last
	held    *part    // a part whose last statement may go on in the next one
	err     error    // of reading
}

func (j *partJoiner) join(p *part) {
	<-p.ready
	if j.err != nil {
		return // what is behind an error does not count
	}
	if j.held != nil {
		p.extend(j.held)
		j.held = nil
		j.again(p)
	} else if !p.read.stands(p.supposed, j.left) {
		j.again(p)
	}
	if p.read.open && p.err == nil {
		j.held = p.keep()
		return
	}
	j.take(p)
}

func (j *partJoiner) again(p *part) {
	p.supposed = j.left
	j.b.readPart(j.in.name, p, j.left, make([]byte, firstBuffer))
}

// extend puts another part in front of this one.
func (p *part) extend(by *part) {
	p.from = by.from
	if p.log == nil {
		p.text = append(by.text, p.text...)
	}
}

// keep is a copy of a part that outlives the memory of the original.
func (p *part) keep() *part {
	held := *p
	held.text = bytes.Clone(p.text)
	return &held
}

// end takes what was held back for a part that never came.
func (j *partJoiner) end() {
	if j.held != nil && j.err == nil {
		j.take(j.held)
	}
	j.held = nil
}

// take adds a part to the whole.
func (j *partJoiner) take(p *part) {
	s := p.read
	j.err = p.err
	j.in.bytes += s.in.bytes
	j.in.add(&s.in, p.from)
	j.b.d.absorb(s.b.d)
	if j.b.options.MaxClasses < len(j.b.d.byHash) {
		j.b.d.foldSmallest(j.b.options.MaxClasses * 3 / 4)
	}
	j.left = s.leave(j.left)
	j.speak(&s.dialect)
	p.read = nil
}

// rest reads what is left of a log that cannot be cut, in one piece.
func (j *partJoiner) rest(r io.Reader, offset int64) error {
	if j.held != nil {
		r, offset = io.MultiReader(bytes.NewReader(j.held.text), r), j.held.from
		j.held = nil
	}
	s := newSlowLog(j.b, j.in.name, r, make([]byte, firstBuffer))
	s.take(j.left)
	err := s.run()
	j.in.bytes += s.base + int64(s.end)
	j.in.add(&s.in, offset)
	j.speak(&s.dialect)
	return err
}

// speak adds what a part told about the server.
func (j *partJoiner) speak(d *dialect) {
	if j.dialect.version == "" || d.version != "" {
		j.dialect.version = d.version
	}
	j.dialect.mariadb = j.dialect.mariadb || d.mariadb
	j.dialect.extra = j.dialect.extra || d.extra
}

// add counts another part of the same input, which began at an offset.
func (in *input) add(p *input, offset int64) {
	in.events += p.events
	in.left += p.left
	in.saw(p.from)
	in.saw(p.to)
	for _, r := range p.skipped {
		in.skipped = mergeRemark(in.skipped, r, offset)
	}
	for _, r := range p.notes {
		in.notes = mergeRemark(in.notes, r, offset)
	}
}

func mergeRemark(rs []remark, r remark, offset int64) []remark {
	r.offset += offset
	for i := range rs {
		if rs[i].reason == r.reason {
			rs[i].count += r.count
			rs[i].bytes += r.bytes
			rs[i].offset = min(rs[i].offset, r.offset)
			return rs
		}
	}
	return append(rs, r)
}
