package digest

import (
	"encoding/binary"
	"net/netip"
)

// endpoint is an address and port; connKey the two of a connection, the smaller first.
type endpoint struct {
	addr netip.Addr
	port uint16
}

func (e endpoint) less(o endpoint) bool {
	if c := e.addr.Compare(o.addr); c != 0 {
		return c < 0
	}
	return e.port < o.port
}

type connKey struct{ a, b endpoint }

// segment is the TCP part of a packet.
type segment struct {
	at       int64
	src, dst endpoint
	seq, ack uint32
	flags    byte
	data     []byte // as captured
	missing  int    // bytes the capture cut off behind data
}

const (
	tcpFin = 1
	tcpSyn = 2
	tcpRst = 4
	tcpAck = 16
)

// ip reads an IP packet and hands its segment on. What is not TCP is no concern of a digest.
func (c *capture) ip(p packet) {
	d := p.data
	if len(d) < 20 {
		return
	}
	var s segment
	s.at = p.at
	var head, total int
	switch d[0] >> 4 {
	case 4:
		head, total = int(d[0]&15)*4, int(binary.BigEndian.Uint16(d[2:]))
		if total == 0 { // the network card was to cut it up: the length stands in the record
			total = max(p.full, len(d))
		}
		if d[9] != 6 || head < 20 || len(d) < head+20 {
			return
		}
		if binary.BigEndian.Uint16(d[6:])&0x3fff != 0 {
			c.in.skip("IP fragment", c.offset, int64(len(d)))
			return
		}
		s.src.addr, s.dst.addr = netip.AddrFrom4([4]byte(d[12:16])), netip.AddrFrom4([4]byte(d[16:20]))
	case 6:
		if len(d) < 60 {
			return
		}
		head, total = 40, 40+int(binary.BigEndian.Uint16(d[4:]))
		if total == 40 {
			total = max(p.full, len(d))
		}
		next := d[6]
		for next == 0 || next == 43 || next == 60 { // hop-by-hop, routing, destination options
			if len(d) < head+8 {
				return
			}
			next, head = d[head], head+8+int(d[head+1])*8
		}
		if next != 6 || len(d) < head+20 {
			return
		}
		s.src.addr, s.dst.addr = netip.AddrFrom16([16]byte(d[8:24])), netip.AddrFrom16([16]byte(d[24:40]))
	default:
		return
	}
	t := d[head:]
	s.src.port, s.dst.port = binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:])
	s.seq, s.ack, s.flags = binary.BigEndian.Uint32(t[4:]), binary.BigEndian.Uint32(t[8:]), t[13]
	off := int(t[12]>>4) * 4
	if off < 20 {
		return
	}
	length := total - head - off // of the payload on the wire
	if length > 0 {
		if have := len(t) - off; have > 0 {
			s.data = t[off : off+min(have, length)]
		}
		s.missing = length - len(s.data)
	}
	c.segment(&s)
}

// segment finds the connection of a segment and follows it.
func (c *capture) segment(s *segment) {
	key := connKey{s.src, s.dst}
	if s.dst.less(s.src) {
		key = connKey{s.dst, s.src}
	}
	k := c.conns[key]
	c.order++
	starts := s.flags&tcpSyn != 0 && s.flags&tcpAck == 0
	if k != nil && starts && k.active() {
		c.end(k) // the port is used again
		k = nil
	}
	if k == nil {
		if len(s.data) == 0 && !starts {
			return
		}
		if len(c.conns) >= maxConns {
			c.giveUpIdle()
		}
		k = &conn{began: s.at}
		c.conns[key] = k
	}
	k.seen = c.order
	if s.flags&tcpSyn != 0 {
		client := s.src
		if !starts {
			client = s.dst
		}
		k.setClient(client, s)
	}
	if len(s.data)+s.missing > 0 {
		c.payload(k, s)
	}
	if s.flags&(tcpFin|tcpRst) != 0 {
		c.closing(k, s)
		if k.closed {
			delete(c.conns, key)
		}
	}
}

// flow is one direction of a connection.
type flow struct {
	known  bool
	next   uint32 // the sequence number expected
	early  []earlySegment
	starts [8]uint32 // sequence numbers of the last commands or answers
	count  int       // of all of them
}

// mark remembers where a command or an answer begins, to know it again when it is repeated.
func (f *flow) mark(seq uint32) {
	f.starts[f.count%len(f.starts)] = seq
	f.count++
}

func (f *flow) marked(seq uint32) bool {
	for _, s := range f.starts[:min(f.count, len(f.starts))] {
		if s == seq {
			return true
		}
	}
	return false
}

// jump goes on at a segment that does not fit but begins with something whole that can only come next. Bytes in front of
// it are lost, or the numbers are wrong: captures are put together from pieces, and addresses and numbers changed.
func (f *flow) jump(seq uint32) (gap int) {
	if f.known {
		gap = max(0, int(int32(seq-f.next)))
	}
	f.known, f.next, f.early = true, seq, nil
	return gap
}

// earlySegment came before the one in front of it.
type earlySegment struct {
	seq     uint32
	at      int64
	data    []byte
	missing int
}

// maxEarly is how many segments wait for one that is late, before it is taken for lost.
const maxEarly = 64

// arrive puts segments into order. deliver gets every byte once; gap is how many bytes in front of it are lost.
func (f *flow) arrive(s *segment, deliver func(at int64, data []byte, missing, gap int)) {
	if !f.known {
		f.known, f.next = true, s.seq
	}
	f.take(earlySegment{s.seq, s.at, s.data, s.missing}, 0, deliver)
	f.drain(deliver)
}

// take delivers a segment that is due, cuts what was there before, or puts it aside.
func (f *flow) take(s earlySegment, gap int, deliver func(int64, []byte, int, int)) {
	ahead := int(int32(s.seq - f.next))
	length := len(s.data) + s.missing
	switch {
	case ahead > 0:
		if len(f.early) >= maxEarly {
			f.skipTo(deliver)
			f.take(s, 0, deliver)
			return
		}
		s.data = append([]byte(nil), s.data...)
		f.early = append(f.early, s)
	case ahead < 0 && -ahead >= length: // all of it was there before
	default:
		cut := -ahead
		if cut > len(s.data) {
			s.missing -= cut - len(s.data)
			cut = len(s.data)
		}
		f.next = s.seq + uint32(length)
		deliver(s.at, s.data[cut:], s.missing, gap)
	}
}

// drain delivers what was put aside and is due now.
func (f *flow) drain(deliver func(int64, []byte, int, int)) {
	for again := true; again && len(f.early) > 0; {
		again = false
		for i, s := range f.early {
			if int32(s.seq-f.next) <= 0 {
				f.early = append(f.early[:i], f.early[i+1:]...)
				f.take(s, 0, deliver)
				again = true
				break
			}
		}
	}
}

// skipTo gives up waiting: it goes on with the earliest segment put aside.
func (f *flow) skipTo(deliver func(int64, []byte, int, int)) {
	if len(f.early) == 0 {
		return
	}
	first := 0
	for i, s := range f.early {
		if int32(s.seq-f.early[first].seq) < 0 {
			first = i
		}
	}
	s := f.early[first]
	f.early = append(f.early[:first], f.early[first+1:]...)
	gap := int(int32(s.seq - f.next))
	f.next = s.seq
	f.take(s, gap, deliver)
	f.drain(deliver)
}
