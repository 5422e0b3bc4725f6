package agent

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// slow is a line of so many bytes a second.
type slow struct {
	to   io.Writer
	rate int
	n    int
}

func (s *slow) Write(p []byte) (int, error) {
	if s.rate > 0 {
		time.Sleep(time.Duration(len(p)) * time.Second / time.Duration(s.rate))
	}
	s.n += len(p)
	return s.to.Write(p)
}

// unblock writes what the blocks hold, until the one that ends the copy.
func unblock(to io.Writer, from io.Reader) (*blockReader, error) {
	r, err := newBlockReader(from, nil)
	if err != nil {
		return nil, err
	}
	defer r.close()
	_, err = io.CopyBuffer(to, r, make([]byte, 100_000))
	return r, err
}

func sample(n int) []byte {
	noise := rand.NewChaCha8([32]byte{1})
	out := make([]byte, n)
	for i := 0; i < n; i += 2 << 10 { // half of it can be compressed
		_, _ = noise.Read(out[i:min(n, i+1<<10)])
	}
	return out
}

// TestBlocks: whatever is written comes out, compressed where the line is slow
// and not where it is quick.
func TestBlocks(t *testing.T) {
	for _, n := range []int{0, 1, blockSize - 1, blockSize, blockSize + 1, 40*blockSize + 7} {
		for _, rate := range []int{0, 5 << 20} {
			in := sample(n)
			var wire, out bytes.Buffer
			line := &slow{to: &wire, rate: rate}
			w, err := newBlockWriter(t.Context(), line, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.way.settle, w.way.stretch, w.way.rest = 2*blockSize, 2*blockSize, 4*blockSize
			// Half by Write and half by ReadFrom, in pieces that fit no block.
			for at := 0; at < n/2; at += 77_777 {
				if _, err := w.Write(in[at:min(n/2, at+77_777)]); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := io.CopyBuffer(w, struct{ io.Reader }{bytes.NewReader(in[n/2:])}, make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			whole := wire.Bytes()
			r, err := unblock(&out, bytes.NewReader(whole))
			if err != nil || !bytes.Equal(out.Bytes(), in) {
				t.Fatalf("%d bytes at %d: %d came out, %v", n, rate, out.Len(), err)
			}
			if r.n != w.n || w.n != int64(n) || r.sum != w.sum {
				t.Errorf("%d bytes with checksum %x were sent, %d with %x arrived", w.n, w.sum, r.n, r.sum)
			}
			if rate > 0 && n > 35*blockSize && line.n > n*85/100 {
				t.Errorf("a slow line carried %d bytes for %d", line.n, n)
			}
			// Cut anywhere it is not a copy.
			for _, at := range []int{0, 3, len(whole) / 2, len(whole) - 1} {
				if at >= len(whole) {
					continue
				}
				if _, err := unblock(io.Discard, bytes.NewReader(whole[:at])); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("cut at %d of %d: %v", at, len(whole), err)
				}
			}
		}
	}
}

func FuzzUnblock(f *testing.F) {
	f.Add([]byte{blockEnd, 0, 0, 0, 0})
	f.Add([]byte{blockRaw, 0, 0, 0, 1, 7, blockEnd, 0, 0, 0, 0})
	f.Add([]byte{blockZstd, 0, 0, 0, 4, 0x28, 0xb5, 0x2f, 0xfd})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var out bytes.Buffer
		if _, err := unblock(&out, bytes.NewReader(raw)); err == nil && !bytes.Contains(raw, []byte{blockEnd}) {
			t.Error("a copy without an end")
		}
	})
}
