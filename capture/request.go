package capture

import "bytes"

// request is one command that waits for its answer.
type request struct {
	cmd       Command
	at, sent  int64 // times of its first and last segment; sent is 0 if the last was not seen
	offset    int64 // in the file, of the packet that completed it
	size      int   // of the body behind the command byte
	cut       bool  // body is not all of it
	isHoled   bool  // some of it was lost
	zip       zipKind
	body      []byte // behind the command byte
	attrs     int    // bytes of query attributes that stood in front of the statement
	statement *statement
	args      []Value
}

// queue holds the requests of a connection in the order of sending; almost
// always there is one. Their memory is used again.
type queue struct {
	ring    []request
	head, n int
}

// maxPending is how many requests may be on their way. MariaDB's connectors
// send some hundreds of statements without waiting, if asked to.
const maxPending = 1024

func (q *queue) first() *request { return &q.ring[q.head] }
func (q *queue) last() *request  { return &q.ring[(q.head+q.n-1)%len(q.ring)] }

func (q *queue) push() *request {
	if q.n == len(q.ring) {
		ring := make([]request, max(1, 2*len(q.ring)))
		for k := range q.n {
			ring[k] = q.ring[(q.head+k)%len(q.ring)]
		}
		q.ring, q.head = ring, 0
	}
	r := &q.ring[(q.head+q.n)%len(q.ring)]
	q.n++
	*r = request{body: r.body[:0], args: r.args[:0]}
	return r
}

func (q *queue) pop() {
	q.head = (q.head + 1) % len(q.ring)
	q.n--
}

func (q *queue) mem() (sum int) {
	for k := range q.ring {
		sum += cap(q.ring[k].body)
	}
	return sum
}

// push makes room for a request.
func (t *tap) push(s *session) *request {
	if s.requests.n >= maxPending {
		t.note(tooDeep, 1)
		t.complete(s, true)
	}
	q := s.requests.push()
	q.offset = t.offset
	return q
}

// fromClient takes in what a client sent, in order.
func (t *tap) fromClient(s *session, g *segment) {
	isTurn := !s.spokeLast
	s.spoke, s.spokeLast = true, true
	up := s.up()
	if s.state == stateGreet && !isLogin(g.data, g.size()) {
		return // a proxy's line, or a client of something else: the server's answer will tell
	}
	if t.missedLogin(s, g); s.state == stateBlind {
		return
	}
	if up.isLost && !t.rejoin(s, g, isTurn) {
		if g.size() > 0 && !s.guess {
			t.note(lostFromClient, uint64(g.size()))
		}
		return
	}
	// Where no answer is on its way and the client has everything the server
	// sent, the server's next byte begins an answer.
	if down := s.down(); !up.packets.began && (!down.known || down.isLost && g.flags&flagACK != 0 && g.ack == down.next) {
		for s.requests.n > 0 && !s.guess {
			t.complete(s, true)
		}
		down.isLost = false
		down.packets.reset()
		down.zip.reset()
	}
	if s.compress {
		t.unzipFromClient(s, g.data, g.at)
	} else {
		t.clientBytes(s, g.data, g.at, g.at)
	}
	if g.missing > 0 && s.state != stateBlind {
		t.clientGap(s, g.missing, g.at)
	}
}

// missedLogin notices that a client continues with commands while the server's OK
// to its login was lost: from there on the protocol is the one they agreed on.
func (t *tap) missedLogin(s *session, g *segment) {
	if s.requests.n == 0 || !s.down().isLost || s.up().packets.began || len(g.data) < headSize || g.data[3] != 0 {
		return
	}
	if q := s.requests.first(); q.cmd == Connect && q.zip != zipNone {
		zip := q.zip
		t.complete(s, true)
		t.loggedIn(s, zip)
	}
}

// rejoin says whether a command begins with a segment, after bytes were lost.
func (t *tap) rejoin(s *session, g *segment, isTurn bool) bool {
	up, least := s.up(), minFullSegment
	if isTurn && (s.id != 0 || t.isServer(&s.key[1-s.client])) {
		least = headSize + 2 // what a client says after the server has spoken is the beginning of something
	}
	switch {
	case s.compress && isZippedCommand(g.data, g.size()):
	case s.compress:
		return false
	case beginsCommand(g.data, g.size(), least):
	case s.state == stateLogin && isLogin(g.data, g.size()):
	case isZippedCommand(g.data, g.size()):
		s.compress = true
		t.sum.Compressed++
	default:
		if s.guess {
			s.tries++
		}
		return false
	}
	if s.state == stateGreet || s.state == stateLogin && g.data[3] == 0 {
		s.state = stateReady
	}
	if s.state == stateReady && !s.guess {
		t.recognised(s)
	}
	up.isLost = false
	up.packets.reset()
	up.zip.reset()
	s.down().isLost = true // until fromClient sees that an answer begins here
	return true
}

// clientBytes takes packets out of the stream. at is the time of the last of
// the bytes, first that of the first.
func (t *tap) clientBytes(s *session, d []byte, first, at int64) {
	p := &s.up().packets
	for len(d) > 0 {
		before := cap(p.kept)
		rest, done := p.next(d, first, t.o.MaxQuery+1)
		t.mem += cap(p.kept) - before
		if !done {
			return
		}
		t.clientPacket(s, p, at)
		t.shrink(p)
		if s.state == stateBlind || s.up().isLost {
			return
		}
		d, first = rest, at
	}
}

// idleMemory is what a connection may keep between requests.
const idleMemory = 16 << 10

func (t *tap) shrink(p *packets) {
	if cap(p.kept) > idleMemory && !p.began {
		t.mem -= cap(p.kept)
		p.kept = nil
	}
}

