package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// The pcap file format is that of the Internet draft draft-ietf-opsawg-pcap:
// a head of 24 bytes, then records of 16 bytes and a packet, all in the byte
// order of the machine that wrote it.
const (
	magicMicro    = 0xa1b2c3d4
	magicNano     = 0xa1b23c4d
	magicModified = 0xa1b2cd34 // 8 bytes more in each record, written by old patched kernels' tools
)

// maxRecord is the longest packet that is believed. libpcap itself writes at
// most 256 KiB; segments that the network card will cut up (BIG TCP) reach 512.
const maxRecord = 4 << 20

func isPcap(head []byte) bool {
	return len(head) >= 4 && (isPcapMagic(le.Uint32(head)) || isPcapMagic(be.Uint32(head)))
}

func isPcapMagic(m uint32) bool { return m == magicMicro || m == magicNano || m == magicModified }

func (t *tap) readPcap(r *bufio.Reader) error {
	head, err := r.Peek(24)
	if err != nil {
		return t.cutOff(r, err, 0)
	}
	var order binary.ByteOrder = le
	if isPcapMagic(be.Uint32(head)) {
		order = be
	}
	unit, size := int64(1000), 16
	switch order.Uint32(head) {
	case magicNano:
		unit = 1
	case magicModified:
		size = 24
	}
	link := order.Uint32(head[20:]) & 0xffff // above it stands the length of the frame check sequence
	t.took(r, 24)
	var big []byte
	for {
		head, err := r.Peek(size)
		if err != nil {
			return t.cutOff(r, err, 0)
		}
		seconds, part := order.Uint32(head), order.Uint32(head[4:])
		kept, wire := int(order.Uint32(head[8:])), int(order.Uint32(head[12:]))
		if kept > maxRecord {
			return t.abandon(r)
		}
		at := int64(seconds)*1e9 + int64(part)*unit
		var data []byte
		if data, big, err = record(r, size+kept, big); err != nil {
			return t.cutOff(r, err, len(data))
		}
		t.packet(link, at, data[size:], max(wire, kept))
		t.took(r, size+kept)
	}
}

// record is the next n bytes. They stay in the reader until took, so that no
// packet is copied; only those longer than the reader's memory are. With an
// error, data is what was taken out of the reader already.
func record(r *bufio.Reader, n int, big []byte) (data, scratch []byte, err error) {
	if n <= r.Size() {
		if data, err = r.Peek(n); err != nil {
			return nil, big, err
		}
		return data, big, nil
	}
	if cap(big) < n {
		big = make([]byte, n)
	}
	k, err := io.ReadFull(r, big[:n])
	if err != nil {
		return big[:k], big, err
	}
	return big[:n], big, nil
}

// took goes on by n bytes that record gave.
func (t *tap) took(r *bufio.Reader, n int) {
	if n <= r.Size() {
		_, _ = r.Discard(n) // they were peeked at, so they are there
	}
	t.offset += int64(n)
	t.sum.Bytes = uint64(t.offset)
}

// cutOff ends a file that ends: well, or inside a record, as a capture does
// whose writer was killed. consumed bytes of the record are no longer in the
// reader, if the record is longer than its memory.
func (t *tap) cutOff(r *bufio.Reader, err error, consumed int) error {
	rest, ferr := io.Copy(io.Discard, r)
	rest += int64(consumed)
	t.sum.Bytes += uint64(rest)
	t.note(fileCut, uint64(rest))
	if err = errors.Join(err, ferr); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ferr
	}
	return err
}

// abandon leaves the rest of a file unread.
func (t *tap) abandon(r *bufio.Reader) error {
	t.note(fileDamaged, 1)
	rest, err := io.Copy(io.Discard, r)
	t.sum.Bytes += uint64(rest)
	return err
}
