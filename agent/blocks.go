package agent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"stowage/host"
)

// A copy is sent in blocks, each compressed or not; see lineWay.
//
//	1 byte    'z' or 'r', compressed or raw; 'e' ends the copy
//	4 bytes   length of what follows
//	...       a zstd frame with its checksum, or the bytes
//
// A block is read from the backup's pipe straight behind its head, and goes as
// one frame of HTTP/2: what is copied less often is what makes a copy quick,
// and 256 KB stay in a processor's cache on the way.
const (
	blockSize = 256 << 10
	blockHead = 5

	blockZstd = 'z'
	blockRaw  = 'r'
	blockEnd  = 'e'
)

// blockWriter gathers what is written, or read by ReadFrom, into blocks, which
// it counts, sums and slows. Close ends the copy.
type blockWriter struct {
	ctx    context.Context
	to     io.Writer
	bucket *host.Bucket // nil: no limit
	n      int64        // plain bytes
	sum    uint32       // their CRC-32C

	z    *zstd.Encoder
	way  *lineWay
	raw  []byte // a head, and the bytes of the next block
	fill int    // of raw
	out  []byte // a compressed block
}

func newBlockWriter(ctx context.Context, to io.Writer, bucket *host.Bucket) (*blockWriter, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(blockSize))
	if err != nil {
		return nil, err
	}
	return &blockWriter{ctx: ctx, to: to, bucket: bucket, z: z, way: newLineWay(), raw: make([]byte, blockHead+blockSize), fill: blockHead}, nil
}

// Hasten implements host.Hasty.
func (b *blockWriter) Hasten() {
	if b.bucket != nil {
		b.bucket.Lift()
	}
}

func (b *blockWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		k := copy(b.raw[b.fill:], p)
		b.fill += k
		p, n = p[k:], n+k
		if err := b.flushFull(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// ReadFrom is Write without copying: io.Copy uses it.
func (b *blockWriter) ReadFrom(from io.Reader) (n int64, err error) {
	for {
		k, err := from.Read(b.raw[b.fill:])
		b.fill += k
		n += int64(k)
		if flushErr := b.flushFull(); flushErr != nil {
			return n, flushErr
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func (b *blockWriter) flushFull() error {
	if b.fill < len(b.raw) {
		return nil
	}
	return b.flush()
}

func (b *blockWriter) flush() error {
	plain := b.raw[blockHead:b.fill]
	if len(plain) == 0 {
		return nil
	}
	if b.bucket != nil {
		if err := b.bucket.Take(b.ctx, len(plain)); err != nil {
			return err
		}
	}
	block, begin := b.encode(plain)
	if _, err := b.to.Write(block); err != nil {
		return err
	}
	b.way.sent(len(plain), len(block), time.Since(begin))
	b.sum = crc32.Update(b.sum, castagnoli(), plain)
	b.n += int64(len(plain))
	b.fill = blockHead
	return nil
}

// encode is the block as it goes over the line, and when that was begun.
func (b *blockWriter) encode(plain []byte) (block []byte, begin time.Time) {
	begin = time.Now()
	if b.way.now == blockZstd {
		b.out = b.z.EncodeAll(plain, append(b.out[:0], make([]byte, blockHead)...))
		b.way.encoded(len(plain), len(b.out)-blockHead, time.Since(begin))
		return headed(b.out, blockZstd), begin
	}
	return headed(b.raw[:b.fill], blockRaw), begin
}

// headed writes a block's head.
func headed(block []byte, kind byte) []byte {
	block[0] = kind
	binary.BigEndian.PutUint32(block[1:], uint32(len(block)-blockHead))
	return block
}

func (b *blockWriter) Close() error {
	if err := b.flush(); err != nil {
		return err
	}
	_, err := b.to.Write(headed(make([]byte, blockHead), blockEnd))
	return errors.Join(err, b.z.Close())
}

// blockReader is the plain bytes of a copy that arrives in blocks. It ends with
// io.EOF behind the block that ends the copy, and with another error when the
// line ends before.
type blockReader struct {
	from  io.Reader
	moved func(int64) // may be nil
	n     int64       // plain bytes
	sum   uint32      // their CRC-32C
	err   error       // why it ended

	z     *zstd.Decoder
	raw   int    // bytes of a raw block that are still on the line
	plain []byte // of a compressed block
	left  []byte // of plain
	body  []byte
}

func newBlockReader(from io.Reader, moved func(int64)) (*blockReader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*blockSize))
	if err != nil {
		return nil, err
	}
	return &blockReader{from: from, moved: moved, z: z}, nil
}

func (b *blockReader) close() { b.z.Close() }

// Read implements io.Reader. The bytes of a raw block come straight from the line.
func (b *blockReader) Read(p []byte) (n int, err error) {
	for n == 0 && b.err == nil && len(p) > 0 {
		switch {
		case len(b.left) > 0:
			n = copy(p, b.left)
			b.left = b.left[n:]
		case b.raw > 0:
			n, err = b.from.Read(p[:min(len(p), b.raw)])
			b.raw -= n
			if err != nil && (b.raw > 0 || !errors.Is(err, io.EOF)) {
				b.err = hasNoEnd(err)
			}
		default:
			b.err = b.next()
		}
	}
	if n == 0 {
		return 0, b.err
	}
	b.sum = crc32.Update(b.sum, castagnoli(), p[:n])
	b.n += int64(n)
	if b.moved != nil {
		b.moved(b.n)
	}
	return n, nil
}

// next reads the head of a block, and the rest of one that is not raw.
func (b *blockReader) next() error {
	var head [blockHead]byte
	if _, err := io.ReadFull(b.from, head[:]); err != nil {
		return hasNoEnd(err)
	}
	size := int(binary.BigEndian.Uint32(head[1:]))
	if size > 2*blockSize {
		return fmt.Errorf("a block of %d bytes", size)
	}
	if head[0] == blockRaw {
		b.raw = size
		return nil
	}
	if b.body == nil {
		b.body = make([]byte, 2*blockSize)
	}
	body := b.body[:size]
	if _, err := io.ReadFull(b.from, body); err != nil {
		return hasNoEnd(err)
	}
	switch head[0] {
	case blockEnd:
		if _, err := io.Copy(io.Discard, b.from); err != nil { // the trailers come behind it
			return err
		}
		return io.EOF
	case blockZstd:
		var err error
		b.plain, err = b.z.DecodeAll(body, b.plain[:0])
		b.left = b.plain
		return err
	}
	return fmt.Errorf("a block of kind %q", head[0])
}

// hasNoEnd never lets the end of a line be taken for that of a copy.
func hasNoEnd(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the copy has no end: %w", err)
}
