package digest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	kindPcap kind = iota + 100
	kindPcapng
	kindTcpdump
)

// maxPacket is the longest packet record that is believed; libpcap's own limit is 256 KiB.
const maxPacket = 1 << 20

// sniffCapture tells the capture formats apart.
func sniffCapture(head []byte) kind {
	if len(head) >= 24 {
		switch binary.LittleEndian.Uint32(head) {
		case 0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1:
			return kindPcap
		case 0x0a0d0d0a:
			return kindPcapng
		}
	}
	if line, _, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n")); isTcpdumpLine(line) {
		return kindTcpdump
	}
	return kindUnknown
}

// readPcap reads the format of tcpdump -w: a header of 24 bytes, then records of 16 bytes and a packet.
func (c *capture) readPcap(r *bufio.Reader) error {
	var head [24]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	var order binary.ByteOrder = binary.LittleEndian
	unit := int64(1000)
	switch binary.LittleEndian.Uint32(head[:]) {
	case 0xd4c3b2a1:
		order = binary.BigEndian
	case 0xa1b23c4d:
		unit = 1
	case 0x4d3cb2a1:
		order, unit = binary.BigEndian, 1
	}
	link := order.Uint32(head[20:]) & 0x0fffffff
	c.offset, c.in.bytes = 24, 24
	var record [16]byte
	var data []byte
	for {
		if n, err := io.ReadFull(r, record[:]); err != nil {
			return c.truncated(err, n)
		}
		size, full := order.Uint32(record[8:]), order.Uint32(record[12:])
		if size > maxPacket {
			c.in.skip("packet record that cannot be: the rest of the file is not read", c.offset, 0)
			n, _ := io.Copy(io.Discard, r)
			c.in.bytes += n + 16
			return nil
		}
		if cap(data) < int(size) {
			data = make([]byte, size)
		}
		data = data[:size]
		if n, err := io.ReadFull(r, data); err != nil {
			return c.truncated(err, n+16)
		}
		at := int64(order.Uint32(record[:]))*1e9 + int64(order.Uint32(record[4:]))*unit
		c.link(link, at, data, int(full))
		c.offset += 16 + int64(size)
		c.in.bytes = c.offset
	}
}

// truncated notes that a file ends inside a record, as a capture does whose writer was killed.
func (c *capture) truncated(err error, n int) error {
	c.in.bytes += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) && n > 0 {
		c.in.skip("file ends inside a packet", c.offset, int64(n))
		return nil
	}
	return err
}

// ngInterface is what an interface block of a pcapng file tells.
type ngInterface struct {
	link uint32
	unit float64 // nanoseconds in one step of its clock
}

// readPcapng reads the block format of Wireshark and newer tcpdumps.
func (c *capture) readPcapng(r *bufio.Reader) error {
	var order binary.ByteOrder = binary.LittleEndian
	var interfaces []ngInterface
	var head [8]byte
	var body []byte
	for {
		if n, err := io.ReadFull(r, head[:]); err != nil {
			return c.truncated(err, n)
		}
		kind := order.Uint32(head[:])
		if kind == 0x0a0d0d0a { // a section begins, perhaps in another byte order
			magic, err := r.Peek(4)
			if err != nil {
				return c.truncated(io.ErrUnexpectedEOF, 8)
			}
			order = binary.LittleEndian
			if magic[0] == 0x1a {
				order = binary.BigEndian
			}
			interfaces = nil
		}
		size := order.Uint32(head[4:])
		if size < 12 || size > 4*maxPacket || size%4 != 0 {
			c.in.skip("block that cannot be: the rest of the file is not read", c.offset, 0)
			n, _ := io.Copy(io.Discard, r)
			c.in.bytes += n + 8
			return nil
		}
		if cap(body) < int(size) {
			body = make([]byte, size)
		}
		body = body[:size-8]
		if n, err := io.ReadFull(r, body); err != nil {
			return c.truncated(err, n+8)
		}
		body := body[:len(body)-4]
		switch kind {
		case 1:
			interfaces = append(interfaces, ngInterfaceOf(order, body))
		case 6, 2:
			c.ngPacket(order, interfaces, kind, body)
		case 3: // a simple packet has no time
			c.in.skip("packet without a time", c.offset, int64(size))
		}
		c.offset += int64(size)
		c.in.bytes = c.offset
	}
}

func ngInterfaceOf(order binary.ByteOrder, body []byte) ngInterface {
	i := ngInterface{unit: 1000}
	if len(body) < 8 {
		return i
	}
	i.link = uint32(order.Uint16(body))
	for o := body[8:]; len(o) >= 4; {
		code, n := order.Uint16(o), int(order.Uint16(o[2:]))
		if code == 0 || 4+n > len(o) {
			break
		}
		if code == 9 && n >= 1 { // if_tsresol
			i.unit = 1e9
			for range o[4] & 0x7f {
				if o[4]&0x80 != 0 {
					i.unit /= 2
				} else {
					i.unit /= 10
				}
			}
		}
		o = o[min(len(o), 4+(n+3)&^3):]
	}
	return i
}

func (c *capture) ngPacket(order binary.ByteOrder, interfaces []ngInterface, kind uint32, body []byte) {
	if len(body) < 20 {
		return
	}
	id := order.Uint32(body)
	if kind == 2 { // the old packet block has a short number and drops behind it
		id = uint32(order.Uint16(body))
	}
	size := order.Uint32(body[12:])
	if int(id) >= len(interfaces) || int64(size) > int64(len(body)-20) {
		c.in.skip("packet block that contradicts itself", c.offset, int64(len(body)))
		return
	}
	ticks := uint64(order.Uint32(body[4:]))<<32 | uint64(order.Uint32(body[8:]))
	i := interfaces[id]
	at := int64(ticks)
	switch {
	case i.unit == 1000 && ticks < 1<<53:
		at = int64(ticks) * 1000
	case i.unit != 1:
		at = int64(float64(ticks) * i.unit)
	}
	c.link(i.link, at, body[20:20+size], int(order.Uint32(body[16:])))
}

// link strips the header of the link layer. The numbers are those of the pcap link type registry.
func (c *capture) link(link uint32, at int64, data []byte, full int) {
	head := 0
	switch link {
	case 1: // Ethernet, with VLAN tags
		head = 14
		for len(data) > head+4 && (data[head-2] == 0x81 && data[head-1] == 0 || data[head-2] == 0x88 && data[head-1] == 0xa8) {
			head += 4
		}
	case 0, 108: // BSD loopback
		head = 4
	case 113: // Linux cooked
		head = 16
	case 276: // Linux cooked, second version
		head = 20
	case 12, 14, 101, 228, 229: // bare IP
	default:
		c.in.skip(fmt.Sprintf("packet of link type %d", link), c.offset, int64(len(data)))
		return
	}
	if len(data) <= head {
		return
	}
	c.ip(packet{at: at, data: data[head:], full: full - head})
}
