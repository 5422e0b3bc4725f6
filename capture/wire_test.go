package capture

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// piece is one TCP segment of a test, before it becomes a packet.
type piece struct {
	at       time.Time
	src, dst netip.AddrPort
	seq, ack uint32
	flags    byte
	data     []byte
	snap     int // bytes of data that are kept; -1: all
}

// talk makes the segments of one connection.
type talk struct {
	client, server netip.AddrPort
	now            time.Time
	mss            int
	seq            [2]uint32 // of the client and of the server
	pieces         []piece
}

var epoch = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

func newTalk(client, server string) *talk {
	return &talk{
		client: netip.MustParseAddrPort(client), server: netip.MustParseAddrPort(server),
		now: epoch, mss: 1448, seq: [2]uint32{1000, 4_000_000_000},
	}
}

func (k *talk) wait(d time.Duration) *talk { k.now = k.now.Add(d); return k }

// say adds segments from one end (0 client, 1 server), 1 microsecond apart.
func (k *talk) say(end int, data []byte) *talk {
	for len(data) > 0 {
		n := min(len(data), k.mss)
		k.piece(end, flagACK, data[:n])
		data = data[n:]
		if len(data) > 0 {
			k.wait(time.Microsecond)
		}
	}
	return k
}

func (k *talk) piece(end int, flags byte, data []byte) {
	p := piece{at: k.now, src: k.client, dst: k.server, seq: k.seq[end], ack: k.seq[1-end], flags: flags, data: slices.Clone(data), snap: -1}
	if end == 1 {
		p.src, p.dst = p.dst, p.src
	}
	k.seq[end] += uint32(len(data))
	if flags&(flagSYN|flagFIN) != 0 {
		k.seq[end]++
	}
	k.pieces = append(k.pieces, p)
}

func (k *talk) c(data ...[]byte) *talk { return k.say(0, bytes.Join(data, nil)) }
func (k *talk) s(data ...[]byte) *talk { return k.say(1, bytes.Join(data, nil)) }

func (k *talk) syn() *talk {
	k.piece(0, flagSYN, nil)
	k.piece(1, flagSYN|flagACK, nil)
	k.piece(0, flagACK, nil)
	return k
}

func (k *talk) fin() *talk {
	k.piece(0, flagFIN|flagACK, nil)
	k.piece(1, flagFIN|flagACK, nil)
	k.piece(0, flagACK, nil)
	return k
}

// login is a greeting, an answer and an OK.
func (k *talk) login(caps uint32) *talk {
	return k.syn().s(greetingPacket(caps)).wait(time.Millisecond).c(loginPacketOf(caps, "alice", "shop")).
		wait(time.Millisecond).s(okPacket(2, 0, 2, 0)).wait(time.Millisecond)
}

// bodyPacket puts heads around a body, in pieces of at most 16 MiB.
func bodyPacket(seq byte, body ...[]byte) []byte {
	rest := bytes.Join(body, nil)
	var out []byte
	for {
		n := min(len(rest), fullBody)
		out = append(out, byte(n), byte(n>>8), byte(n>>16), seq)
		out = append(out, rest[:n]...)
		rest = rest[n:]
		if seq++; n < fullBody {
			return out
		}
	}
}

func commandPacket(c Command, body ...[]byte) []byte {
	return bodyPacket(0, []byte{byte(c)}, bytes.Join(body, nil))
}
func queryPacket(text string) []byte { return commandPacket(Query, []byte(text)) }

const capsClassic = 1 | capConnectWithDB | capProtocol41 | capSecure | capLengthAuth

func greetingPacket(caps uint32) []byte {
	b := append([]byte{10}, "8.0.36-test\x00"...)
	b = append(b, 1, 0, 0, 0)
	b = append(b, "12345678\x00"...)
	b = binary.LittleEndian.AppendUint16(b, uint16(caps))
	b = append(b, 33, 2, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(caps>>16))
	b = append(b, 21)
	b = append(b, make([]byte, 10)...)
	return bodyPacket(0, append(b, "123456789012\x00mysql_native_password\x00"...))
}

func loginPacketOf(caps uint32, user, db string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, caps)
	b = append(b, 0, 0, 0, 1, 33)
	b = append(b, make([]byte, 23)...)
	b = append(append(b, user...), 0)
	b = append(b, 20)
	b = append(b, "12345678901234567890"...)
	return bodyPacket(1, append(append(b, db...), 0))
}

func okPacket(seq byte, affected int, status uint16, warnings uint16) []byte {
	b := append([]byte{0}, lengthOf(affected)...)
	b = append(b, 0)
	b = binary.LittleEndian.AppendUint16(b, status)
	return bodyPacket(seq, binary.LittleEndian.AppendUint16(b, warnings))
}

func lengthOf(n int) []byte {
	switch {
	case n < 251:
		return []byte{byte(n)}
	case n < 1<<16:
		return []byte{0xfc, byte(n), byte(n >> 8)}
	default:
		return []byte{0xfd, byte(n), byte(n >> 8), byte(n >> 16)}
	}
}

func eofPacket(seq byte, status, warnings uint16) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{0xfe}, warnings)
	return bodyPacket(seq, binary.LittleEndian.AppendUint16(b, status))
}

func errorPacket(seq byte, code uint16, text string) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{0xff}, code)
	return bodyPacket(seq, append(append(b, "#42000"...), text...))
}

func columnPacket(seq byte) []byte {
	return bodyPacket(seq, []byte("\x03def\x04shop\x01t\x01t\x01a\x01a\x0c\x3f\x00\x0b\x00\x00\x00\x03\x00\x00\x00\x00\x00"))
}

