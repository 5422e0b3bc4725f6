package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
)

// finish brings all rows to the position of one view: which parents were changed since the first chunk is read from the binary log up to that position; the
// rows of those are left out of the spool and read again.
func (c *Chunked) finish(ctx context.Context, out io.Writer) (s Summary, err error) {
	view, err := c.view(ctx, c.Progress.Reached)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	s.Position = view.At
	if s.Form, err = c.form(ctx, view); err != nil {
		return s, err
	}
	touched, err := c.touched(ctx, view)
	if err != nil {
		return s, err
	}
	c.tell("%d keys of parents were changed since the first chunk; reading those again", len(touched.keys))
	counted := &counting{w: out}
	w := bufio.NewWriterSize(counted, 256<<10)
	if s.Rows, err = c.unchanged(w, touched.keys); err != nil {
		return s, err
	}
	for _, some := range chunksOf(touched.present()) {
		lines, rows, _, err := c.lines(ctx, view, c.Shape.KeysQuery(c.Shard, s.Form, c.by, some))
		if err != nil {
			return s, err
		}
		for line := range bytes.Lines(lines) {
			if _, err := w.Write(line[bytes.IndexByte(line, '\t')+1:]); err != nil {
				return s, err
			}
		}
		s.Rows += int64(rows)
	}
	err = w.Flush()
	s.Bytes = counted.n
	return s, err
}

// unchanged writes the rows of the spool whose parents nobody has touched.
func (c *Chunked) unchanged(w io.Writer, touched map[string]bool) (rows int64, err error) {
	if _, err := c.Spool.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	in := bufio.NewReaderSize(io.LimitReader(c.Spool, c.Progress.Bytes), 256<<10)
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return rows, err
		}
		key, row, _ := strings.Cut(line, "\t")
		if _, is := touched[key]; is {
			continue
		}
		if _, err := io.WriteString(w, row); err != nil {
			return rows, err
		}
		rows++
	}
}
