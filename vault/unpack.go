package vault

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// decodeWindow is the largest window of a zstd frame that is read, in bytes: that of zstd -19 --long has as much.
const decodeWindow = 128 << 20

// unpack writes the stream of a part to w, and is nil only when it is what was kept. name is that of the file.
func unpack(ctx context.Context, f io.Reader, name string, p Part, w io.Writer) error {
	from := &source{ctx: ctx, r: f, hash: sha256.New()}
	z, err := zstd.NewReader(from, zstd.WithDecoderMaxWindow(decodeWindow), zstd.WithDecoderConcurrency(2))
	if err != nil {
		return err
	}
	defer z.Close()
	to := &counter{w: w, most: p.Raw}
	_, err = z.WriteTo(to)
	if err == nil {
		_, err = io.Copy(io.Discard, from) // nothing, when the frames were whole
	}
	sum := fmt.Sprintf("%x", from.hash.Sum(nil))
	switch {
	case from.err != nil:
		return fmt.Errorf("%s: %w", name, from.err)
	case to.err != nil:
		return to.err
	case errors.Is(err, errTooLong):
		return damaged(name, "its stream is longer than the %d bytes of the manifest", p.Raw)
	case err != nil:
		return damaged(name, "after %d bytes of its stream: %w", to.n, err)
	case sum != p.SHA256:
		return damaged(name, "its sum is %s, and %s when it was written", sum, p.SHA256)
	case to.n != p.Raw:
		return damaged(name, "its stream has %d bytes, and the manifest says %d", to.n, p.Raw)
	}
	return nil
}

// source sums up what is read, and remembers why reading failed.
type source struct {
	ctx  context.Context
	r    io.Reader
	hash hash.Hash
	err  error // other than the end
}

func (s *source) Read(p []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil {
		s.err = err
		return 0, err
	}
	n, err := s.r.Read(p)
	s.hash.Write(p[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

var errTooLong = errors.New("longer than it was")

// counter counts what is written, up to a limit, and remembers why writing failed.
type counter struct {
	w       io.Writer
	n, most int64
	err     error
}

func (c *counter) Write(p []byte) (int, error) {
	if c.n+int64(len(p)) > c.most {
		return 0, errTooLong
	}
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.err = err
	return n, err
}