// resultPackets is a result of rows of one column, ended by an EOF or an OK.
func resultPackets(rows, width int, deprecateEOF bool, status uint16) []byte {
	seq := byte(1)
	next := func(f func(byte) []byte, out []byte) []byte { seq++; return append(out, f(seq)...) }
	out := bodyPacket(1, []byte{1})
	out = next(columnPacket, out)
	if !deprecateEOF {
		out = next(func(s byte) []byte { return eofPacket(s, 2, 0) }, out)
	}
	row := append(lengthOf(width), bytes.Repeat([]byte{'x'}, width)...)
	for range rows {
		out = next(func(s byte) []byte { return bodyPacket(s, row) }, out)
	}
	if deprecateEOF {
		return next(func(s byte) []byte {
			b := okPacket(s, 0, status, 0)
			b[headSize] = headEOF
			return b
		}, out)
	}
	return next(func(s byte) []byte { return eofPacket(s, status, 0) }, out)
}

// tcpOf is the TCP packet of a piece, with options as Linux sends them.
func (p *piece) tcpOf() []byte {
	b := binary.BigEndian.AppendUint16(nil, p.src.Port())
	b = binary.BigEndian.AppendUint16(b, p.dst.Port())
	b = binary.BigEndian.AppendUint32(b, p.seq)
	b = binary.BigEndian.AppendUint32(b, p.ack)
	b = append(b, 8<<4, p.flags, 0xff, 0xff, 0, 0, 0, 0)
	b = append(b, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2)
	return append(b, p.data...)
}

// ipOf puts an IP header in front.
func (p *piece) ipOf() []byte {
	tcp := p.tcpOf()
	src, dst := p.src.Addr().AsSlice(), p.dst.Addr().AsSlice()
	if p.src.Addr().Is4() {
		return append(ipv4Head(src, dst, len(tcp), 7, 0), tcp...)
	}
	b := []byte{0x60, 0, 0, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(len(tcp)))
	b = append(b, protocolTCP, 64)
	return append(append(append(b, src...), dst...), tcp...)
}

func ipv4Head(src, dst []byte, size int, id, fragment uint16) []byte {
	b := []byte{0x45, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(20+size))
	b = binary.BigEndian.AppendUint16(b, id)
	b = binary.BigEndian.AppendUint16(b, fragment)
	b = append(b, 64, protocolTCP, 0, 0)
	return append(append(b, src...), dst...)
}

// frame is a packet as it is in a file.
type frame struct {
	at   time.Time
	data []byte
	wire int
}

func ethernet(ip []byte) []byte {
	kind := []byte{0x08, 0x00}
	if ip[0]>>4 == 6 {
		kind = []byte{0x86, 0xdd}
	}
	return append(append(make([]byte, 12), kind...), ip...)
}

// frames are the Ethernet frames of pieces.
func frames(pieces []piece) (list []frame) {
	for k := range pieces {
		p := &pieces[k]
		d := ethernet(p.ipOf())
		f := frame{p.at, d, len(d)}
		if p.snap >= 0 && p.snap < len(p.data) {
			f.data = d[:len(d)-len(p.data)+p.snap]
		}
		list = append(list, f)
	}
	return list
}

// pcapFile writes frames in the classic format.
func pcapFile(order binary.AppendByteOrder, magic uint32, link uint32, list []frame) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 4)
	b = order.AppendUint32(b, 0)
	b = order.AppendUint32(b, 0)
	b = order.AppendUint32(b, 262144)
	b = order.AppendUint32(b, link)
	for _, f := range list {
		part := f.at.Nanosecond()
		if magic != magicNano {
			part /= 1000
		}
		b = order.AppendUint32(b, uint32(f.at.Unix()))
		b = order.AppendUint32(b, uint32(part))
		b = order.AppendUint32(b, uint32(len(f.data)))
		b = order.AppendUint32(b, uint32(f.wire))
		if magic == magicModified {
			b = append(b, make([]byte, 8)...)
		}
		b = append(b, f.data...)
	}
	return b
}

func pcapOf(pieces ...piece) []byte {
	return pcapFile(binary.LittleEndian, magicMicro, linkEthernet, frames(pieces))
}

// seen is what a test looks at of an event.
type seen struct {
	Event
	Query string
	Args  []string
}

// readAll reads a capture and keeps its events.
func readAll(t testing.TB, file []byte, o Options) ([]seen, Summary) {
	t.Helper()
	var list []seen
	sum, err := Read("test", bytes.NewReader(file), o, func(e *Event) { list = append(list, keep(e)) })
	if err != nil {
		t.Fatal(err)
	}
	if sum.Bytes != uint64(len(file)) {
		t.Errorf("summary says %d bytes were read of %d", sum.Bytes, len(file))
	}
	if sum.Events != uint64(len(list)) {
		t.Errorf("summary says %d events, there were %d", sum.Events, len(list))
	}
	return list, sum
}

func keep(e *Event) seen {
	s := seen{Event: *e, Query: string(e.Query)}
	for k := range e.Args {
		s.Args = append(s.Args, string(e.Args[k].AppendSQL(nil)))
	}
	return s
}

// of gives the events of one command.
func of(list []seen, c Command) (some []seen) {
	for _, e := range list {
		if e.Command == c {
			some = append(some, e)
		}
	}
	return some
}

func queries(list []seen) (texts []string) {
	for _, e := range of(list, Query) {
		texts = append(texts, e.Query)
	}
	return texts
}

func remark(sum Summary, r reason) uint64 {
	for _, x := range sum.Skipped {
		if x.Reason == reasonText[r] {
			return x.Count
		}
	}
	return 0
}
