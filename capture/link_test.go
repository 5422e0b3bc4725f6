package capture

import (
	"encoding/binary"
	"slices"
	"testing"
)

func cookedHead(ip []byte, version int) []byte {
	kind := []byte{0x08, 0x00}
	if ip[0]>>4 == 6 {
		kind = []byte{0x86, 0xdd}
	}
	if version == 2 {
		return slices.Concat(kind, make([]byte, 18), ip)
	}
	return slices.Concat(make([]byte, 14), kind, ip)
}

func tagged(ip []byte, tags ...uint16) []byte {
	e := ethernet(ip)
	b := slices.Clone(e[:12])
	for _, tag := range tags {
		b = binary.BigEndian.AppendUint16(b, tag)
		b = append(b, 0, 42)
	}
	return append(b, e[12:]...)
}

func TestLinkTypes(t *testing.T) {
	for name, x := range map[string]struct {
		link uint32
		wrap func(ip []byte) []byte
	}{
		"ethernet":       {linkEthernet, ethernet},
		"vlan":           {linkEthernet, func(ip []byte) []byte { return tagged(ip, etherVLAN) }},
		"qinq":           {linkEthernet, func(ip []byte) []byte { return tagged(ip, etherQinQ, etherVLAN) }},
		"old qinq":       {linkEthernet, func(ip []byte) []byte { return tagged(ip, etherQinQ2, etherVLAN) }},
		"padded":         {linkEthernet, func(ip []byte) []byte { return append(ethernet(ip), make([]byte, 18)...) }},
		"raw":            {linkRaw, slices.Clone[[]byte]},
		"raw bsd":        {linkRawBSD, slices.Clone[[]byte]},
		"raw openbsd":    {linkRawOBSD, slices.Clone[[]byte]},
		"raw ipv4":       {linkIPv4, slices.Clone[[]byte]}, // either family: the header says which
		"raw ipv6":       {linkIPv6, slices.Clone[[]byte]},
		"cooked vlan":    {linkCooked, func(ip []byte) []byte { return slices.Concat(make([]byte, 14), tagged(ip, etherVLAN)[12:]) }},
		"cooked":         {linkCooked, func(ip []byte) []byte { return cookedHead(ip, 1) }},
		"cooked 2":       {linkCooked2, func(ip []byte) []byte { return cookedHead(ip, 2) }},
		"null little":    {linkNull, func(ip []byte) []byte { return append([]byte{family(ip), 0, 0, 0}, ip...) }},
		"null big":       {linkNull, func(ip []byte) []byte { return append([]byte{0, 0, 0, family(ip)}, ip...) }},
		"loop":           {linkLoop, func(ip []byte) []byte { return append([]byte{0, 0, 0, family(ip)}, ip...) }},
		"fcs length set": {linkEthernet | 0x14000000, ethernet},
		"pppoe": {linkEthernet, func(ip []byte) []byte {
			return slices.Concat(make([]byte, 12), []byte{0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, 0x21}, ip)
		}},
	} {
		for _, ends := range [][2]string{{"10.0.0.1:50000", "10.0.0.2:3306"}, {"[fd00::1]:50000", "[fd00::2]:3306"}} {
			var list []frame
			for _, p := range shortTalk(ends[0], ends[1]).pieces {
				d := x.wrap(p.ipOf())
				list = append(list, frame{p.at, d, len(d)})
			}
			events, sum := readAll(t, pcapFile(binary.LittleEndian, magicMicro, x.link, list), Options{})
			if len(events) != 4 {
				t.Errorf("%s %s: %d events; %+v", name, ends[0], len(events), sum)
				continue
			}
			checkShort(t, events)
			if events[1].Client != ends[0] || events[1].Server != ends[1] || len(sum.Skipped) > 0 {
				t.Errorf("%s: %s %s %+v", name, events[1].Client, events[1].Server, sum)
			}
		}
	}
}

func family(ip []byte) byte {
	if ip[0]>>4 == 6 {
		return 30
	}
	return 2
}

// Headers with options and extensions, and datagrams in fragments.
func TestIPHeaders(t *testing.T) {
	fragmented := func(p *piece, at int) [][]byte {
		tcp := p.tcpOf()
		if len(tcp) <= at {
			return [][]byte{p.ipOf()}
		}
		src, dst := p.src.Addr().AsSlice(), p.dst.Addr().AsSlice()
		id := uint16(p.seq) ^ uint16(p.ack)<<3 ^ p.src.Port()
		first := append(ipv4Head(src, dst, at, id, 0x2000), tcp[:at]...)
		second := append(ipv4Head(src, dst, len(tcp)-at, id, uint16(at/8)), tcp[at:]...)
		return [][]byte{second, first} // the wrong way round
	}
	six := func(p *piece, extensions []byte, first byte) []byte {
		ip := p.ipOf()
		b := slices.Concat(ip[:40], extensions, ip[40:])
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)-40))
		b[6] = first
		return b
	}
	for name, x := range map[string]struct {
		v6   bool
		wrap func(p *piece) [][]byte
	}{
		"v4 options": {false, func(p *piece) [][]byte {
			ip := p.ipOf()
			b := slices.Concat(ip[:20], []byte{1, 1, 1, 1, 1, 1, 1, 0}, ip[20:])
			b[0] = 0x47
			binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
			return [][]byte{b}
		}},
		"v4 length left to the card": {false, func(p *piece) [][]byte {
			b := p.ipOf()
			b[2], b[3] = 0, 0
			return [][]byte{b}
		}},
		"v4 fragments": {false, func(p *piece) [][]byte { return fragmented(p, 40) }},
		"v6 extensions": {true, func(p *piece) [][]byte {
			return [][]byte{six(p, slices.Concat([]byte{60, 0, 1, 4, 0, 0, 0, 0}, []byte{44, 1, 1, 12}, make([]byte, 12), []byte{6, 0, 0, 0, 0, 0, 0, 9}), 0)}
		}},
		"v6 fragments": {true, func(p *piece) [][]byte {
			tcp := p.tcpOf()
			if len(tcp) <= 40 {
				return [][]byte{p.ipOf()}
			}
			part := func(at int, more byte, body []byte) []byte {
				ip := p.ipOf()
				head := []byte{6, 0, byte(at >> 8), byte(at) | more, 0, 0, 0, 0}
				binary.BigEndian.PutUint32(head[4:], p.seq^p.ack<<3)
				b := slices.Concat(ip[:40], head, body)
				binary.BigEndian.PutUint16(b[4:], uint16(len(b)-40))
				b[6] = 44
				return b
			}
			return [][]byte{part(40, 0, tcp[40:]), part(0, 1, tcp[:40]), part(0, 1, tcp[:40])[:0]}
		}},
	} {
		ends := [2]string{"10.0.0.1:50000", "10.0.0.2:3306"}
		if x.v6 {
			ends = [2]string{"[fd00::1]:50000", "[fd00::2]:3306"}
		}
		var list []frame
		for _, p := range shortTalk(ends[0], ends[1]).pieces {
			for _, ip := range x.wrap(&p) {
				if len(ip) > 0 {
					list = append(list, frame{p.at, ethernet(ip), 14 + len(ip)})
				}
			}
		}
		events, sum := readAll(t, pcapFile(binary.LittleEndian, magicMicro, linkEthernet, list), Options{})
		if len(events) != 4 {
			t.Errorf("%s: %d events; %+v", name, len(events), sum)
			continue
		}
		checkShort(t, events)
	}
}
