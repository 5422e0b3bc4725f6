package follow

import (
	"bufio"
	"context"
	"io"
)

// Sink takes lines. Put and Flush are quick; Settle is asked before a position
// is kept.
type Sink interface {
	// Put takes a line, without a line end, and what it is about: the table and the key of the row. Both are the caller's
	// again when it returns.
	Put(key, line []byte) error
	// Flush lets everything go that was put.
	Flush() error
	// Settle returns when everything that was put is kept for good.
	Settle(ctx context.Context) error
}

// Writer is a Sink that writes lines to w.
type Writer struct {
	to   *bufio.Writer
	sync func() error
}

// NewWriter writes to w; sync makes what was written last, nil: nothing does.
func NewWriter(w io.Writer, sync func() error) *Writer {
	return &Writer{bufio.NewWriterSize(w, 64<<10), sync}
}

// Put writes a line.
func (w *Writer) Put(_, line []byte) error {
	if _, err := w.to.Write(line); err != nil {
		return err
	}
	return w.to.WriteByte('\n')
}

// Flush writes what is still held.
func (w *Writer) Flush() error { return w.to.Flush() }

// Settle is Flush, and waits for the disk where there is one.
func (w *Writer) Settle(context.Context) error {
	if err := w.to.Flush(); err != nil || w.sync == nil {
		return err
	}
	return w.sync()
}
