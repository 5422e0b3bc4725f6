package digest

// connState is how far a connection has come.
type connState byte

const (
	connFresh      connState = iota // nothing is known
	connGreeted                     // the server has greeted
	connAuth                        // the client has said who it is
	connReady                       // the server waits for a command
	connWaiting                     // the client waits for an answer
	connUnreadable                  // encrypted, compressed or not MySQL
)

// conn is one connection.
type conn struct {
	began  int64  // time of the first packet
	seen   uint64 // number of the last packet
	state  connState
	client endpoint
	known  bool // which end is the client
	fins   int
	closed bool
	strays int // segments that made no sense so far

	up, down flow // from the client, from the server

	user, host, db, nextDB name
	compress               bool   // the compressed protocol is spoken once the login is done
	wrapped                []byte // of a compressed packet that is not complete

	buf     []byte // of a command that is not complete
	skip    int    // bytes of client data to step over
	lost    bool   // client data was lost: wait for what looks like a command
	cmd     byte
	text    []byte
	cut     bool // the text is not complete
	sent    int64
	offset  int64
	prepare []byte
	stmts   map[uint32][]byte
}

func (k *conn) active() bool { return k.state != connFresh || len(k.buf) > 0 || k.up.known }

// setClient takes the direction from a SYN, and the numbers at which both streams begin.
func (k *conn) setClient(client endpoint, s *segment) {
	if !k.known {
		k.client, k.known = client, true
		addr := client.addr.String()
		k.host = named1([]byte(addr))
	}
	f := &k.up
	if s.src != client {
		f = &k.down
	}
	if !f.known {
		f.known, f.next = true, s.seq+1
	}
}

// payload takes in a segment with data.
func (c *capture) payload(k *conn, s *segment) {
	if k.state == connUnreadable {
		return
	}
	if !k.known && !c.identify(k, s) {
		if k.strays++; k.strays > 8 {
			k.state = connUnreadable
			c.in.note("connection that does not speak the MySQL protocol, or none of whose commands is in the capture", c.offset)
		}
		return
	}
	if s.src == k.client {
		c.fromClient(k, s)
	} else {
		c.fromServer(k, s)
	}
}

func (c *capture) fromClient(k *conn, s *segment) {
	if k.state == connWaiting && len(k.down.early) > 0 {
		k.down.skipTo(func(at int64, data []byte, missing, gap int) { c.answer(k, at, data, gap) })
	}
	f := &k.up
	if misfit := f.known && s.seq != f.next; misfit && len(k.buf) == 0 && !f.marked(s.seq) && k.wholeCommand(s) {
		if gap := f.jump(s.seq); gap > 0 {
			c.in.skip("lost segment of a client", c.offset, int64(gap))
		}
	}
	if len(k.buf) == 0 {
		f.mark(s.seq)
	}
	f.arrive(s, func(at int64, data []byte, missing, gap int) { c.command(k, at, data, missing, gap) })
}

// wholeCommand says whether a segment is a command, from its first byte to its last, at a time when one can come.
func (k *conn) wholeCommand(s *segment) bool {
	size := len(s.data) + s.missing
	switch k.state {
	case connReady:
	case connWaiting:
		if int32(s.seq-k.up.next) < 0 {
			return false
		}
	default:
		return false
	}
	if k.compress {
		return isWrappedCommand(s.data, size)
	}
	return isCommand(s.data, size) && packetLength(s.data)+4 == size
}

func (c *capture) fromServer(k *conn, s *segment) {
	f := &k.down
	if k.state == connReady && len(k.buf) > 0 && len(s.data) > 4 && s.data[3] == 1 {
		c.completeCommand(k)
		if k.state == connReady && len(k.buf) > 0 { // answered, so a piece of it is not in the capture
			c.in.skip("query with a lost piece", k.offset, int64(len(k.buf)))
			k.buf, k.skip, k.lost = k.buf[:0], 0, true
			k.up.known, k.up.early = false, nil
		}
	}
	if misfit := f.known && s.seq != f.next; misfit && !f.marked(s.seq) && k.beginsAnswer(s) {
		if gap := f.jump(s.seq); gap > 0 {
			c.in.skip("lost segment of a server", c.offset, int64(gap))
		}
	}
	if k.state == connWaiting || k.state == connAuth {
		f.mark(s.seq)
	}
	f.arrive(s, func(at int64, data []byte, missing, gap int) { c.answer(k, at, data, gap) })
}

