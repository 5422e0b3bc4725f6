package capture

import (
	"bufio"
	"encoding/binary"
	"math/bits"
)

// The pcapng format is that of the Internet draft draft-ietf-opsawg-pcapng:
// blocks of type, length, body and length again. Blocks of other types than
// these hold names, statistics, secrets: nothing for us.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockOldPacket = 2
	blockSimple    = 3
	blockPacket    = 6

	optionEnd      = 0
	optionResol    = 9
	optionTimeZero = 14
)

const magicSection = 0x1a2b3c4d

func isPcapng(head []byte) bool {
	if len(head) < 4 || le.Uint32(head) != blockSection {
		return false
	}
	return len(head) < 12 || le.Uint32(head[8:]) == magicSection || be.Uint32(head[8:]) == magicSection
}

// nic is an interface that a capture was taken on.
type nic struct {
	link  uint32
	snap  uint32
	resol byte  // if_tsresol: a negative power of ten, or of two with the top bit
	zero  int64 // if_tsoffset: seconds
}

func (t *tap) readPcapng(r *bufio.Reader) error {
	var order binary.ByteOrder = le
	var nics []nic
	var big []byte
	for {
		head, err := r.Peek(12)
		if err != nil {
			return t.cutOff(r, err, 0)
		}
		if le.Uint32(head) == blockSection { // the same in both byte orders
			order = le
			if be.Uint32(head[8:]) == magicSection {
				order = be
			}
			nics = nics[:0]
		}
		kind, size := order.Uint32(head), int(order.Uint32(head[4:]))
		if size < 12 || size%4 != 0 {
			return t.abandon(r)
		}
		if size > maxRecord+64 {
			if kind == blockPacket || kind == blockSimple || kind == blockOldPacket || kind == blockInterface {
				return t.abandon(r)
			}
			if n, err := r.Discard(size); err != nil {
				return t.cutOff(r, err, n)
			}
			t.offset += int64(size)
			t.sum.Bytes = uint64(t.offset)
			continue
		}
		var block []byte
		if block, big, err = record(r, size, big); err != nil {
			return t.cutOff(r, err, len(block))
		}
		body := block[8 : size-4]
		switch kind {
		case blockInterface:
			nics = t.describe(order, body, nics)
		case blockPacket:
			t.enhanced(order, body, nics)
		case blockOldPacket:
			t.outdated(order, body, nics)
		case blockSimple:
			t.simple(order, body, nics)
		}
		t.took(r, size)
	}
}

// maxNICs bounds what a file can make us remember.
const maxNICs = 4096

func (t *tap) describe(order binary.ByteOrder, body []byte, nics []nic) []nic {
	if len(body) < 8 || len(nics) >= maxNICs {
		t.note(fileDamaged, 1)
		return nics
	}
	n := nic{link: uint32(order.Uint16(body)), snap: order.Uint32(body[4:]), resol: 6}
	for o := body[8:]; len(o) >= 4; {
		code, size := order.Uint16(o), int(order.Uint16(o[2:]))
		if code == optionEnd || 4+size > len(o) {
			break
		}
		switch value := o[4 : 4+size]; {
		case code == optionResol && size >= 1:
			n.resol = value[0]
		case code == optionTimeZero && size >= 8:
			n.zero = int64(order.Uint64(value))
		}
		o = o[min(len(o), 4+(size+3)&^3):]
	}
	return append(nics, n)
}

func (t *tap) enhanced(order binary.ByteOrder, body []byte, nics []nic) {
	if len(body) < 20 {
		t.note(fileDamaged, 1)
		return
	}
	t.ngPacket(order, order.Uint32(body), body[4:], nics)
}

// outdated is the packet block that the enhanced one has replaced: its
// interface has 16 bits, behind which stand 16 of drops.
func (t *tap) outdated(order binary.ByteOrder, body []byte, nics []nic) {
	if len(body) < 20 {
		t.note(fileDamaged, 1)
		return
	}
	t.ngPacket(order, uint32(order.Uint16(body)), body[4:], nics)
}

func (t *tap) ngPacket(order binary.ByteOrder, id uint32, body []byte, nics []nic) {
	kept := order.Uint32(body[8:])
	if uint64(id) >= uint64(len(nics)) {
		t.note(noInterface, 1)
		return
	}
	if uint64(kept) > uint64(len(body)-16) {
		t.note(fileDamaged, 1)
		return
	}
	n := &nics[id]
	at := n.time(uint64(order.Uint32(body))<<32 | uint64(order.Uint32(body[4:])))
	t.packet(n.link, at, body[16:16+kept], max(int(order.Uint32(body[12:])), int(kept)))
}

// simple is a packet block without a time.
func (t *tap) simple(order binary.ByteOrder, body []byte, nics []nic) {
	if len(body) < 4 || len(nics) == 0 {
		t.note(noInterface, 1)
		return
	}
	wire := int(order.Uint32(body))
	kept := min(wire, len(body)-4)
	if nics[0].snap > 0 {
		kept = min(kept, int(nics[0].snap))
	}
	t.note(noTime, 1)
	t.packet(nics[0].link, 0, body[4:4+kept], wire)
}

// time is what a number of ticks means, in nanoseconds since the epoch; 0 if
// it is nothing that an int64 can hold.
func (n *nic) time(ticks uint64) int64 {
	var seconds, part uint64
	if n.resol&0x80 != 0 {
		shift := uint(n.resol & 0x7f)
		if shift > 63 {
			return 0
		}
		seconds = ticks >> shift
		hi, lo := bits.Mul64(ticks&(1<<shift-1), 1e9)
		part = lo
		if shift > 0 {
			part = hi<<(64-shift) | lo>>shift
		}
	} else {
		if n.resol > 19 {
			return 0
		}
		unit := uint64(1)
		for range n.resol {
			unit *= 10
		}
		seconds = ticks / unit
		hi, lo := bits.Mul64(ticks%unit, 1e9)
		part, _ = bits.Div64(hi, lo, unit)
	}
	if s := int64(seconds) + n.zero; seconds < 1<<33 && s >= 0 && s < 9_000_000_000 {
		return s*1e9 + int64(part)
	}
	return 0
}
