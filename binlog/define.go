package binlog

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
)

// Part is a part of a file, in bytes: [Begin, End). The zero value is none.
type Part struct{ Begin, End int64 }

// Where a query's event has what.
const (
	queryDatabase = headerSize + 8  // length of the name, 1 byte
	queryStatus   = headerSize + 11 // length of the variables, 2 bytes
	queryFixed    = headerSize + 13
	definedLimit  = 64 << 20 // of the text of a definition
)

// DefineAlone makes of the event that is a Transaction's Definition three that belong to no transaction: one that switches the binary log of
// the session off, the definition, and one that switches it on again. A table that is there is replaced: somebody was killed between it
// and its rows.
//
// A client that runs what mariadb-binlog prints needs that. CREATE TABLE ... SELECT is one transaction in a log by rows; an applier runs
// it as one, but a client's CREATE TABLE commits, is written to the log under the transaction's GTID, and leaves the next number to the
// rows (10.11.19, 11.8.9: error 1950 at the transaction that has it).
func (h Head) DefineAlone(event []byte) ([]byte, error) {
	body := event
	if h.IsSummed && len(event) >= sumSize {
		body = event[:len(event)-sumSize]
	}
	if len(body) < queryFixed {
		return nil, fmt.Errorf("a query of %d bytes", len(event))
	}
	textAt := queryFixed + int(binary.LittleEndian.Uint16(body[queryStatus:])) + int(body[queryDatabase]) + 1
	if textAt > len(body) {
		return nil, fmt.Errorf("a query of %d bytes, whose text begins at %d", len(event), textAt)
	}
	text := body[textAt:]
	if body[4] == kindQueryCompressed {
		var err error
		if text, err = inflate(text); err != nil {
			return nil, err
		}
	}
	if rest, ok := bytes.CutPrefix(text, []byte("CREATE TABLE ")); ok && !bytes.HasPrefix(rest, []byte("IF NOT EXISTS ")) {
		text = append([]byte("CREATE OR REPLACE TABLE "), rest...)
	}
	var out []byte
	for _, text := range [][]byte{[]byte("SET @@session.sql_log_bin=0"), text, []byte("SET @@session.sql_log_bin=1")} {
		out = append(out, h.query(body[:textAt], text)...)
	}
	return out, nil
}

// query is a query's event with another text.
func (h Head) query(like, text []byte) []byte {
	e := append(bytes.Clone(like), text...)
	if h.IsSummed {
		e = append(e, make([]byte, sumSize)...)
	}
	e[4] = kindQuery
	binary.LittleEndian.PutUint32(e[9:], uint32(len(e)))
	binary.LittleEndian.PutUint32(e[13:], 0) // its place in a file that it is not in
	h.sum(e)
	return e
}

// inflate reads what log_bin_compress has made of a text: a byte with a mark, the kind and the number of bytes of the length; the length, the
// highest byte first; zlib's stream.
func inflate(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0]&0xf0 != 0x80 {
		return nil, fmt.Errorf("a compressed text that begins with % x", b[:min(len(b), 1)])
	}
	digits := int(b[0] & 0x07)
	if len(b) < 1+digits || digits == 0 || digits > 4 {
		return nil, fmt.Errorf("a compressed text of %d bytes, with a length of %d", len(b), digits)
	}
	length := 0
	for _, d := range b[1 : 1+digits] {
		length = length<<8 | int(d)
	}
	if length > definedLimit {
		return nil, fmt.Errorf("a definition of %d bytes", length)
	}
	r, err := zlib.NewReader(bytes.NewReader(b[1+digits:]))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(length)+1))
	if err == nil && len(out) != length {
		err = fmt.Errorf("a compressed text has %d bytes, and said %d", len(out), length)
	}
	return out, err
}
