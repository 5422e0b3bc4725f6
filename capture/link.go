package capture

import (
	"slices"
	"strconv"
)

// Link types by the numbers of the tcpdump.org registry.
const (
	linkNull     = 0
	linkEthernet = 1
	linkRawBSD   = 12
	linkRawOBSD  = 14
	linkRaw      = 101
	linkLoop     = 108
	linkCooked   = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkCooked2  = 276
)

func linkName(l uint32) string {
	switch l {
	case linkNull:
		return "null"
	case linkEthernet:
		return "ethernet"
	case linkRawBSD, linkRawOBSD, linkRaw:
		return "raw ip"
	case linkLoop:
		return "loop"
	case linkCooked:
		return "linux cooked"
	case linkIPv4:
		return "raw ipv4"
	case linkIPv6:
		return "raw ipv6"
	case linkCooked2:
		return "linux cooked v2"
	}
	return "type " + strconv.FormatUint(uint64(l), 10)
}

const (
	etherIPv4   = 0x0800
	etherIPv6   = 0x86dd
	etherVLAN   = 0x8100
	etherQinQ   = 0x88a8
	etherQinQ2  = 0x9100 // before 802.1ad
	etherPPPoES = 0x8864
)

// maxTags is how many VLAN tags a frame may bear.
const maxTags = 4

// link strips the header of the link layer.
func (t *tap) link(link uint32, d []byte, wire int) {
	if len(t.links) == 0 || t.links[len(t.links)-1] != link {
		t.sawLink(link)
	}
	switch link {
	case linkEthernet:
		t.ether(d, wire, 14, 12)
	case linkCooked:
		t.ether(d, wire, 16, 14)
	case linkCooked2:
		t.ether(d, wire, 20, 0)
	case linkNull, linkLoop:
		t.loopback(d, wire)
	case linkRaw, linkRawBSD, linkRawOBSD, linkIPv4, linkIPv6:
		t.ip(d, wire)
	default:
		t.note(noLink, 1)
	}
}

func (t *tap) sawLink(link uint32) {
	if !slices.Contains(t.links, link) && len(t.links) < 64 {
		t.links = append(t.links, link)
	}
}

// ether strips a header of the given size with an ether type at the given
// place, and the tags behind it.
func (t *tap) ether(d []byte, wire, size, typeAt int) {
	if len(d) < size {
		t.note(badHead, 1)
		return
	}
	kind := be.Uint16(d[typeAt:])
	d, wire = d[size:], wire-size
	for range maxTags {
		if kind != etherVLAN && kind != etherQinQ && kind != etherQinQ2 {
			break
		}
		if len(d) < 4 {
			t.note(badHead, 1)
			return
		}
		kind = be.Uint16(d[2:])
		d, wire = d[4:], wire-4
	}
	if kind == etherPPPoES && len(d) >= 8 {
		d, wire, kind = d[8:], wire-8, etherIPv4 // the IP header says which
	}
	if kind != etherIPv4 && kind != etherIPv6 {
		t.note(noIP, 1)
		return
	}
	t.ip(d, wire)
}

// loopback strips the address family: 2 is IPv4 everywhere, IPv6 is 10, 24, 28
// or 30 by system, in the byte order of the host (NULL) or the network (LOOP).
func (t *tap) loopback(d []byte, wire int) {
	if len(d) < 4 {
		t.note(badHead, 1)
		return
	}
	family := le.Uint32(d)
	if family > 0xffff {
		family = be.Uint32(d)
	}
	switch family {
	case 2, 10, 24, 28, 30:
		t.ip(d[4:], wire-4)
	default:
		t.note(noIP, 1)
	}
}
