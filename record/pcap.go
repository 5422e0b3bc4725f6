package record

import (
	"encoding/binary"
	"io"
	"time"
)

// pcapWriter writes packets in the format of tcpdump -w, with nanoseconds
// (magic a1b23c4d) and the link type "raw IP" (101): packets begin with their
// IP header, whatever interface they passed.
type pcapWriter struct {
	w      io.Writer
	record [16]byte
}

func newPcap(w io.Writer) (*pcapWriter, error) {
	var head [24]byte
	binary.LittleEndian.PutUint32(head[0:], 0xa1b23c4d)
	binary.LittleEndian.PutUint16(head[4:], 2)
	binary.LittleEndian.PutUint16(head[6:], 4)
	binary.LittleEndian.PutUint32(head[16:], wholePacket)
	binary.LittleEndian.PutUint32(head[20:], 101)
	_, err := w.Write(head[:])
	return &pcapWriter{w: w}, err
}

// packet writes one packet of which full bytes were on the wire.
func (p *pcapWriter) packet(at time.Time, data []byte, full int) error {
	binary.LittleEndian.PutUint32(p.record[0:], uint32(at.Unix()))
	binary.LittleEndian.PutUint32(p.record[4:], uint32(at.Nanosecond()))
	binary.LittleEndian.PutUint32(p.record[8:], uint32(len(data)))
	binary.LittleEndian.PutUint32(p.record[12:], uint32(full))
	if _, err := p.w.Write(p.record[:]); err != nil {
		return err
	}
	_, err := p.w.Write(data)
	return err
}
