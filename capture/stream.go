package capture

import "slices"

// flow is one direction of a connection.
type flow struct {
	known  bool // next is known
	fin    bool
	isLost bool   // where packets begin is not known
	first  uint32 // number of the first byte, where its SYN was seen
	next   uint32 // number of the byte that comes next
	acked  uint32 // the other end has seen everything before this
	isAck  bool   // acked is known
	finSeq uint32
	stray  uint32 // end of the last segment that was far off

	head    segmentHead // of the last segment that was passed on
	early   []segment   // that wait, by number
	packets packets
	zip     zipped
}

func (f *flow) begin(seq uint32) { f.known, f.first, f.next = true, seq, seq }

// How long to wait for a segment that is not there. One that the other end has
// acknowledged was missed by the capture, or is only out of order in it: that
// is a matter of a few packets. One that it has not was lost on the way and
// will be sent again, after a time-out of some seconds at worst.
const (
	ackedSegments = 32
	ackedTime     = 50e6
	lostSegments  = 4096
	lostTime      = 20e9
	blindSegments = 64 // where no acknowledgements are seen
	maxWaiting    = 1 << 20
	segmentMem    = 64 // of a waiting segment beside its bytes
)

// arrive takes in a segment of a connection whose client is known. The common
// case, what comes next, is passed on without a copy.
func (t *tap) arrive(s *session, dir int, g *segment) {
	f, o := &s.flows[dir], &s.flows[1-dir]
	if g.flags&flagACK != 0 && (!o.isAck || after(g.ack, o.acked)) && (!o.known || !isFar(g.ack, o.next)) {
		o.acked, o.isAck = g.ack, true
	}
	if g.size() == 0 {
		if s.waiting > 0 {
			t.pump(s, false)
		}
		return
	}
	if !f.known {
		f.known, f.next = true, g.seq
	}
	if isFar(g.seq, f.next) {
		t.stray(s, dir, g)
		return
	}
	s.strays = 0
	if after(f.next, g.seq) && f.contradicts(g) && s.mayBegin(dir, g) {
		t.note(renumbered, 1)
		f.next = g.seq
	}
	if s.waiting == 0 && g.seq == f.next && !o.owes(g) {
		t.deliver(s, dir, g)
		return
	}
	if !after(g.end(), f.next) {
		return // seen before
	}
	t.hold(s, f, g)
	t.pump(s, false)
}

// owes says whether a segment of the other end acknowledges what has not come
// from this one yet.
func (f *flow) owes(g *segment) bool {
	return f.known && g.flags&flagACK != 0 && after(g.ack, f.next) && !isFar(g.ack, f.next)
}

// stray is a segment whose number has nothing to do with the stream. If it looks
// like the beginning of something, or a second one continues it, it is of a new
// connection between the same ports, whose SYN was not captured.
func (t *tap) stray(s *session, dir int, g *segment) {
	f := &s.flows[dir]
	isBeginning := beginsCommand(g.data, g.size(), minFullSegment) || isGreeting(g.data)
	if s.strays++; !isBeginning && (s.strays < 2 || isFar(g.seq, f.stray)) {
		f.stray = g.end()
		return
	}
	t.end(s)
	s.reset()
	s.began = t.at
	if t.identify(s, dir, g) {
		t.arrive(s, dir, g)
	}
}

// hold lets a segment wait, in the order of the stream.
func (t *tap) hold(s *session, f *flow, g *segment) {
	if s.waiting == 0 {
		s.waitingAt, s.patience = g.at, 0
	}
	s.patience++
	s.order++
	kept := *g
	kept.order = s.order
	i, _ := slices.BinarySearchFunc(f.early, g, func(a segment, g *segment) int {
		if after(a.seq, g.seq) {
			return 1
		}
		return -1 // behind those with the same number
	})
	if i > 0 && f.early[i-1].seq == g.seq && f.early[i-1].size() >= g.size() {
		return // waits already
	}
	kept.data = slices.Clone(g.data)
	f.early = slices.Insert(f.early, i, kept)
	s.waiting++
	s.waitingMem += len(g.data) + segmentMem
	t.mem += len(g.data) + segmentMem
}

