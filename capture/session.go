package capture

// state is how far a connection has come.
type state uint8

const (
	stateNew    state = iota // nobody knows what it speaks, nor who is the client
	stateGreet               // began in the capture: the server speaks next
	stateLogin               // greeted: the client speaks next
	stateReady               // commands and answers; the login counts as the first
	stateBlind               // encrypted, replication, not MySQL: not looked at any more
	stateClosed              // over; late copies of its segments are not a new one
)

// session is one connection.
type session struct {
	key        flowKey
	next, prev *session // in the ring of the table

	began  int64  // time of the first packet
	id     uint64 // 0: not recognised as MySQL yet
	state  state
	client int8 // which of the flows is the client's; -1: not known
	isSYN  bool // the client's SYN was seen
	guess  bool // recognised by what looks like a command: the answer must confirm it
	tries  uint8
	strays uint8

	compress bool // the compressed protocol is being spoken
	attrs    ternary
	plainEOF ternary // EOF packets end column definitions (no CLIENT_DEPRECATE_EOF)
	tailEOF  bool    // a prepare's answer may have one EOF packet more

	caps       uint64 // of the server
	flows      [2]flow
	order      uint64 // of waiting segments
	waitingAt  int64  // when the first segment of the queue began to wait
	waiting    int    // segments in both queues
	waitingMem int
	patience   int // segments that came while others waited

	user, db           string
	clientEnd, srvEnd  string
	requests           queue
	ans                answer
	statements         map[uint32]*statement
	lastPrepared       *statement
	statementMem       int
	lastAnswered       int64  // end of the answer before
	sentUpTo           uint32 // where the last request ends in the client's stream
	serverSpoke, spoke bool
	spokeLast          bool // the client was the last to say something
	isOver             bool // both ends said so, or one of them broke it off
	loss               Loss
}

// ternary is a fact that may not be known.
type ternary uint8

const (
	unknown ternary = iota
	yes
	no
)

func claim(is bool) ternary {
	if is {
		return yes
	}
	return no
}

func (s *session) up() *flow   { return &s.flows[s.client] }
func (s *session) down() *flow { return &s.flows[1-s.client] }

// segment takes in a TCP segment.
func (t *tap) segment(p *pair, g *segment) {
	key, dir := keyOf(p)
	s := t.table.find(&key)
	if s == nil {
		if g.size() == 0 && g.flags&flagSYN == 0 {
			return // a bare acknowledgement begins nothing
		}
		s = &session{key: key, client: -1, began: t.at}
		t.table.add(s)
		t.relieve(s)
	}
	t.table.touch(s)
	if g.flags&flagSYN != 0 {
		t.syn(s, dir, g)
		if g.size() == 0 {
			return
		}
		g.seq++ // data with the SYN (fast open) stands behind it
	}
	if s.state == stateClosed && !t.reopen(s, dir, g) {
		return
	}
	if s.client < 0 && g.size() > 0 && !t.identify(s, dir, g) {
		return
	}
	if s.client >= 0 && s.state != stateBlind {
		t.arrive(s, dir, g)
	}
	if g.flags&(flagFIN|flagRST) != 0 {
		t.closing(s, dir, g)
	}
	if s.flows[0].fin && s.flows[1].fin {
		t.fins(s)
	}
	if t.mem > maxMemory {
		t.relieve(s)
		if t.mem > maxMemory {
			t.pump(s, true)
		}
	}
}

// syn begins a connection, or is seen a second time.
func (t *tap) syn(s *session, dir int, g *segment) {
	f := &s.flows[dir]
	isAnswer := g.flags&flagACK != 0
	if f.known && f.first == g.seq+1 && s.state != stateClosed && !s.isReused(g) {
		return
	}
	if used := f.known || s.state == stateClosed || s.state == stateBlind || s.state == stateReady; used {
		t.end(s)
		s.reset()
		s.began = t.at
	}
	f.begin(g.seq + 1)
	s.client = int8(dir)
	if isAnswer {
		s.client = int8(1 - dir)
		if up := s.up(); !up.known {
			up.begin(g.ack)
		}
	}
	s.isSYN, s.state = true, stateGreet
}

