package binlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Head is how a file begins: what the server says of it, and what it had written before.
type Head struct {
	Version  string // of the server that writes the file
	ServerID uint32
	// Created is the second at which the server began the file.
	Created time.Time
	// IsMySQL: MySQL wrote it, or what calls itself so (Percona Server).
	IsMySQL bool
	// IsSummed: each event ends with a CRC-32.
	IsSummed bool
	// IsInUse: the server writes it, or ended without closing it.
	IsInUse bool
	// Start is what the log had had when the file began.
	Start State
	// End is the offset of the first event behind the head, in bytes.
	End int64
}

// InUseByte is the offset of the one byte of a file that a server changes after it was written, and its bit.
const (
	InUseByte = len(magic) + inUseAt
	InUseBit  = inUse
)

const (
	formatVersion = 4
	formatFixed   = 2 + 50 + 4 + 1 // version, server, created, length of headers
)

// ReadHead reads the head of a file. A file whose head is not all there yet is a Fault that is Cut; one that another kind of server wrote,
// or an encrypted one, wraps ErrRefused.
func ReadHead(r io.ReaderAt) (Head, error) {
	begin := make([]byte, len(magic))
	switch n, err := r.ReadAt(begin, 0); {
	case n == len(magic) && string(begin) != magic:
		return Head{}, fmt.Errorf("%w: it begins with % x, and a binary log begins with % x", ErrRefused, begin, magic)
	case n < len(magic) && (err == nil || errors.Is(err, io.EOF)):
		return Head{}, &Fault{Cut: true, Why: "the first four bytes are missing"}
	case n < len(magic):
		return Head{}, err
	}
	f := newFeed(r, int64(len(magic)), false, headBuffer)
	e, err := nextOfHead(f)
	if err != nil {
		return Head{}, err
	}
	h, err := format(f, e)
	if err != nil {
		return Head{}, err
	}
	f.summed = h.IsSummed
	if e, err = nextOfHead(f); err != nil {
		return Head{}, err
	}
	switch {
	case e.kind == kindGTIDList && !h.IsMySQL:
		h.Start, err = list(f, e)
		h.End = e.end
		return h, err
	case e.kind == kindMySQLPrevious && h.IsMySQL:
		h.Start, err = previous(f, e)
		h.End = e.end
		return h, err
	case e.kind == kindEncryption:
		return h, fmt.Errorf("%w: it is encrypted (encrypt_binlog)", ErrRefused)
	}
	return h, f.fault(e.at, "an event of kind %d, where the list of GTIDs has to be", e.kind)
}

func nextOfHead(f *feed) (event, error) {
	e, err := f.next()
	if errors.Is(err, io.EOF) {
		err = f.cut(f.at, "the head is not all there")
	}
	return e, err
}

// format reads the first event.
func format(f *feed, e event) (Head, error) {
	if e.kind != kindFormat || e.length < formatFixed+1 {
		return Head{}, f.fault(e.at, "an event of kind %d with %d bytes, where the format has to be", e.kind, e.length)
	}
	name, _, _ := bytes.Cut(e.front[2:52], []byte{0})
	h := Head{
		Version: string(name), ServerID: e.server, Created: time.Unix(int64(e.when), 0).UTC(), IsInUse: e.flags&inUse != 0,
		IsSummed: e.back[len(e.back)-1] == 1,
	}
	if v := binary.LittleEndian.Uint16(e.front); v != formatVersion || e.front[56] != headerSize {
		return h, fmt.Errorf("%w: it has format %d with headers of %d bytes, and only %d with %d are known", ErrRefused, v, e.front[56], formatVersion, headerSize)
	}
	if h.IsMySQL = !strings.Contains(h.Version, "MariaDB"); h.IsMySQL && !isMySQL8(h.Version) {
		return h, fmt.Errorf("%w: a server of version %q wrote it, which is neither MariaDB nor MySQL from 8.0 on", ErrRefused, h.Version)
	}
	if sums := e.back[len(e.back)-1]; sums > 1 {
		return h, fmt.Errorf("%w: its checksums are of kind %d, and only CRC-32 is known", ErrRefused, sums)
	}
	return h, nil
}

// list reads a list of GTIDs.
func list(f *feed, e event) (State, error) {
	const item = 4 + 4 + 8
	var s State
	if len(e.list) < 4 {
		return s, f.fault(e.at, "a list of GTIDs of %d bytes", len(e.list))
	}
	count := binary.LittleEndian.Uint32(e.list) & (1<<28 - 1) // the rest are flags
	if items := e.list[4:]; uint64(len(items)) < uint64(count)*item {
		return s, f.fault(e.at, "a list of %d GTIDs in %d bytes", count, len(items))
	}
	for n := range int(count) {
		p := e.list[4+n*item:]
		s.Add(GTID{Domain: binary.LittleEndian.Uint32(p), Server: binary.LittleEndian.Uint32(p[4:]), Seq: binary.LittleEndian.Uint64(p[8:])})
	}
	return s, nil
}
