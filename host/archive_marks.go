package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"stowage/binlog"
	"stowage/internal/safefile"
)

// known is what is known of a file of an archive at one offset: a line of its marks.
type known struct {
	Offset int64 `json:"offset"`
	// At is the latest second of all transactions of the log before Offset, so that it never goes back.
	At    int64  `json:"at"`
	State string `json:"state"`
	// Closed: nothing will come behind Offset. It says why.
	Closed string `json:"closed,omitempty"`
	// Size is the length of the server's own file when it was closed, in bytes.
	Size int64 `json:"size,omitempty"`
}

// Why a file is closed, besides the endings that the server writes.
const (
	leftOpen    = "left open" // the server ended without closing it; what it had begun last is left out
	leftDamaged = "damaged"   // what comes behind it in the server's file is not right
)

const marksSuffix = ".marks"

// clock makes seconds that never go back of those that transactions have. A second later than limit is none: a client can set its clock
// (SET timestamp), and nothing was written later than it was read.
type clock struct{ at, limit int64 }

func (c *clock) see(t binlog.Transaction) {
	if at := t.At.Unix(); at <= c.limit {
		c.at = max(c.at, at)
	}
}

// clockSlack is how far the clocks of servers that replicate to each other may be apart.
const clockSlack = 5

// readMarks reads the marks of a file: the first and the last, and what is between them as it is, where the file is closed. A last line
// that is not whole is none: its writer was killed. It is fs.ErrNotExist when there are no marks, or they cannot be read: they are made
// again of the file.
func readMarks(dir *safefile.Dir, name string) (all []known, between []byte, err error) {
	f, err := dir.OpenFile(name+marksSuffix, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	raw, err := io.ReadAll(f)
	if f.Close(); err != nil {
		return nil, nil, err
	}
	raw = raw[:bytes.LastIndexByte(raw, '\n')+1]
	first := bytes.IndexByte(raw, '\n') + 1
	last := bytes.LastIndexByte(raw[:max(0, len(raw)-1)], '\n') + 1
	if last >= first && first > 0 { // at least two lines: a closed file is known by the last
		if all, err = parseMarks(append(bytes.Clone(raw[:first]), raw[last:]...)); err == nil && all[1].Closed != "" {
			return all, raw[first:last], nil
		}
	}
	if all, err = parseMarks(raw); err == nil && len(all) == 0 {
		err = errors.New("there is no whole line")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s%s: %w: %w", name, marksSuffix, err, fs.ErrNotExist)
	}
	return all, nil, nil
}

func parseMarks(raw []byte) ([]known, error) {
	var all []known
	for line := range bytes.Lines(raw) {
		var k known
		if err := json.Unmarshal(line, &k); err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && k.Offset < all[n-1].Offset {
			return nil, fmt.Errorf("a mark at %d behind one at %d", k.Offset, all[n-1].Offset)
		}
		all = append(all, k)
	}
	return all, nil
}

// sparse leaves out marks that are closer to each other than need be: each call that brought something has made one.
func sparse(all []known) []known {
	out := all[:1:1]
	for n, k := range all[1:] {
		if k.At-out[len(out)-1].At >= markEvery || n == len(all)-2 {
			out = append(out, k)
		}
	}
	return out
}

// text is the lines of marks.
func text(all []known) ([]byte, error) {
	var out []byte
	for _, k := range all {
		line, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

// addMarks writes lines at the end of a file's marks, for good. What a killed writer left behind the last whole line is taken away first.
func addMarks(dir *safefile.Dir, name string, all []known) error {
	lines, err := text(all)
	if err != nil {
		return err
	}
	f, err := dir.OpenFile(name+marksSuffix, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	end := int64(bytes.LastIndexByte(raw, '\n') + 1)
	if err := f.Truncate(end); err != nil {
		return err
	}
	if _, err := f.WriteAt(lines, end); err != nil {
		return err
	}
	return f.Sync()
}

// survey makes the marks of a file again, from what is known at one place of it on: a mark a minute, and one at the end of what is whole.
// The error is that of the scan.
func survey(r io.ReaderAt, from known, limit int64) ([]known, error) {
	h, err := binlog.ReadHead(r)
	if err != nil {
		return nil, err
	}
	if from.Offset == 0 {
		from.Offset, from.State = h.End, h.Start.String()
	}
	state, err := binlog.ParseState(from.State)
	if err != nil {
		return nil, err
	}
	out, c := []known{from}, clock{from.At, limit}
	s := h.Scan(r, from.Offset, state)
	for s.Next() {
		if c.see(s.Transaction()); c.at-out[len(out)-1].At >= markEvery {
			out = append(out, known{Offset: s.Whole(), At: c.at, State: s.State().String()})
		}
	}
	end := known{Offset: s.Whole(), At: c.at, State: s.State().String(), Closed: string(s.Ending())}
	if end.Offset > out[len(out)-1].Offset {
		out = append(out, end)
	}
	return out, s.Err()
}

// markEvery is how many seconds of a log have one mark.
const markEvery = 60

func second(unix int64) time.Time {
	if unix == 0 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}
