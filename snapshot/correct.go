package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"stowage/mysql/latest"
	"stowage/mysql/rows"
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
	c.tell("%d parents were changed since the first chunk; reading those again", len(touched))
	counted := &counting{w: out}
	w := bufio.NewWriterSize(counted, 256<<10)
	if s.Rows, err = c.unchanged(w, touched); err != nil {
		return s, err
	}
	keys := make([]latest.Key, 0, len(touched))
	for _, text := range slices.Sorted(maps.Keys(touched)) {
		keys = append(keys, splitKey(text))
	}
	for _, some := range chunksOf(keys) {
		lines, rows, _, err := c.lines(ctx, view, c.Shape.KeysQuery(c.Shard, s.Form, some))
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
		if touched[key] {
			continue
		}
		if _, err := io.WriteString(w, row); err != nil {
			return rows, err
		}
		rows++
	}
}

// parentsWith adds the parents of the tenant that are joined to rows which were changed.
func (c *Chunked) parentsWith(ctx context.Context, view *rows.View, column string, values []string, into map[string]bool) error {
	for _, some := range chunksOf(values) {
		err := each(ctx, view, c.Shape.ParentsQuery(c.Shard, column, some), func(*rows.Answer) func([][]byte) {
			return func(row [][]byte) { into[joinKey(keyOf(row))] = true }
		}, c.Tenant)
		if err != nil {
			return err
		}
	}
	return nil
}
