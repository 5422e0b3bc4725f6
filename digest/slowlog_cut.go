package digest

import (
	"bytes"
	"io"
	"math"
)

const (
	// Parts begin small, so that all goroutines have something to do at once and a log of very many classes is noticed
	// before much of it was read, and grow: every part costs the classes of the log once more.
	leastPart = 1 << 20
	mostPart  = 64 << 20
	// streamPart is the parts of a stream: they are in memory, one for every goroutine and two more.
	streamPart = 2 << 20
	// manyClasses is where parts no longer pay, neither in time nor in memory: the rest is read in one piece.
	manyClasses = 8192
	// partLimit is how large a part of a stream may grow while no place to cut is found; the rest of it is read in one
	// piece.
	partLimit = 16 << 20
)

// firstCut is the first place in text where a statement ends and an event begins, or 0.
func firstCut(text []byte) int {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("\n# "))
		if i < 0 {
			return 0
		}
		at += i + 1
		if isCut(text, at) {
			return at
		}
	}
}

// lastCut is the last such place, or 0. It searches forwards in stretches from the end: searching backwards is ten times
// slower.
func lastCut(text []byte) int {
	const stretch, before, header = 16 << 10, 3, 4 << 10
	for end := len(text); end > 0; end -= stretch {
		from := max(0, end-stretch-before)
		piece := text[from:min(len(text), end+header)]
		last := 0
		for i := firstCut(piece); i > 0; i = firstCut(piece[last:]) {
			last += i
		}
		if last > 0 {
			return from + last
		}
	}
	return 0
}

// isCut says whether a line that begins at i can be the first of an event, and the one in front of it the last of a
// statement.
func isCut(text []byte, i int) bool {
	if i < 2 || text[i-2] != ';' && (i < 3 || text[i-2] != '\r' || text[i-3] != ';') {
		return false
	}
	line := text[i:min(len(text), i+eventStart)]
	if !bytes.HasPrefix(line, []byte("# User@Host: ")) && (!bytes.HasPrefix(line, []byte("# Time: ")) || !isEventStart(line)) {
		return false
	}
	return setIn(text[i:]) // otherwise it may be a comment, see slowlog_forged.go
}

// readAgain is a log of which any part can be read at any time, and its size: a file, or bytes in memory. It is nil for
// streams, and for what is too small to be worth it.
func readAgain(r io.Reader) (log io.ReaderAt, size int64) {
	f, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, 0
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, 0
	}
	end, err := f.Seek(0, io.SeekEnd)
	if _, back := f.Seek(at, io.SeekStart); err != nil || back != nil || end-at < 2*leastPart {
		return nil, 0
	}
	return io.NewSectionReader(f, at, math.MaxInt64-at), end - at
}

// fileCutter cuts a log that can be read at any place: it only looks at where the cuts are.
type fileCutter struct {
	log      io.ReaderAt
	at, size int64
	step     int64
	workers  int
	window   []byte
	inOne    bool // the rest must be read in one piece
}

func newFileCutter(log io.ReaderAt, size int64, workers int) *fileCutter {
	return &fileCutter{log: log, size: size, step: leastPart, workers: workers, window: make([]byte, 16<<10)}
}

func (c *fileCutter) done(*part) {}

func (c *fileCutter) rest() (io.Reader, int64) {
	if !c.inOne {
		return nil, 0
	}
	return io.NewSectionReader(c.log, c.at, math.MaxInt64-c.at), c.at
}

// next grows the parts at the beginning of the log and lets them shrink at its end, so that all goroutines come to the end
// together. The last part goes on to wherever the log ends by then: it may be growing.
func (c *fileCutter) next(classes int) (*part, error) {
	if c.at >= c.size {
		return nil, io.EOF
	}
	if c.inOne = classes > manyClasses; c.inOne {
		return nil, nil
	}
	c.step = min(2*c.step, mostPart, (c.size-c.at)/int64(c.workers+1))
	c.step = max(c.step, leastPart)
	p := &part{log: c.log, from: c.at, ready: make(chan struct{})}
	cut, err := c.cut(c.at + c.step)
	if err != nil {
		cut = c.size // whoever reads the part will meet the error
	}
	if p.to = cut; cut >= c.size {
		p.to = math.MaxInt64
	}
	c.at = cut
	return p, nil
}

// cut is the first place to cut at or behind an offset, or the end.
func (c *fileCutter) cut(from int64) (int64, error) {
	for from < c.size {
		n, err := c.log.ReadAt(c.window, from)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if at := firstCut(c.window[:n]); at > 0 {
			return from + int64(at), nil
		}
		if n < len(c.window) {
			return c.size, nil
		}
		from += int64(n - 2*eventStart) // a place to cut may lie across the end of the window
	}
	return c.size, nil
}

// streamCutter reads a log that comes as a stream, and cuts what was read.
type streamCutter struct {
	r      io.Reader
	carry  []byte // behind the last cut
	offset int64
	err    error
	inOne  bool // the rest, from carry on, must be read in one piece
	spare  [][]byte
}

// done takes back the memory of a part.
func (c *streamCutter) done(p *part) {
	if len(c.spare) < 4 && cap(p.text) <= 2*partLimit {
		c.spare = append(c.spare, p.text[:0])
	}
	p.text = nil
}

func (c *streamCutter) rest() (io.Reader, int64) {
	if !c.inOne {
		return nil, 0
	}
	return io.MultiReader(bytes.NewReader(c.carry), c.r), c.offset
}

func (c *streamCutter) next(classes int) (*part, error) {
	if c.inOne = classes > manyClasses && c.err == nil; c.inOne {
		return nil, nil
	}
	var text []byte
	if n := len(c.spare); n > 0 {
		text, c.spare = c.spare[n-1], c.spare[:n-1]
	} else {
		text = make([]byte, 0, streamPart+streamPart/16) // and what is carried over
	}
	text = append(text, c.carry...)
	c.carry = c.carry[:0]
	for c.err == nil {
		at := len(text)
		if cap(text)-at < streamPart {
			text = append(text, make([]byte, streamPart)...)
		}
		n, err := io.ReadFull(c.r, text[at:at+streamPart])
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
			c.carry, c.inOne = text, true
			return nil, nil
		}
	}
	if len(text) == 0 {
		return nil, c.err
	}
	return c.part(text), nil
}

func (c *streamCutter) part(text []byte) *part {
	p := &part{text: text, from: c.offset, ready: make(chan struct{})}
	c.offset += int64(len(text))
	p.to = c.offset
	return p
}
