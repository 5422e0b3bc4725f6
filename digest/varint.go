package digest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// errShort says that stored bytes end before what they announce.
var errShort = errors.New("stored digest is cut short")

// uvarint reads one unsigned number and returns the bytes behind it.
func uvarint(p []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(p)
	if n <= 0 {
		return 0, nil, errShort
	}
	return v, p[n:], nil
}

// packer appends numbers and strings.
type packer struct {
	out []byte
	w   io.Writer // where to put it when there is enough of it, see drain; nil: nowhere
	err error     // of w
}

// drain writes out what was packed, when that is worth a call.
func (p *packer) drain() {
	if p.w != nil && len(p.out) >= packedPiece {
		p.flush()
	}
}

func (p *packer) flush() {
	if p.err == nil {
		_, p.err = p.w.Write(p.out)
	}
	p.out = p.out[:0]
}

const packedPiece = 64 << 10

func (p *packer) number(v uint64) { p.out = binary.AppendUvarint(p.out, v) }
func (p *packer) signed(v int64)  { p.out = binary.AppendVarint(p.out, v) }
func (p *packer) wide(w wide)     { p.number(w.hi); p.number(w.lo) }

func (p *packer) text(s string) {
	p.number(uint64(len(s)))
	p.out = append(p.out, s...)
}

func (p *packer) flag(b bool) {
	if b {
		p.out = append(p.out, 1)
	} else {
		p.out = append(p.out, 0)
	}
}

// unpacker takes them off again. After the first error everything reads as zero.
type unpacker struct {
	in      []byte    // what was read and not taken yet
	r       io.Reader // where there may be more; nil: nowhere
	err     error
	version byte // of what is read: 1 has no sums, 2 no samples

	crowd crowd
}

func (u *unpacker) fail(what string) {
	if u.err == nil {
		u.err = fmt.Errorf("stored digest is damaged: %s", what)
	}
}

// need reads on until there are n bytes, or no more. What was taken before stays as it is. It makes room as bytes come,
// not as they are announced.
func (u *unpacker) need(n int) {
	for len(u.in) < n && u.r != nil {
		have := len(u.in)
		room := make([]byte, have+max(packedPiece, min(have, n-have)))
		copy(room, u.in)
		got, err := io.ReadFull(u.r, room[have:])
		u.in = room[:have+got]
		if err == nil {
			continue
		}
		u.r = nil
		if err != io.EOF && err != io.ErrUnexpectedEOF && u.err == nil {
			u.err = err
		}
	}
}

func (u *unpacker) number() uint64 {
	if u.need(binary.MaxVarintLen64); u.err != nil {
		return 0
	}
	v, rest, err := uvarint(u.in)
	if err != nil {
		u.err = err
		return 0
	}
	u.in = rest
	return v
}

func (u *unpacker) signed() int64 {
	v := u.number()
	return int64(v>>1) ^ -int64(v&1)
}

func (u *unpacker) wide() wide { return wide{u.number(), u.number()} }

// size is a number of things that follow, each at least one byte long.
func (u *unpacker) size() int {
	n := u.number()
	u.need(int(min(n, storedMaximum)))
	if n > uint64(len(u.in)) {
		u.fail("a list longer than the rest")
		return 0
	}
	return int(n)
}

func (u *unpacker) take(n int) []byte {
	if u.need(n); u.err != nil {
		return nil
	}
	if n < 0 || n > len(u.in) {
		u.err = errShort
		return nil
	}
	b := u.in[:n]
	u.in = u.in[n:]
	return b
}

func (u *unpacker) text() string { return string(u.take(u.size())) }

func (u *unpacker) flag() bool {
	b := u.take(1)
	return len(b) == 1 && b[0] != 0
}
