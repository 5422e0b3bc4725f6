package digest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// ReadCapture counts the events of a packet capture: pcap, pcapng, or the text that tcpdump -x -tttt prints. A query's time
// is that from its last packet to the first packet of the answer, as at the place of the capture: the network's part is
// in it. Events are stamped with the answer.
//
// Servers are known by what they say, not by their port. Sequence numbers are obeyed: repeated segments count once, what
// comes out of order is put in order, and where segments were lost the query is counted without a time, never with a
// wrong one. The compressed protocol is read; encrypted connections are counted and named, their
// queries cannot be read.
func (b *Builder) ReadCapture(name string, r io.Reader) error {
	in := bufio.NewReaderSize(r, sniffSize)
	head, _ := in.Peek(sniffSize)
	c := newCapture(b, name)
	var err error
	switch sniffCapture(head) {
	case kindPcap:
		err = c.readPcap(in)
	case kindPcapng:
		err = c.readPcapng(in)
	case kindTcpdump:
		err = c.readTcpdump(in)
	default:
		err = ErrUnknownInput
	}
	c.finish()
	b.d.inputs = append(b.d.inputs, c.in)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read capture %s: %w", name, err)
	}
	return nil
}

// capture follows the connections of one capture.
type capture struct {
	b      *Builder
	in     input
	conns  map[connKey]*conn
	order  uint64 // of packets, to find the connection idle for the longest
	offset int64  // of the present packet in the file
}

// maxConns is how many connections are followed at once; beyond it, those idle for the longest are given up.
const maxConns = 20_000

func newCapture(b *Builder, name string) *capture {
	return &capture{b: b, in: input{name: name, kind: "pcap", dialect: "mysql protocol"}, conns: map[connKey]*conn{}}
}

// packet is one captured packet from its IP header on.
type packet struct {
	at   int64 // nanoseconds since the epoch
	data []byte
	full int // length of the IP packet on the wire, where the header does not say; 0: as captured
}

// finish ends all connections.
func (c *capture) finish() {
	for _, k := range c.conns {
		c.end(k)
	}
	clear(c.conns)
}

// giveUpIdle forgets the idler half of the connections.
func (c *capture) giveUpIdle() {
	var sum uint64
	for _, k := range c.conns {
		sum += k.seen
	}
	mean := sum / uint64(len(c.conns))
	for key, k := range c.conns {
		if k.seen <= mean {
			c.end(k)
			delete(c.conns, key)
		}
	}
	c.in.note("more connections than can be followed: idle ones are given up", c.offset)
}
