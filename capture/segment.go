package capture

const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
	_
	flagACK
)

// segment is one TCP segment.
type segment struct {
	at       int64
	seq, ack uint32
	flags    byte
	data     []byte
	missing  int    // bytes behind data that the capture cut off
	order    uint64 // of arrival, for those that wait
}

func (g *segment) size() int   { return len(g.data) + g.missing }
func (g *segment) end() uint32 { return g.seq + uint32(len(g.data)+g.missing) }

// after says whether a comes behind b in a stream; the numbers wrap around.
func after(a, b uint32) bool { return int32(a-b) > 0 }

// far is how much numbers of one stream may differ; more than that and they
// belong to another connection between the same ports.
const far = 1 << 27

func isFar(a, b uint32) bool {
	d := int32(a - b)
	return d > far || d < -far
}

// tcp takes in a packet from its TCP header on.
func (t *tap) tcp(p *pair, d []byte, missing int) {
	if len(d) < 20 {
		t.note(badHead, 1)
		return
	}
	head := int(d[12]>>4) * 4
	if head < 20 || head > len(d)+missing {
		t.note(badHead, 1)
		return
	}
	p.src.port, p.dst.port = be.Uint16(d), be.Uint16(d[2:])
	if t.ports != nil && !t.ports[p.src.port] && !t.ports[p.dst.port] {
		t.note(noPort, 1)
		return
	}
	if head > len(d) { // the capture ends inside the options
		missing -= head - len(d)
		head = len(d)
	}
	t.seg = segment{
		at: t.at, seq: be.Uint32(d[4:]), ack: be.Uint32(d[8:]), flags: d[13],
		data: d[head:], missing: missing,
	}
	if missing > 0 {
		t.note(snapped, uint64(missing))
	}
	t.segment(p, &t.seg)
}
