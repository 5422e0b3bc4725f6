package digest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A slow log is read by several goroutines in parts of a few megabytes, cut where a "# Time:" line follows the end of a
// statement. Such a place may lie inside a literal (somebody may have forged it), so a part is only believed when the part
// in front of it ended outside of any statement; else both are read again as one. Every part is digested on its own and
// merged in the order of the file; merging is exact, so the result is that of one pass.

const (
	partSize = 2 << 20
	// partLimit is how large a part may grow while no place to cut is found; the rest of such a log is read in one piece.
	partLimit = 16 << 20
)

// part is one piece of a log and what came of it.
type part struct {
	text   []byte
	offset int64
	read   *slowLog // set when ready is closed
	ready  chan struct{}
}

func (b *Builder) readSlowLogInParts(name string, r io.Reader) error {
	c := &partCutter{r: r}
	j := partJoiner{b: b, in: input{name: name, kind: "slowlog"}}
	work := make(chan *part)
	defer close(work)
	for range b.options.Workers {
		go func() {
			for p := range work {
				p.read = b.readPart(name, p.text, nil)
				close(p.ready)
			}
		}()
	}
	var queue []*part // handed out, in the order of the file
	var err error
	for {
		var p *part
		if p, err = c.next(); p == nil {
			break
		}
		work <- p
		if queue = append(queue, p); len(queue) > b.options.Workers {
			j.join(queue[0])
			c.give(queue[0])
			queue = queue[1:]
		}
		if c.tooLong {
			break
		}
	}
	for _, p := range queue {
		j.join(p)
	}
	if c.tooLong && err == nil {
		err = j.rest(io.MultiReader(bytes.NewReader(c.carry), c.r))
	} else {
		j.end()
	}
	j.in.dialect = j.dialect.String()
	b.d.inputs = append(b.d.inputs, j.in)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read slow log %s: %w", name, err)
	}
	return nil
}

// readPart digests one part, with what the parts in front of it told, if that is known.
func (b *Builder) readPart(name string, text []byte, before *slowLog) *slowLog {
	o := b.options
	o.Workers = 1
	s := newSlowLog(New(o), name, nil, 0)
	s.buf, s.end, s.eof = text, len(text), true
	if before != nil {
		s.db, s.used, s.clock, s.dialect = before.db, before.used, before.clock, before.dialect
	}
	s.rest()
	return s
}

// partCutter reads a log and cuts it.
type partCutter struct {
	r       io.Reader
	carry   []byte // behind the last cut
	offset  int64
	err     error
	tooLong bool // no place to cut was found: the rest, from carry on, must be read in one piece
	spare   [][]byte
}

// give takes back the memory of a part.
func (c *partCutter) give(p *part) {
	if len(c.spare) < 4 {
		c.spare = append(c.spare, p.text[:0])
	}
	p.text = nil
}

// next is the next part, or nil at the end, with the error that ended it.
func (c *partCutter) next() (*part, error) {
	var text []byte
	if n := len(c.spare); n > 0 {
		text, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	text = append(text, c.carry...)
	c.carry = c.carry[:0]
	for c.err == nil {
		at := len(text)
		if cap(text)-at < partSize {
			text = append(text, make([]byte, partSize)...)
		}
		n, err := io.ReadFull(c.r, text[at:at+partSize])
		text = text[:at+n]
		if c.err = err; err == io.ErrUnexpectedEOF {
			c.err = io.EOF
		}
		if c.err != nil {
			break
		}
		if cut := lastCut(text); cut > 0 {
			c.carry = append(c.carry, text[cut:]...)
			return c.part(text[:cut]), nil
		}
		if len(text) > partLimit {
			c.carry, c.tooLong = text, true
			return nil, nil
		}
	}
	if len(text) == 0 {
		return nil, c.err
	}
	return c.part(text), nil
}

func (c *partCutter) part(text []byte) *part {
	p := &part{text: text, offset: c.offset, ready: make(chan struct{})}
	c.offset += int64(len(text))
	return p
}

// lastCut is the last place in text where a statement ends and a "# Time:" line begins, or 0. It searches forwards in
// stretches from the end: searching backwards is ten times slower.
func lastCut(text []byte) int {
	const stretch = 64 << 10
	mark := []byte("\n# Time: ")
	for end := len(text); end > 0; end -= stretch {
		from := max(0, end-stretch)
		cut := 0
		for at := from; ; {
			i := bytes.Index(text[at:min(len(text), end+len(mark)-1)], mark)
			if i < 0 {
				break
			}
			at += i
			if at > 1 && (text[at-1] == ';' || text[at-1] == '\r' && text[at-2] == ';') {
				cut = at + 1
			}
			at++
		}
		if cut > 0 {
			return cut
		}
	}
	return 0
}

// partJoiner puts the parts together, in the order of the file.
type partJoiner struct {
	b       *Builder
	in      input
	dialect dialect
	last    *slowLog // of the part joined last
	held    *part    // a part whose last statement may go on in the next one
}

func (j *partJoiner) join(p *part) {
	<-p.ready
	if j.held != nil {
		text := append(bytes.Clone(j.held.text), p.text...)
		p.text, p.offset, j.held = text, j.held.offset, nil
		p.read = j.b.readPart(j.in.name, p.text, j.last)
	} else if p.read.leans || p.read.clock.leans || j.last != nil && len(j.last.clock.own) > 0 {
		p.read = j.b.readPart(j.in.name, p.text, j.last)
	}
	if p.read.open {
		held := *p
		held.text = bytes.Clone(p.text) // the cutter takes p.text back
		j.held = &held
		return
	}
	j.take(p)
}

// end takes what was held back for a part that never came.
func (j *partJoiner) end() {
	if j.held != nil {
		j.take(j.held)
		j.held = nil
	}
}

// take adds a part to the whole.
func (j *partJoiner) take(p *part) {
	s := p.read
	j.in.bytes += int64(len(p.text))
	j.in.add(&s.in, p.offset)
	j.b.d.absorb(s.b.d)
	if j.b.options.MaxClasses < len(j.b.d.byHash) {
		j.b.d.foldSmallest(j.b.options.MaxClasses * 3 / 4)
	}
	s.b, s.buf = nil, nil
	if !s.used && j.last != nil {
		s.db, s.used = j.last.db, j.last.used
	}
	if j.last != nil && s.clock.zone == 0 {
		s.clock.zone = j.last.clock.zone
	}
	j.last = s
	if j.dialect.version == "" || s.dialect.version != "" {
		j.dialect.version = s.dialect.version
	}
	j.dialect.mariadb = j.dialect.mariadb || s.dialect.mariadb
	j.dialect.extra = j.dialect.extra || s.dialect.extra
}

// rest reads what is left of a log that cannot be cut, in one piece.
func (j *partJoiner) rest(r io.Reader) error {
	offset := j.in.bytes
	if j.held != nil {
		r = io.MultiReader(bytes.NewReader(j.held.text), r)
		offset = j.held.offset
		j.held = nil
	}
	s := newSlowLog(j.b, j.in.name, r, firstBuffer)
	if j.last != nil {
		s.db, s.used, s.clock, s.dialect = j.last.db, j.last.used, j.last.clock, j.last.dialect
	}
	err := s.run()
	j.in.bytes += s.base + int64(s.end)
	j.in.add(&s.in, offset)
	j.dialect = s.dialect
	return err
}

// add counts another part of the same input, which began at an offset.
func (in *input) add(p *input, offset int64) {
	in.events += p.events
	in.left += p.left
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
