package capture

import "bytes"

// Packets of the protocol have a head of four bytes: the length of the body and
// a number that counts within one command. A body of 16 MiB less one byte goes
// on in the next packet. Source: MySQL internals, "MySQL Packets"; MariaDB
// knowledge base, "0 - Packet".
const (
	headSize = 4
	fullBody = 1<<24 - 1
)

// packets takes packets out of one direction of a stream.
type packets struct {
	began   bool // some bytes of a packet have come
	more    bool // the body goes on in another packet
	cut     bool // body is not all of it
	isHoled bool // some of it was lost
	seq     byte // of the first packet of a body
	heads   int  // bytes of the head that have come
	head    [headSize]byte
	left    int // bytes of this packet's body that are to come
	size    int // of the body, as far as its packets have come

	firstAt int64 // when the first byte came
	body    []byte
	kept    []byte // memory for bodies that come in pieces
}

// next takes bytes up to the end of one body. done says that body, size and seq
// are one packet; it is valid until the next call. At most keep bytes of a body
// that comes in pieces are kept.
func (p *packets) next(d []byte, at int64, keep int) (rest []byte, done bool) {
	if !p.began {
		if len(d) >= headSize {
			if n := uint24(d); n < fullBody && len(d) >= headSize+n {
				p.seq, p.size, p.firstAt, p.cut, p.isHoled = d[3], n, at, false, false
				p.body = d[headSize : headSize+n]
				return d[headSize+n:], true
			}
		}
		p.begin(at)
	}
	for len(d) > 0 || p.heads == headSize && p.left == 0 {
		if p.heads < headSize {
			n := copy(p.head[p.heads:], d)
			p.heads += n
			d = d[n:]
			if p.heads == headSize {
				p.opened()
			}
			continue
		}
		n := min(p.left, len(d))
		p.keep(d[:n], keep)
		p.left -= n
		d = d[n:]
		if p.left == 0 && p.closed() {
			return d, true
		}
	}
	return nil, false
}

func (p *packets) begin(at int64) {
	p.isHoled = false
	p.began, p.more, p.cut, p.heads, p.left, p.size, p.firstAt = true, false, false, 0, 0, 0, at
	p.kept = p.kept[:0]
}

func (p *packets) opened() {
	p.left = uint24(p.head[:])
	if !p.more {
		p.seq = p.head[3]
	}
	p.size += p.left
	p.more = p.left == fullBody
}

func (p *packets) keep(d []byte, most int) {
	if p.cut {
		return
	}
	if room := most - len(p.kept); len(d) > room {
		d, p.cut = d[:max(room, 0)], true
	}
	p.kept = append(p.kept, d...)
}

// closed ends a packet and says whether the body ends with it.
func (p *packets) closed() bool {
	if p.more {
		p.heads = 0
		return false
	}
	p.began, p.body = false, p.kept
	return true
}

// gap steps over n bytes that nobody saw. ok is false where they reach beyond
// the packet, so that nobody knows where the next one begins.
func (p *packets) gap(n int) (done, ok bool) {
	if !p.began || p.heads < headSize || n > p.left {
		return false, false
	}
	p.cut = true
	p.left -= n
	return p.left == 0 && p.closed(), true
}

// reset forgets a packet that has begun.
func (p *packets) reset() { p.began = false }

// reader takes fields out of a body. After the first field that is not there,
// isShort is true and all fields are empty.
type reader struct {
	d       []byte
	isShort bool
	text    []byte // memory for what becomes text
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.d) {
		r.isShort, r.d = true, nil
		return nil
	}
	b := r.d[:n]
	r.d = r.d[n:]
	return b
}

// number is a little-endian number of n bytes.
func (r *reader) number(n int) (v uint64) {
	for i, c := range r.bytes(n) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// length is a number in the protocol's own encoding, of one to nine bytes.
func (r *reader) length() uint64 {
	switch c := r.number(1); c {
	case 0xfc:
		return r.number(2)
	case 0xfd:
		return r.number(3)
	case 0xfe:
		return r.number(8)
	default:
		return c
	}
}

// string is one with its length in front.
func (r *reader) string() []byte {
	n := r.length()
	if n > uint64(len(r.d)) {
		r.isShort, r.d = true, nil
		return nil
	}
	return r.bytes(int(n))
}

// zero is a string that ends with a zero byte, or with the body.
func (r *reader) zero() []byte {
	i := bytes.IndexByte(r.d, 0)
	if i < 0 {
		b := r.d
		r.d = nil
		return b
	}
	b := r.d[:i]
	r.d = r.d[i+1:]
	return b
}
