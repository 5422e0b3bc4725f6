package safefile

import (
	"context"
	"io"
	"os"
)

// OpenStream opens an input that the caller has named, and that may be more
// than a file: a FIFO, or a pipe of the shell's (<(zcat slow.log.gz)). When ctx
// ends, whoever waits for a writer, or for what it writes, gets the cause. A
// regular file comes as *os.File.
func OpenStream(ctx context.Context, path string) (io.ReadCloser, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if about.Mode().IsRegular() || about.IsDir() {
		return OpenInput(path)
	}
	return streamed(ctx, func() (io.ReadCloser, error) { return os.Open(path) }), nil // waits for a writer
}

// Stream is OpenStream for one that is open, as standard input is.
func Stream(ctx context.Context, f *os.File) io.ReadCloser {
	if about, err := f.Stat(); err == nil && about.Mode().IsRegular() {
		return f
	}
	return streamed(ctx, func() (io.ReadCloser, error) { return io.NopCloser(f), nil })
}

// streamed reads in a goroutine, which nothing can end while the kernel makes
// it wait: it stays behind until the program ends.
func streamed(ctx context.Context, open func() (io.ReadCloser, error)) io.ReadCloser {
	from, to := io.Pipe()
	stop := context.AfterFunc(ctx, func() { to.CloseWithError(context.Cause(ctx)) })
	go func() {
		f, err := open()
		if err == nil {
			_, err = io.CopyBuffer(to, f, make([]byte, 256<<10))
			_ = f.Close() // it was read only
		}
		to.CloseWithError(err)
	}()
	return stream{from, stop}
}

type stream struct {
	*io.PipeReader
	stop func() bool
}

func (s stream) Close() error {
	s.stop()
	return s.PipeReader.Close()
}
