package capture

import (
	"bytes"
	"compress/zlib"
	"io"
)

// zipKind is what a login agreed on.
type zipKind uint8

const (
	zipNone zipKind = iota
	zipDeflate
	zipZstd
)

// The compressed protocol puts a head of seven bytes around the packets: the
// length, a number, and the length before compression, which is 0 where
// compressing was not worth it. Source: MySQL internals, "Compression".
const zipHead = 7

// maxZipped is the longest compressed packet that is kept to be unpacked;
// clients and servers make them of 16 KiB to 1 MiB.
const maxZipped = 4 << 20

// zipped collects compressed packets in one direction.
type zipped struct {
	kept  []byte
	first int64 // when its first byte came
	skip  int   // bytes of a packet that is too long
}

func (z *zipped) reset() { z.kept, z.skip = z.kept[:0], 0 }

// inflater is the memory for unpacking, one for all connections.
type inflater struct {
	in  bytes.Reader
	z   io.ReadCloser
	out []byte
}

// chunk is how much is unpacked at a time.
const chunk = 32 << 10

// open begins to unpack a packet.
func (f *inflater) open(d []byte) error {
	f.in.Reset(d)
	if f.z == nil {
		z, err := zlib.NewReader(&f.in)
		if err != nil {
			return err
		}
		f.z, f.out = z, make([]byte, chunk)
		return nil
	}
	return f.z.(zlib.Resetter).Reset(&f.in, nil)
}

// unzip takes complete compressed packets out of a stream and gives what is in
// them to feed. It says false when the stream cannot be followed any more.
func (t *tap) unzip(s *session, z *zipped, d []byte, at int64, feed func(d []byte, first, at int64)) bool {
	for len(d) > 0 {
		if n := min(z.skip, len(d)); n > 0 {
			z.skip -= n
			d = d[n:]
			continue
		}
		if len(z.kept) == 0 {
			z.first = at
		}
		whole := d
		if len(z.kept) > 0 || len(d) < zipHead || len(d) < zipHead+uint24(d) {
			n := t.collect(z, d)
			d = d[n:]
			if len(z.kept) < zipHead || len(z.kept) < zipHead+uint24(z.kept) {
				if len(z.kept) >= zipHead && uint24(z.kept) > maxZipped {
					return false
				}
				continue
			}
			whole = z.kept
		} else {
			d = d[zipHead+uint24(d):]
		}
		if !t.unpack(s, whole[:zipHead+uint24(whole)], z.first, at, feed) {
			return false
		}
		if len(z.kept) > 0 {
			if cap(z.kept) > idleMemory {
				t.mem -= cap(z.kept)
				z.kept = nil
			}
			z.kept = z.kept[:0]
		}
		if s.state == stateBlind || s.client < 0 {
			return true
		}
	}
	return true
}

// collect keeps what belongs to the packet that has begun, and says how much.
func (t *tap) collect(z *zipped, d []byte) int {
	before, want := cap(z.kept), zipHead-len(z.kept)
	if want <= 0 {
		want = zipHead + uint24(z.kept) - len(z.kept)
	}
	n := min(want, len(d))
	z.kept = append(z.kept, d[:n]...)
	t.mem += cap(z.kept) - before
	return n
}

// unpack gives the content of one compressed packet to feed, in pieces.
func (t *tap) unpack(s *session, d []byte, first, at int64, feed func(d []byte, first, at int64)) bool {
	full := uint24(d[4:])
	if full == 0 {
		feed(d[zipHead:], first, at)
		return true
	}
	if err := t.inflate.open(d[zipHead:]); err != nil {
		t.note(inflateFailed, 1)
		return false
	}
	for full > 0 && s.state != stateBlind && s.client >= 0 {
		n, err := io.ReadFull(t.inflate.z, t.inflate.out[:min(full, chunk)])
		if n > 0 {
			feed(t.inflate.out[:n], first, at)
		}
		if full -= n; err != nil {
			t.note(inflateFailed, 1)
			return false
		}
	}
	return true
}

func (t *tap) unzipFromClient(s *session, d []byte, at int64) {
	ok := t.unzip(s, &s.up().zip, d, at, func(d []byte, first, at int64) {
		if !s.up().isLost {
			t.clientBytes(s, d, first, at)
		}
	})
	if !ok && s.state == stateReady {
		s.up().isLost = true
		s.up().packets.reset()
		s.up().zip.reset()
	}
}

func (t *tap) unzipFromServer(s *session, d []byte, at int64) {
	ok := t.unzip(s, &s.down().zip, d, at, func(d []byte, first, at int64) {
		if !s.down().isLost {
			t.serverBytes(s, d, first, at)
		}
	})
	if !ok && s.state == stateReady && s.client >= 0 {
		s.down().zip.reset()
		t.loseAnswer(s)
	}
}

// isZippedCommand says whether a segment is one command in the compressed
// protocol, from its first byte to its last.
func isZippedCommand(d []byte, size int) bool {
	if len(d) < zipHead+headSize+1 || d[3] != 0 || uint24(d)+zipHead != size {
		return false
	}
	full := uint24(d[4:])
	if full == 0 {
		return beginsCommand(d[zipHead:], size-zipHead, minFullSegment)
	}
	if size != len(d) || full <= size-zipHead || d[zipHead]&0x0f != 8 || be.Uint16(d[zipHead:])%31 != 0 {
		return false // not deflate
	}
	var f inflater
	if f.open(d[zipHead:]) != nil {
		return false
	}
	n, _ := io.ReadFull(f.z, f.out[:min(full, 64)])
	return beginsCommand(f.out[:n], full, minFullSegment)
}