// beginsAnswer says whether a segment begins with the first packet of an answer, at a time when one can come.
func (k *conn) beginsAnswer(s *segment) bool {
	d := s.data
	if len(d) < 5 {
		return false
	}
	switch k.state {
	case connFresh:
		return isGreeting(d)
	case connAuth:
		return d[3] >= 2 && d[2] == 0
	case connWaiting:
		d = k.peel(d)
		return len(d) >= 5 && d[3] == 1 && packetLength(d) > 0
	}
	return false
}

// completeCommand puts the pieces of a command together that the server has answered, when what is missing is as long as
// what came out of order: then nothing is lost, only the numbers are wrong.
func (c *capture) completeCommand(k *conn) {
	if len(k.buf) < 4 || len(k.up.early) == 0 {
		return
	}
	have := len(k.buf) - 4
	for _, s := range k.up.early {
		have += len(s.data) + s.missing
	}
	if have != packetLength(k.buf) {
		return
	}
	early := k.up.early
	k.up.early = nil
	for _, s := range early {
		k.up.next = s.seq + uint32(len(s.data)+s.missing)
		c.command(k, s.at, s.data, s.missing, 0)
	}
}

// identify finds out who is the client of a connection whose beginning was not captured.
func (c *capture) identify(k *conn, s *segment) bool {
	switch {
	case isGreeting(s.data):
		k.setClient(s.dst, &segment{src: s.dst, seq: s.ack - 1})
	case isCommand(s.data, len(s.data)+s.missing):
		k.setClient(s.src, &segment{src: s.src, seq: s.seq - 1})
		k.state = connReady
	case isWrappedCommand(s.data, len(s.data)+s.missing):
		k.setClient(s.src, &segment{src: s.src, seq: s.seq - 1})
		k.state, k.compress = connReady, true
	default:
		return false
	}
	return true
}

// closing takes in a FIN or RST.
func (c *capture) closing(k *conn, s *segment) {
	if s.flags&tcpRst != 0 {
		k.fins = 2
	}
	k.fins++
	if k.state == connGreeted && k.known && s.src == k.client {
		c.connected(k, s.at, true) // the client went away without a word
		k.state = connFresh
	}
	if k.fins >= 2 {
		c.end(k)
		k.closed = true
	}
}

// end accounts for what a connection leaves unfinished.
func (c *capture) end(k *conn) {
	if k.state == connWaiting && len(k.down.early) > 0 {
		k.down.skipTo(func(at int64, data []byte, missing, gap int) { c.answer(k, at, data, gap) })
	}
	if k.state == connWaiting {
		c.in.skip("query whose answer is not in the capture", k.offset, int64(len(k.text)))
	}
	k.state = connFresh
}

// isGreeting knows the first packet of a server: number 0, protocol 10, a version that ends in a zero byte.
func isGreeting(d []byte) bool {
	if len(d) < 20 || d[3] != 0 || d[4] != 10 || d[2] != 0 {
		return false
	}
	for i, c := range d[5:] {
		if c == 0 {
			return i >= 3
		}
		if c < ' ' || c > '~' {
			return false
		}
	}
	return false
}

// isCommand says whether client data begins with a command: number 0, a length that fits, a code with what belongs to it.
func isCommand(d []byte, size int) bool {
	if len(d) < 5 || d[3] != 0 {
		return false
	}
	n := packetLength(d)
	if n < 1 || n+4 < size && d[4] != comStmtClose && d[4] != comLongData {
		return false
	}
	switch d[4] {
	case comQuit, comPing, comStatistics, comProcessInfo, comDebug:
		return n == 1
	case comStmtClose, comStmtReset:
		return n == 5
	case comStmtExecute:
		return n >= 10
	case comLongData:
		return n >= 7
	case comInitDB, comQuery, comStmtPrepare:
		return n > 1 && len(d) > 5 && (d[5] >= ' ' || isBlank(d[5]))
	case comChangeUser:
		return n > 3
	}
	return d[4] <= comResetConnection && n <= 64
}

func packetLength(d []byte) int { return int(d[0]) | int(d[1])<<8 | int(d[2])<<16 }