// pump passes on the segments whose time has come, and gives up what they wait
// for when that has lasted too long, or at once with force.
func (t *tap) pump(s *session, force bool) {
	for s.waiting > 0 {
		switch {
		case t.advance(s, 0), t.advance(s, 1):
			s.waitingAt, s.patience = t.at, 0
		case force || t.isOverdue(s):
			t.giveUp(s)
		default:
			return
		}
		if s.state == stateBlind || s.state == stateClosed {
			return
		}
	}
}

// advance passes on what can be in one direction and says whether anything
// could.
func (t *tap) advance(s *session, dir int) (any bool) {
	f, o := &s.flows[dir], &s.flows[1-dir]
	for len(f.early) > 0 {
		g := f.early[0]
		if after(g.seq, f.next) || o.owes(&g) && after(g.end(), f.next) {
			break
		}
		f.early[0] = segment{}
		f.early = f.early[1:]
		s.waiting--
		s.waitingMem -= len(g.data) + segmentMem
		t.mem -= len(g.data) + segmentMem
		any = true
		if after(g.end(), f.next) {
			t.deliver(s, dir, &g)
		}
		if s.state == stateBlind {
			return true
		}
	}
	if len(f.early) == 0 {
		f.early = nil
	}
	return any
}

// head is the direction whose first waiting segment came first.
func (s *session) head() int {
	a, b := s.flows[0].early, s.flows[1].early
	if len(a) == 0 || len(b) > 0 && b[0].order < a[0].order {
		return 1
	}
	return 0
}

// missing is where bytes are missing: the direction and up to which number.
func (s *session) missing() (dir int, upTo uint32) {
	dir = s.head()
	f, o := &s.flows[dir], &s.flows[1-dir]
	if g := &f.early[0]; !after(g.seq, f.next) {
		dir, upTo = 1-dir, g.ack // it waits for the other direction
		if len(o.early) > 0 && after(upTo, o.early[0].seq) {
			upTo = o.early[0].seq
		}
		return dir, upTo
	}
	return dir, f.early[0].seq
}

func (t *tap) isOverdue(s *session) bool {
	dir, upTo := s.missing()
	f := &s.flows[dir]
	waited := t.at - s.waitingAt
	switch {
	case s.waitingMem > maxWaiting:
		return true
	case f.isAck && !after(upTo, f.acked):
		return s.patience > ackedSegments || waited > ackedTime
	case !f.isAck:
		return s.patience > blindSegments || waited > lostTime
	}
	return s.patience > lostSegments || waited > lostTime
}

// giveUp steps over what is missing.
func (t *tap) giveUp(s *session) {
	dir, upTo := s.missing()
	f := &s.flows[dir]
	if !after(upTo, f.next) { // two ends that wait for each other cannot be: continue with the first
		f = &s.flows[s.head()]
		g := &f.early[0]
		g.flags &^= flagACK
		return
	}
	if dir == int(s.client) && s.isRenumbered(f, upTo) {
		t.renumber(f)
		return
	}
	n := int(upTo - f.next)
	if f.fin && upTo == f.finSeq+1 {
		n--
	}
	f.next = upTo
	if n <= 0 {
		return
	}
	t.lose(s, dir, n)
	if dir == int(s.client) {
		t.clientGap(s, n, 0)
	} else {
		s.ans.isHoled = true
		t.serverGap(s, n)
	}
}

// deliver passes a segment on that begins at or before the byte that comes
// next, without what was seen before.
func (t *tap) deliver(s *session, dir int, g *segment) {
	f := &s.flows[dir]
	if old := int(int32(f.next - g.seq)); old > 0 {
		if old >= len(g.data) {
			g.missing -= old - len(g.data)
			g.data = nil
		} else {
			g.data = g.data[old:]
		}
		g.seq = f.next
	}
	f.next = g.end()
	f.head.remember(g)
	if s.state == stateBlind {
		return
	}
	if dir == int(s.client) {
		t.fromClient(s, g)
	} else {
		t.fromServer(s, g)
	}
}
