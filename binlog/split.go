package binlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	kindTableMap  = 19
	rowsFlags     = headerSize + 6 // in an event of rows: behind the number of the table
	endsStatement = 1
)

// isRows reports whether events of a kind hold rows: of both versions, plain and compressed.
func isRows(kind byte) bool {
	return kind >= 23 && kind <= 25 || kind >= 30 && kind <= 32 || kind >= 166 && kind <= 171
}

// Split copies the events between two offsets of a file, and makes several statements of one with more than most bytes of rows: what
// mariadb-binlog prints of a statement is one BINLOG, however long, and a server takes no more at once than max_allowed_packet. They are
// in the same transaction as before. One event is never split.
func (h Head) Split(w io.Writer, r io.ReaderAt, from, to, most int64) error {
	var maps []byte // the tables of this statement
	var cut bool    // a statement ended where none did before: the next rows need their tables again
	size := int64(0)
	for from < to {
		e, err := rawEvent(r, from, to)
		if err != nil {
			return err
		}
		from += int64(len(e))
		switch kind := e[4]; {
		case kind == kindTableMap:
			maps = append(maps, e...)
		case isRows(kind) && len(e) >= rowsFlags+2:
			if cut {
				if _, err := w.Write(maps); err != nil {
					return err
				}
				cut = false
			}
			size += int64(len(e))
			if flags := binary.LittleEndian.Uint16(e[rowsFlags:]); flags&endsStatement != 0 {
				maps, size = nil, 0
			} else if size >= most {
				binary.LittleEndian.PutUint16(e[rowsFlags:], flags|endsStatement)
				h.sum(e)
				cut, size = true, 0
			}
		}
		if _, err := w.Write(e); err != nil {
			return err
		}
	}
	return nil
}

// rawEvent is the event at an offset, whole.
func rawEvent(r io.ReaderAt, at, to int64) ([]byte, error) {
	var head [headerSize]byte
	if _, err := r.ReadAt(head[:], at); err != nil {
		return nil, err
	}
	size := int64(binary.LittleEndian.Uint32(head[9:]))
	if size < headerSize || at+size > to {
		return nil, fmt.Errorf("an event of %d bytes at offset %d, with %d left", size, at, to-at)
	}
	e := make([]byte, size)
	if n, err := r.ReadAt(e, at); n < len(e) {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return e, nil
}

// sum makes the checksum of a whole event right.
func (h Head) sum(e []byte) {
	if end := len(e) - sumSize; h.IsSummed && end >= headerSize {
		binary.LittleEndian.PutUint32(e[end:], crc32.ChecksumIEEE(e[:end]))
	}
}
