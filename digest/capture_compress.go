package digest

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// The compressed protocol puts a header of seven bytes around the packets: length, number, and the length before
// compression, 0 where compressing was not worth it.
const compressHead = 7

// peel is the beginning of what a segment holds once its compression is off: enough to know a packet by. Without
// compression it is the segment itself.
func (k *conn) peel(d []byte) []byte {
	switch {
	case !k.compress:
		return d
	case len(d) < compressHead:
		return nil
	case packetLength(d[4:]) == 0:
		return d[compressHead:]
	}
	return inflate(d[compressHead:], 64)
}

// inflate unpacks at most so many bytes, and what there is of data that is cut off.
func inflate(d []byte, most int) []byte {
	var r io.Reader
	if bytes.HasPrefix(d, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		z, err := zstd.NewReader(bytes.NewReader(d), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil
		}
		defer z.Close()
		r = z
	} else {
		z, err := zlib.NewReader(bytes.NewReader(d))
		if err != nil {
			return nil
		}
		defer z.Close()
		r = z
	}
	out, _ := io.ReadAll(io.LimitReader(r, int64(most)))
	return out
}

// unwrap takes the complete compressed packets out of what a client sent and returns what is in them.
func (k *conn) unwrap(data []byte, most int) (inner []byte) {
	k.wrapped = append(k.wrapped, data...)
	for len(k.wrapped) >= compressHead {
		n := compressHead + packetLength(k.wrapped)
		if len(k.wrapped) < n {
			break
		}
		body := k.wrapped[compressHead:n]
		if full := packetLength(k.wrapped[4:]); full > 0 {
			body = inflate(body, min(full, most))
		}
		inner = append(inner, body...)
		k.wrapped = append(k.wrapped[:0], k.wrapped[n:]...)
	}
	return inner
}

// isWrappedCommand says whether client data is one command in the compressed protocol.
func isWrappedCommand(d []byte, size int) bool {
	if len(d) < compressHead+5 || d[3] != 0 || packetLength(d)+compressHead != size {
		return false
	}
	k := conn{compress: true}
	inner := k.peel(d)
	if full := packetLength(d[4:]); full > 0 {
		return isCommand(inner, full)
	}
	return isCommand(inner, size-compressHead)
}
