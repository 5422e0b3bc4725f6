package host

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"
)

// mariadb-backup streams files in chunks, several files side by side, each in
// order:
//
//	8 bytes  "XBSTCK01"
//	1        flags; 1: whoever does not know the type may skip the chunk
//	1        type: 'P' a piece of a file, 'E' its end
//	4        length of the path, little-endian, and the path
//	all but 'E' continue with
//	8        length of the piece
//	8        where it belongs in the file
//	4        its CRC-32
//	...      the piece
const (
	chunkMagic     = "XBSTCK01"
	chunkHead      = len(chunkMagic) + 1 + 1 + 4
	chunkPieceHead = 8 + 8 + 4
	chunkIgnorable = 1
	chunkPiece     = 'P'
	chunkFileEnd   = 'E'
	chunkPathLimit = 512 // mbstream's
	// chunkPieceLimit is six times what mariadb-backup puts into a piece: its
	// sum comes with its head, and stands for nothing until the end is there.
	chunkPieceLimit = 64 << 20
)

// chunks are those of a stream, one after the other.
type chunks struct{ *bufio.Reader }

// chunk is the head of one.
type chunk struct {
	kind   byte
	path   string
	length int64
	at     uint64 // where its piece belongs in the file
	sum    uint32
}

// next reads the head of the next one; more is false where the stream ends. The body of a chunk that is not a file's end must be read before
// the next.
func (c *chunks) next() (k chunk, more bool, err error) {
	var head [chunkHead]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		if errors.Is(err, io.EOF) { // and not in the middle of a head
			return k, false, nil
		}
		return k, false, err
	}
	if string(head[:len(chunkMagic)]) != chunkMagic {
		return k, false, errors.New("this is not a stream of mariadb-backup")
	}
	flags := head[len(chunkMagic)]
	k.kind = head[len(chunkMagic)+1]
	if k.path, err = c.path(binary.LittleEndian.Uint32(head[chunkHead-4:])); err != nil || k.kind == chunkFileEnd {
		return k, true, err
	}
	var piece [chunkPieceHead]byte
	if _, err := io.ReadFull(c, piece[:]); err != nil {
		return k, false, cutShort(err)
	}
	length := binary.LittleEndian.Uint64(piece[:])
	if length > chunkPieceLimit {
		return k, false, fmt.Errorf("a piece of %d bytes of %s; no more than %d are ever announced", length, k.path, chunkPieceLimit)
	}
	if k.kind != chunkPiece && flags&chunkIgnorable == 0 {
		return k, false, fmt.Errorf("%s: a chunk of kind %q, which only a newer version of mbstream understands", k.path, k.kind)
	}
	k.length, k.at, k.sum = int64(length), binary.LittleEndian.Uint64(piece[8:]), binary.LittleEndian.Uint32(piece[16:])
	return k, true, nil
}

func (c *chunks) path(length uint32) (string, error) {
	if length == 0 || length >= chunkPathLimit {
		return "", fmt.Errorf("a path of %d bytes", length)
	}
	raw := make([]byte, length)
	if _, err := io.ReadFull(c, raw); err != nil {
		return "", cutShort(err)
	}
	path := filepath.Clean(string(raw))
	if !filepath.IsLocal(path) || path == "." || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("the path %q leads out of the data directory", raw)
	}
	return path, nil
}

// body hands on what is in a chunk. It is believed only when its sum is right: an error makes the copy worthless.
func (c *chunks) body(k chunk, add func([]byte) error) error {
	var sum uint32
	for left := k.length; left > 0; {
		if _, err := c.Peek(1); err != nil {
			return cutShort(err)
		}
		part, _ := c.Peek(int(min(left, int64(c.Buffered())))) // it is there
		sum = crc32.Update(sum, crc32.IEEETable, part)
		if err := add(part); err != nil {
			return err
		}
		left -= int64(len(part))
		_, _ = c.Discard(len(part)) // it is there
	}
	if sum != k.sum {
		return fmt.Errorf("a piece has the checksum %08x, and said %08x", sum, k.sum)
	}
	return nil
}

// cutShort never lets the end of a stream within a chunk be taken for its end.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