// clientGap steps over bytes of a client that nobody saw. at is when they were
// sent, 0 if they were lost.
func (t *tap) clientGap(s *session, n int, at int64) {
	up := s.up()
	if up.isLost || s.state == stateBlind {
		return
	}
	p := &up.packets
	if s.compress {
		up.zip.reset()
	} else if done, ok := p.gap(n); ok {
		p.isHoled = p.isHoled || at == 0
		if done {
			t.clientPacket(s, p, at)
		}
		return
	}
	if s.state == stateReady {
		p.isHoled = p.isHoled || at == 0
		t.loseRequest(s)
	}
	up.isLost = true
	p.reset()
}

// loseRequest makes an event of a request whose end will never be seen.
func (t *tap) loseRequest(s *session) {
	p := &s.up().packets
	if !p.began || p.heads < headSize || p.seq != 0 || len(p.kept) == 0 || s.ans.phase == sendFile {
		return
	}
	p.cut, p.body, p.began = true, p.kept, false
	if s.state == stateReady && Command(p.body[0]).fits(p.body, p.size) {
		t.command(s, p, 0)
	}
}

// clientPacket takes in one packet of a client.
func (t *tap) clientPacket(s *session, p *packets, at int64) {
	switch s.state {
	case stateGreet, stateLogin:
		if p.seq == 1 {
			t.login(s, p, at)
			return
		}
		t.note(oddPacket, 1)
		return
	}
	if s.requests.n > 0 && s.ans.phase == sendFile {
		if p.size == 0 {
			s.ans.phase = fileSent
		}
		return
	}
	if p.seq != 0 { // rounds of authentication
		if s.requests.n == 0 || s.requests.last().cmd != Connect && s.requests.last().cmd != ChangeUser {
			t.note(oddPacket, 1)
		}
		return
	}
	if p.size == 0 || len(p.body) == 0 {
		t.note(oddPacket, 1)
		return
	}
	t.command(s, p, at)
}

// command takes in one command.
func (t *tap) command(s *session, p *packets, at int64) {
	cmd := Command(p.body[0])
	if cmd.isReplication() {
		t.unfinished(s)
		t.recognised(s)
		t.blind(s, replication)
		return
	}
	if s.guess && s.requests.n >= 2 && cmd.fits(p.body, p.size) {
		s.guess = false // three commands in a row are no chance
		t.recognised(s)
	}
	s.sentUpTo = s.up().next
	q := t.push(s)
	q.cmd, q.at, q.sent, q.size, q.cut = cmd, p.firstAt, at, p.size-1, p.cut
	q.isHoled = p.isHoled
	before := cap(q.body)
	q.body = append(q.body, p.body[1:]...)
	t.mem += cap(q.body) - before
	if p.cut || len(q.body) > t.o.MaxQuery {
		q.cut = true
		q.body = q.body[:min(len(q.body), t.o.MaxQuery)]
		t.note(requestCut, 1)
	}
	t.startIfFirst(s)
}

func (t *tap) startIfFirst(s *session) {
	if s.requests.n == 1 {
		t.start(s)
	}
}

// start makes the first request of the queue the one that is being answered.
func (t *tap) start(s *session) {
	for s.requests.n > 0 {
		q := s.requests.first()
		s.ans = answer{phase: q.cmd.firstPhase(), results: s.ans.results[:0]}
		switch q.cmd {
		case Execute, BulkExecute, Fetch, ResetStatement, CloseStatement, LongData:
			t.findStatement(s, q)
		case Query:
			text := s.stripAttributes(q.body, q.cut)
			q.attrs = len(q.body) - len(text)
			q.body = q.body[:copy(q.body, text)]
		}
		if q.cmd.hasAnswer() {
			return
		}
		t.emit(s, false)
		if q.cmd == CloseStatement && q.statement != nil {
			t.forget(s, q.statement)
		}
		t.pop(s)
	}
}

// complete makes an event of the first request and goes on to the next.
func (t *tap) complete(s *session, isIncomplete bool) {
	t.emit(s, isIncomplete)
	if q := s.requests.first(); !isIncomplete && s.ans.code == 0 {
		t.settle(s, q)
	}
	t.pop(s)
	t.start(s)
}

// settle is what a command that succeeded means for the next ones.
func (t *tap) settle(s *session, q *request) {
	if s.ans.db != nil {
		defer s.setDB([]byte(*s.ans.db))
	}
	switch q.cmd {
	case InitDB:
		s.setDB(q.body)
	case Query:
		if db := useDB(q.body); len(db) > 0 {
			s.setDB(db)
		}
	case ChangeUser:
		s.changeUser(q.body)
		t.forgetStatements(s)
	case ResetConnection:
		t.forgetStatements(s)
	}
}

// pop removes the first request, and its memory if that is much.
func (t *tap) pop(s *session) {
	q := s.requests.first()
	q.statement = nil
	if cap(q.args) > 256 {
		q.args = nil
	}
	if cap(q.body) > idleMemory {
		t.mem -= cap(q.body)
		q.body = nil
	}
	s.requests.pop()
	if cap(s.ans.results) > 16 {
		s.ans.results = nil
	}
	s.ans = answer{results: s.ans.results[:0]}
}

// useDB is the database that a statement "USE name" names; empty for all other
// statements.
func useDB(text []byte) []byte {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	if len(text) < 5 || text[0]|0x20 != 'u' || text[1]|0x20 != 's' || text[2]|0x20 != 'e' || !isBlank(text[3]) && text[3] != '`' {
		return nil
	}
	text = bytes.Trim(text[3:], " \t\r\n;")
	if len(text) > 2 && text[0] == '`' && text[len(text)-1] == '`' {
		text = bytes.ReplaceAll(text[1:len(text)-1], []byte("``"), []byte("`"))
	}
	if len(text) > 4*64 {
		return nil
	}
	return text
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
