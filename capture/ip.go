package capture

const protocolTCP = 6

// endpoint is one end of a connection; IPv4 addresses are mapped into IPv6.
type endpoint struct {
	addr [16]byte
	port uint16
}

// pair is where a packet comes from and goes to.
type pair struct{ src, dst endpoint }

// ip takes in a packet from its IP header on.
func (t *tap) ip(d []byte, wire int) {
	if len(d) < 20 {
		t.note(badHead, 1)
		return
	}
	switch d[0] >> 4 {
	case 4:
		t.ipv4(d, wire)
	case 6:
		t.ipv6(d, wire)
	default:
		t.note(noIP, 1)
	}
}

func (t *tap) ipv4(d []byte, wire int) {
	head, total := int(d[0]&15)*4, int(be.Uint16(d[2:]))
	if total == 0 {
		total = wire // longer than the field can say: the network card was to cut it up
	}
	if head < 20 || total < head || len(d) < head {
		t.note(badHead, 1)
		return
	}
	if d[9] != protocolTCP {
		t.note(noTCP, 1)
		return
	}
	p := &t.ends
	*p = pair{}
	mapped(&p.src, d[12:16])
	mapped(&p.dst, d[16:20])
	body, missing := payload(d[head:], total-head)
	if f := be.Uint16(d[6:]); f&0x3fff != 0 {
		id := fragmentKey{src: p.src.addr, dst: p.dst.addr, id: uint32(be.Uint16(d[4:]))}
		t.fragment(id, *p, int(f&0x1fff)*8, f&0x2000 != 0, body, missing)
		return
	}
	t.tcp(p, body, missing)
}

func mapped(e *endpoint, ipv4 []byte) {
	e.addr[10], e.addr[11] = 0xff, 0xff
	copy(e.addr[12:], ipv4)
}

// payload cuts a body to its true length (Ethernet pads short frames) and says
// how many bytes of it the capture left out.
func payload(d []byte, size int) (body []byte, missing int) {
	if len(d) >= size {
		return d[:size], 0
	}
	return d, size - len(d)
}

// ipv6 goes through the extension headers of RFC 8200 to TCP.
func (t *tap) ipv6(d []byte, wire int) {
	if len(d) < 40 {
		t.note(badHead, 1)
		return
	}
	size := int(be.Uint16(d[4:]))
	if size == 0 {
		size = wire - 40
	}
	p := &t.ends
	copy(p.src.addr[:], d[8:24])
	copy(p.dst.addr[:], d[24:40])
	next := d[6]
	body, missing := payload(d[40:], max(size, 0))
	for {
		switch next {
		case protocolTCP:
			t.tcp(p, body, missing)
			return
		case 0, 43, 60, 51: // hop by hop, routing, destination options; authentication
			if len(body) < 8 {
				t.note(badHead, 1)
				return
			}
			n := (int(body[1]) + 1) * 8
			if next == 51 {
				n = (int(body[1]) + 2) * 4
			}
			if len(body) < n {
				t.note(badHead, 1)
				return
			}
			next, body = body[0], body[n:]
		case 44:
			if len(body) < 8 {
				t.note(badHead, 1)
				return
			}
			f := be.Uint16(body[2:])
			id := fragmentKey{src: p.src.addr, dst: p.dst.addr, id: be.Uint32(body[4:])}
			if f&0xfff9 == 0 { // an atomic fragment: all there is
				next, body = body[0], body[8:]
				continue
			}
			if body[0] != protocolTCP {
				t.note(noTCP, 1)
				return
			}
			t.fragment(id, *p, int(f&0xfff8), f&1 != 0, body[8:], missing)
			return
		default:
			t.note(noTCP, 1)
			return
		}
	}
}
