package traffic

import (
	"encoding/binary"
	"net"
	"time"
)

// wire is a connection that counts what the server answers, packet by packet.
// The driver tells neither warnings nor, for a query, rows affected; asking the
// server for them would be a second statement for every first one.
//
// Source of the formats: MySQL internals, "Text Protocol" and "OK_Packet". With
// CLIENT_DEPRECATE_EOF, which the driver speaks where the server does, nothing
// stands between columns and rows, and an OK that begins with 0xfe ends them; it
// has 7 bytes or more, an old EOF has 5. Compression is not spoken, and TLS lies below.
type wire struct {
	net.Conn
	tally  tally
	head   [4]byte // of the packet
	got    int     // bytes of head
	left   int     // of the packet's body
	kept   [32]byte
	have   int  // bytes of kept
	size   int  // of the body
	joined bool // the packet goes on one that had the greatest length
}

// tally is what one answer held.
type tally struct {
	rows, affected, bytes uint64
	warnings              uint16
	first                 time.Time // when its first bytes came
	state                 tallyState
	columns               uint64 // still to come
}

type tallyState byte

const (
	atHead tallyState = iota // OK, error, or the number of columns
	inColumns
	behindColumns
	inRows
	atEnd
)

const greatestPacket = 1<<24 - 1

// begin forgets the answer before. No answer may be under way.
func (w *wire) begin() {
	w.tally = tally{}
	w.got, w.left, w.have, w.joined = 0, 0, 0, false
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		if w.tally.first.IsZero() {
			w.tally.first = time.Now()
		}
		w.tally.bytes += uint64(n)
		w.take(p[:n])
	}
	return n, err
}

// take follows the packets.
func (w *wire) take(d []byte) {
	for len(d) > 0 {
		if w.got < len(w.head) {
			n := copy(w.head[w.got:], d)
			w.got, d = w.got+n, d[n:]
			if w.got < len(w.head) {
				return
			}
			w.size = int(w.head[0]) | int(w.head[1])<<8 | int(w.head[2])<<16
			w.left, w.have = w.size, 0
		}
		n := min(w.left, len(d))
		if w.have < len(w.kept) {
			w.have += copy(w.kept[w.have:], d[:n])
		}
		w.left, d = w.left-n, d[n:]
		if w.left == 0 {
			w.packet()
			w.got = 0
		}
	}
}

// packet counts a packet that is complete.
func (w *wire) packet() {
	more := w.size == greatestPacket
	if w.joined {
		w.joined = more
		return
	}
	w.joined = more
	body := w.kept[:w.have]
	t := &w.tally
	if len(body) == 0 {
		return
	}
	switch t.state {
	case atHead:
		t.begins(body)
	case inColumns:
		if t.columns--; t.columns == 0 {
			t.state = behindColumns
		}
	case behindColumns:
		t.state = inRows
		if body[0] != 0xfe || w.size != 5 {
			t.row(body, w.size)
		}
	case inRows:
		t.row(body, w.size)
	}
}

// row reads a row, or what ends the rows. A row that begins with 0xfe has a
// value of 16 MiB or more.
func (t *tally) row(body []byte, size int) {
	switch {
	case body[0] == 0xff:
		t.state = atEnd
	case body[0] == 0xfe && size == 5:
		t.warnings += binary.LittleEndian.Uint16(body[1:])
		t.ends(binary.LittleEndian.Uint16(body[3:]))
	case body[0] == 0xfe && size < greatestPacket:
		t.ok(body)
	default:
		t.rows++
	}
}

// begins reads the first packet of a result.
func (t *tally) begins(body []byte) {
	switch body[0] {
	case 0x00:
		t.ok(body)
	case 0xff, 0xfb:
		t.state = atEnd
	default:
		columns, n := lengthEncoded(body)
		if n < len(body) && body[n] == 0 {
			columns = 0 // MariaDB: the client has seen them already (CACHE_METADATA)
		}
		t.columns, t.state = columns, inColumns
		if columns == 0 {
			t.state = behindColumns
		}
	}
}

// ok reads an OK packet.
func (t *tally) ok(body []byte) {
	affected, n := lengthEncoded(body[1:])
	_, m := lengthEncoded(body[min(len(body), 1+n):])
	t.affected += affected
	t.state = atEnd
	if at := 1 + n + m; len(body) >= at+4 {
		t.warnings += binary.LittleEndian.Uint16(body[at+2:])
		t.ends(binary.LittleEndian.Uint16(body[at:]))
	}
}

// ends looks whether another result follows.
func (t *tally) ends(status uint16) {
	const moreResults = 8
	t.state = atEnd
	if status&moreResults != 0 {
		t.state = atHead
	}
}

// lengthEncoded reads an integer of the protocol and its length.
func lengthEncoded(b []byte) (v uint64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	n = map[byte]int{0xfc: 3, 0xfd: 4, 0xfe: 9}[b[0]]
	if n == 0 {
		return uint64(b[0]), 1
	}
	if len(b) < n {
		return 0, n
	}
	for i := n - 1; i > 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, n
}