// isReused says whether a SYN with the number of an earlier one begins another
// connection nonetheless: both ends have said goodbye, or it comes much later
// than a copy can.
func (s *session) isReused(g *segment) bool {
	const lateCopy = 3e9
	return s.flows[0].fin && s.flows[1].fin || s.serverSpoke && g.at-s.began > lateCopy
}

// reset makes the session a new one between the same ends.
func (s *session) reset() {
	*s = session{key: s.key, next: s.next, prev: s.prev, client: -1}
}

// reopen says whether a segment behind the end of a connection belongs to
// another one that uses the same ports; else it is a late copy.
func (t *tap) reopen(s *session, dir int, g *segment) bool {
	const window = 1 << 20
	if d := int32(g.seq - s.flows[dir].next); g.size() == 0 || d < window && d > -window {
		return false
	}
	s.reset()
	s.began = t.at
	return true
}

// closing takes in a FIN or RST.
func (t *tap) closing(s *session, dir int, g *segment) {
	f := &s.flows[dir]
	if g.flags&flagRST != 0 {
		if !f.known || !isFar(g.seq, f.next) {
			t.close(s)
		}
		return
	}
	if !f.fin {
		f.fin, f.finSeq = true, g.end()
	}
}

// fins ends a connection of which both ends have said that they are done, when
// everything before that has come.
func (t *tap) fins(s *session) {
	for k := range s.flows {
		f := &s.flows[k]
		if f.known && after(f.finSeq, f.next) {
			return
		}
		f.next = f.finSeq + 1
	}
	t.close(s)
}

// close ends a connection and keeps its place, so that late copies are known.
func (t *tap) close(s *session) {
	s.isOver = true
	t.end(s)
	ends := [2]uint32{s.flows[0].next, s.flows[1].next}
	s.reset()
	s.state = stateClosed
	for k := range ends {
		s.flows[k].next = ends[k]
	}
}

// end accounts for all that a connection leaves unfinished. Nothing may be
// asked of s afterwards but reset.
func (t *tap) end(s *session) {
	if s.isFollowed() {
		t.pump(s, true)
	}
	if s.isFollowed() { // what waited may have shown that it is something else
		t.unfinished(s)
	}
	t.release(s)
	t.settleLoss(s)
}

func (s *session) isFollowed() bool {
	return s.client >= 0 && s.state != stateBlind && s.state != stateClosed
}

// unfinished closes the requests that will have no answer now.
func (t *tap) unfinished(s *session) {
	if s.guess {
		t.note(foreign, 1)
		return
	}
	if up := s.up(); up.packets.began && s.state == stateReady {
		t.note(requestUnfinished, 1)
	}
	if s.state == stateLogin && s.id != 0 {
		t.note(noLogin, 1)
		if s.isOver {
			t.emitAborted(s)
		}
	}
	if s.id != 0 && s.spoke && !s.serverSpoke {
		t.note(oneSided, 1)
	}
	for s.requests.n > 0 {
		t.complete(s, true)
	}
}

// release gives back what a connection holds.
func (t *tap) release(s *session) {
	for k := range s.flows {
		f := &s.flows[k]
		t.mem -= cap(f.packets.kept) + cap(f.zip.kept)
		f.packets, f.zip, f.early = packets{}, zipped{}, nil
	}
	t.mem -= s.waitingMem + s.requests.mem() + s.statementMem
	s.waiting, s.waitingMem, s.requests, s.statements, s.statementMem = 0, 0, queue{}, nil, 0
	s.lastPrepared = nil
}

// blind stops looking at a connection.
func (t *tap) blind(s *session, why reason) {
	t.note(why, 1)
	s.state = stateBlind
	t.release(s)
}

// recognised gives a connection its number, when it is known to be MySQL.
func (t *tap) recognised(s *session) {
	if s.id != 0 {
		return
	}
	t.sum.Sessions++
	s.id = t.sum.Sessions
	s.clientEnd, s.srvEnd = s.key[s.client].String(), s.key[1-s.client].String()
	t.table.learn(s.key[1-s.client])
}
