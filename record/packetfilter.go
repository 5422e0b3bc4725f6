package record

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/net/bpf"
)

// instruction is one of the classic packet filter of BSD (McCanne and
// Jacobson, 1993), which Linux runs in the kernel for each packet of a socket.
// Where a jump leads is a name until assemble.
type instruction struct {
	does    bpf.Instruction // nil: a jump
	is      uint32          // a jump: what was loaded is this
	yes, no string          // where a jump leads; "" is the next instruction
	label   string          // of this instruction
}

// Of linux/if_packet.h, linux/if_ether.h and linux/in.h.
const (
	outgoing     = 4 // PACKET_OUTGOING
	protocolIPv4 = 0x0800
	protocolIPv6 = 0x86dd
	protocolTCP  = 6
)

func load(off uint32, size int) bpf.Instruction { return bpf.LoadAbsolute{Off: off, Size: size} }

// goTo is a jump without a question: both ways lead there.
func goTo(label string) instruction { return instruction{yes: label, no: label} }

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
		{does: bpf.LoadExtension{Num: bpf.ExtType}},
		{is: outgoing, yes: "out"},
	}
	p = append(p, direction("in", e, 16, 24, 2, 0)...) // destination
	p = append(p, direction("out", e, 12, 8, 0, 2)...) // source
	return append(p,
		instruction{does: bpf.RetConstant{Val: wholePacket}, label: "pass"},
		instruction{does: bpf.RetConstant{}, label: "drop"}), checkFilter(p, e)
}

// direction is the part for one direction: where the server's address stands
// in an IPv4 and an IPv6 header, and its port and the client's in a TCP one.
func direction(name string, e endpoint, v4, v6, server, client uint32) []instruction {
	p := []instruction{
		{does: bpf.LoadExtension{Num: bpf.ExtProto}, label: name},
		{is: protocolIPv4, yes: name + "4"},
		{is: protocolIPv6, yes: name + "6", no: "drop"},
		{does: load(9, 1), label: name + "4"},
		{is: protocolTCP, no: "drop"},
		{does: load(6, 2)},
		{does: bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x1fff}},
		{is: 0, no: "drop"}, // else a later fragment
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
		p = append(p, instruction{does: load(v4, 4)})
		for _, a := range four {
			p = append(p, instruction{is: binary.BigEndian.Uint32(a.AsSlice()), yes: name + "4port"})
		}
		p = append(p, goTo("drop"))
	}
	p = append(p, instruction{does: bpf.LoadMemShift{}, label: name + "4port"},
		instruction{does: bpf.LoadIndirect{Off: server, Size: 2}},
		instruction{is: uint32(e.port), no: "drop"},
		instruction{does: bpf.LoadIndirect{Off: client, Size: 2}},
		instruction{is: uint32(e.without), yes: "drop", no: "pass"},
		instruction{does: load(6, 1), label: name + "6"},
		instruction{is: protocolTCP, no: "drop"})
	if len(e.addresses) > 0 {
		for i, a := range six {
			next := fmt.Sprintf("%s6not%d", name, i)
			for word := range 4 {
				read := instruction{does: load(v6+uint32(4*word), 4)}
				if word == 0 && i > 0 {
					read.label = fmt.Sprintf("%s6not%d", name, i-1)
				}
				test := instruction{is: binary.BigEndian.Uint32(a.AsSlice()[4*word:]), no: next}
				if word == 3 {
					test.yes = name + "6port"
				}
				p = append(p, read, test)
			}
		}
		last := goTo("drop")
		if len(six) > 0 {
			last.label = fmt.Sprintf("%s6not%d", name, len(six)-1)
		}
		p = append(p, last)
	}
	return append(p,
		instruction{does: load(40+server, 2), label: name + "6port"},
		instruction{is: uint32(e.port), no: "drop"},
		instruction{does: load(40+client, 2)},
		instruction{is: uint32(e.without), yes: "drop", no: "pass"})
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

// assemble gives jumps their distances, and everything the kernel's form.
func assemble(p []instruction) ([]bpf.RawInstruction, error) {
	out := make([]bpf.Instruction, len(p))
	for i := range p {
		if out[i] = p[i].does; out[i] != nil {
			continue
		}
		yes, err := further(p, i, p[i].yes)
		if err != nil {
			return nil, err
		}
		no, err := further(p, i, p[i].no)
		if err != nil {
			return nil, err
		}
		out[i] = bpf.JumpIf{Cond: bpf.JumpEqual, Val: p[i].is, SkipTrue: yes, SkipFalse: no}
	}
	return bpf.Assemble(out)
}

// further is how many instructions the one called label is behind the next after i.
func further(p []instruction, i int, label string) (uint8, error) {
	for n := i + 1; label != "" && n < len(p); n++ {
		if p[n].label == label && n-i-1 < 256 {
			return uint8(n - i - 1), nil
		}
	}
	if label == "" {
		return 0, nil
	}
	return 0, fmt.Errorf("packet filter: nothing is called %s behind instruction %d", label, i)
}
