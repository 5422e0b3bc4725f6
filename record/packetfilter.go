package record

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// instruction is one of the classic packet filter of BSD (McCanne and
// Jacobson, 1993), which Linux runs in the kernel for each packet of a socket.
// Where a jump leads is a name until assemble.
type instruction struct {
	code    uint16
	k       uint32
	yes, no string // jumps; "" is the next instruction
	label   string // of this instruction
}

// Codes of linux/bpf_common.h and linux/filter.h.
const (
	loadWord       = 0x20 // ld  [k]
	loadHalf       = 0x28 // ldh [k]
	loadByte       = 0x30 // ldb [k]
	loadHalfX      = 0x48 // ldh [x+k]
	loadHeaderLen  = 0xb1 // ldx 4*([k]&0xf)
	jumpEqual      = 0x15
	jumpSet        = 0x45
	returnK        = 0x06
	ancillary      = 0xfffff000 // SKF_AD_OFF
	packetProtocol = ancillary + 0
	packetType     = ancillary + 4
	outgoing       = 4 // PACKET_OUTGOING
	protocolIPv4   = 0x0800
	protocolIPv6   = 0x86dd
	protocolTCP    = 6
)

// wholePacket is more than any packet, with segmentation left to the network
// card, has.
const wholePacket = 256 << 10

// endpoint is one end of the connections to record.
type endpoint struct {
	port      uint16
	addresses []netip.Addr // empty: any
	without   uint16       // connections from this client port are ours; 0: none
}

// packetFilter passes the TCP packets of the server at e, for a socket that
// sees packets from their IP header on. A packet counts when it is incoming
// and for the server's port, or outgoing and from it. So packets on the
// loopback interface, which are seen on their way out and on their way in,
// count once, and so do those that pass a bridge; and what this machine, as a
// client, asks of another server at the same port does not count.
//
// Fragments after the first have no ports and do not pass: TCP does not make
// any (path MTU discovery), and the digest notes what is missing.
func packetFilter(e endpoint) ([]instruction, error) {
	p := []instruction{
		{code: loadWord, k: packetType},
		{code: jumpEqual, k: outgoing, yes: "out"},
	}
	p = append(p, direction("in", e, 16, 24, 2, 0)...) // destination
	p = append(p, direction("out", e, 12, 8, 0, 2)...) // source
	return append(p,
		instruction{code: returnK, k: wholePacket, label: "pass"},
		instruction{code: returnK, k: 0, label: "drop"}), checkFilter(p, e)
}

// direction is the part for one direction: where the server's address stands
// in an IPv4 and an IPv6 header, and its port and the client's in a TCP one.
func direction(name string, e endpoint, v4, v6, server, client uint32) []instruction {
	p := []instruction{
		{code: loadHalf, k: packetProtocol, label: name},
		{code: jumpEqual, k: protocolIPv4, yes: name + "4"},
		{code: jumpEqual, k: protocolIPv6, yes: name + "6", no: "drop"},
		{code: loadByte, k: 9, label: name + "4"},
		{code: jumpEqual, k: protocolTCP, no: "drop"},
		{code: loadHalf, k: 6},
		{code: jumpSet, k: 0x1fff, yes: "drop"}, // a later fragment
	}
	var four, six []netip.Addr
	for _, a := range e.addresses {
		if a.Is4() {
			four = append(four, a)
		} else {
			six = append(six, a)
		}
	}
	if len(e.addresses) > 0 {
		p = append(p, instruction{code: loadWord, k: v4})
		for _, a := range four {
			p = append(p, instruction{code: jumpEqual, k: binary.BigEndian.Uint32(a.AsSlice()), yes: name + "4port"})
		}
		p = append(p, instruction{code: jumpSet, k: 0, yes: "drop", no: "drop"})
	}
	p = append(p, instruction{code: loadHeaderLen, k: 0, label: name + "4port"},
		instruction{code: loadHalfX, k: server},
		instruction{code: jumpEqual, k: uint32(e.port), no: "drop"},
		instruction{code: loadHalfX, k: client},
		instruction{code: jumpEqual, k: uint32(e.without), yes: "drop", no: "pass"},
		instruction{code: loadByte, k: 6, label: name + "6"},
		instruction{code: jumpEqual, k: protocolTCP, no: "drop"})
	if len(e.addresses) > 0 {
		for i, a := range six {
			next := fmt.Sprintf("%s6not%d", name, i)
			for word := range 4 {
				load := instruction{code: loadWord, k: v6 + uint32(4*word)}
				if word == 0 && i > 0 {
					load.label = fmt.Sprintf("%s6not%d", name, i-1)
				}
				test := instruction{code: jumpEqual, k: binary.BigEndian.Uint32(a.AsSlice()[4*word:]), no: next}
				if word == 3 {
					test.yes = name + "6port"
				}
				p = append(p, load, test)
			}
		}
		last := instruction{code: jumpSet, k: 0, yes: "drop", no: "drop"}
		if len(six) > 0 {
			last.label = fmt.Sprintf("%s6not%d", name, len(six)-1)
		}
		p = append(p, last)
	}
	return append(p,
		instruction{code: loadHalf, k: 40 + server, label: name + "6port"},
		instruction{code: jumpEqual, k: uint32(e.port), no: "drop"},
		instruction{code: loadHalf, k: 40 + client},
		instruction{code: jumpEqual, k: uint32(e.without), yes: "drop", no: "pass"})
}

// checkFilter is the error of an endpoint that no filter can express.
func checkFilter(p []instruction, e endpoint) error {
	if e.port == 0 {
		return fmt.Errorf("port 0")
	}
	if len(p) > 250 { // a jump is one byte
		return fmt.Errorf("%d addresses are too many for one filter", len(e.addresses))
	}
	return nil
}

// jumps are where the instruction at i leads: how many instructions further.
func jumps(p []instruction, i int) (yes, no uint8, err error) {
	where := func(label string) uint8 {
		if label == "" {
			return 0
		}
		for n := i + 1; n < len(p); n++ {
			if p[n].label == label && n-i-1 < 256 {
				return uint8(n - i - 1)
			}
		}
		err = fmt.Errorf("packet filter: nothing is called %s behind instruction %d", label, i)
		return 0
	}
	yes, no = where(p[i].yes), where(p[i].no)
	return yes, no, err
}
