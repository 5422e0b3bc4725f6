package dump

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Writer makes a stream. Add may be called by several goroutines.
type Writer struct {
	mu   sync.Mutex
	tar  *tar.Writer
	end  End
	last Stage
}

// NewWriter begins a stream.
func NewWriter(w io.Writer, h Head) (*Writer, error) {
	h.FormatVersion = Format
	out := &Writer{tar: tar.NewWriter(w)}
	return out, out.document(headFile, h)
}

// Add adds a file with the SQL text of so many rows. Stages must come in their order.
func (w *Writer) Add(name string, text []byte, rows int64) error {
	stage, _, ok := stageOf(name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !ok || stage < w.last {
		return fmt.Errorf("a dump cannot have %s here", name)
	}
	w.last = stage
	w.end.Files++
	w.end.Rows += rows
	return w.file(name, text)
}

// Close ends the stream, and says what is in it. Without it the stream is not whole.
func (w *Writer) Close() (End, error) {
	if err := w.document(endFile, w.end); err != nil {
		return w.end, err
	}
	return w.end, w.tar.Close()
}

func (w *Writer) document(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.file(name, append(raw, '\n'))
}

func (w *Writer) file(name string, text []byte) error {
	if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o600}); err != nil {
		return err
	}
	_, err := w.tar.Write(text)
	return err
}
