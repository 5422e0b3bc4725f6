package binlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The kinds of events that matter here, by the numbers of MariaDB's log_event.h and MySQL's binlog_event.h.
const (
	kindQuery           = 2
	kindStop            = 3
	kindRotate          = 4
	kindXid             = 16
	kindExecuteLoad     = 18
	kindFormat          = 15
	kindXAPrepare       = 38
	kindMySQLGTID       = 33
	kindMySQLAnonymous  = 34
	kindMySQLPrevious   = 35
	kindMySQLTagged     = 42 // a GTID with a tag, since 8.3
	kindGTID            = 162
	kindGTIDList        = 163
	kindEncryption      = 164
	kindQueryCompressed = 165
)

const (
	magic       = "\xfebin"
	headerSize  = 19
	sumSize     = 4
	inUseAt     = 17 // in the header: the flags
	inUse       = 1
	keptAtFront = 192 // of an event's body: as much as a GTID or the fixed part of any other needs
	keptAtEnd   = 16  // of an event's body: the word COMMIT or ROLLBACK
	scanBuffer  = 256 << 10
	headBuffer  = 4 << 10
	// listLimit is the longest list of GTIDs that is read: of a million servers.
	listLimit = 16 << 20
)

// event is one event of a file. Its body is without the checksum.
type event struct {
	at, end int64
	kind    byte
	server  uint32
	when    uint32
	flags   uint16
	length  int64 // of the body
	// front and back are the beginning and the end of the body. They are good until the next event is read.
	front, back []byte
	list        []byte // the whole body, of a list of GTIDs
}

// feed reads one event after the other.
type feed struct {
	in     *bufio.Reader
	at     int64 // of what comes next
	summed bool  // events end with a checksum
	whole  int64 // for faults
	front  [headerSize + keptAtFront]byte
	back   [keptAtEnd]byte
}

func newFeed(r io.ReaderAt, at int64, summed bool, buffer int) *feed {
	const rest = 1 << 62
	return &feed{in: bufio.NewReaderSize(io.NewSectionReader(r, at, rest), buffer), at: at, summed: summed, whole: at}
}

func (f *feed) fault(at int64, format string, args ...any) error {
	return &Fault{At: at, Whole: f.whole, Why: fmt.Sprintf(format, args...)}
}

func (f *feed) cut(at int64, why string) error {
	return &Fault{At: at, Whole: f.whole, Cut: true, Why: why}
}

// next is the next event; io.EOF where the file ends between two.
func (f *feed) next() (event, error) {
	head := f.front[:headerSize]
	switch n, err := io.ReadFull(f.in, head); {
	case errors.Is(err, io.EOF):
		return event{}, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return event{}, f.cut(f.at, fmt.Sprintf("%d bytes of an event's header", n))
	case err != nil:
		return event{}, err
	}
	e := event{at: f.at, when: binary.LittleEndian.Uint32(head), kind: head[4], server: binary.LittleEndian.Uint32(head[5:]), flags: binary.LittleEndian.Uint16(head[inUseAt:])}
	size := int64(binary.LittleEndian.Uint32(head[9:]))
	e.end = e.at + size
	tail := int64(0)
	if f.summed || e.kind == kindFormat { // that of the format is always there
		tail = sumSize
	}
	if e.length = size - headerSize - tail; e.length < 0 {
		return e, f.fault(e.at, "an event of %d bytes", size)
	}
	if place := binary.LittleEndian.Uint32(head[13:]); !f.summed && place != 0 && place != uint32(e.end) {
		return e, f.fault(e.at, "an event that says it ends at %d, and ends at %d", place, uint32(e.end))
	}
	if e.kind == kindFormat {
		head[inUseAt] &^= inUse // the server sets and clears it, and leaves the checksum as it is
	}
	sum := crc32.ChecksumIEEE(head)
	if err := f.body(&e, &sum); err != nil {
		return e, err
	}
	if tail > 0 {
		var said [sumSize]byte
		if _, err := io.ReadFull(f.in, said[:]); err != nil {
			return e, f.short(e, err)
		}
		if want := binary.LittleEndian.Uint32(said[:]); want != sum {
			return e, f.fault(e.at, "an event with the checksum %08x, which says %08x", sum, want)
		}
	}
	f.at = e.end
	return e, nil
}

// body reads the body and keeps what is asked for later.
func (f *feed) body(e *event, sum *uint32) error {
	n := min(e.length, keptAtFront)
	e.front = f.front[headerSize : headerSize+n]
	if _, err := io.ReadFull(f.in, e.front); err != nil {
		return f.short(*e, err)
	}
	*sum = crc32.Update(*sum, crc32.IEEETable, e.front)
	isList := e.kind == kindGTIDList || e.kind == kindMySQLPrevious
	if isList {
		e.list = append([]byte(nil), e.front...)
	}
	e.back = append(f.back[:0], e.front[max(0, n-keptAtEnd):]...)
	for left := e.length - n; left > 0; {
		if _, err := f.in.Peek(1); err != nil {
			return f.short(*e, err)
		}
		part, _ := f.in.Peek(int(min(left, int64(f.in.Buffered())))) // it is there
		*sum = crc32.Update(*sum, crc32.IEEETable, part)
		if isList {
			if len(e.list)+len(part) > listLimit {
				return f.fault(e.at, "a list of GTIDs of %d bytes", e.length)
			}
			e.list = append(e.list, part...)
		}
		e.back = lastOf(e.back, part)
		left -= int64(len(part))
		_, _ = f.in.Discard(len(part)) // it is there
	}
	return nil
}

// lastOf is the end of was and more together.
func lastOf(was, more []byte) []byte {
	more = more[max(0, len(more)-keptAtEnd):]
	keep := min(len(was), keptAtEnd-len(more))
	copy(was, was[len(was)-keep:])
	return append(was[:keep], more...)
}

// short is the error of an event that the file ends in.
func (f *feed) short(e event, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return f.cut(e.at, fmt.Sprintf("a part of an event of %d bytes", e.end-e.at))
	}
	return err
}
