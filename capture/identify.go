package capture

// maxTries is how many segments of a connection are looked at before it is
// taken for something else.
const maxTries = 16

// identify finds out who is the client of a connection whose beginning is not
// in the capture, from what the segment holds.
func (t *tap) identify(s *session, dir int, g *segment) bool {
	if s.state == stateBlind {
		return false
	}
	isFromServer, isFromClient := t.isServer(&s.key[dir]), t.isServer(&s.key[1-dir])
	isHinted := isFromServer != isFromClient
	switch {
	case isGreeting(g.data):
		t.joined(s, 1-dir, dir, g, stateGreet)
		return true
	case isHinted && isFromServer:
		// A hint says who is the server; what it says now has its request
		// before the capture.
		t.joined(s, 1-dir, dir, g, stateReady)
		s.down().isLost, s.up().isLost = true, true
		return true
	case isHinted && isTLS(g.data):
		t.recognise(s, dir)
		t.blindTLS(s)
		return false
	case isHinted && isLogin(g.data, g.size()):
		t.joined(s, dir, dir, g, stateLogin)
		return true
	case isHinted:
		t.joined(s, dir, dir, g, stateReady)
		s.up().isLost = true
		return true
	case beginsCommand(g.data, g.size(), minFullSegment) && Command(g.data[headSize]).isTelling(),
		isZippedCommand(g.data, g.size()):
		t.joined(s, dir, dir, g, stateReady)
		s.up().isLost, s.guess = true, true
		return true
	}
	if s.tries++; s.tries >= maxTries {
		t.blind(s, foreign)
	}
	return false
}

func (t *tap) recognise(s *session, client int) {
	s.client = int8(client)
	t.recognised(s)
}

// joined takes up a connection in its middle, at a segment from the given end.
func (t *tap) joined(s *session, client, from int, g *segment, at state) {
	s.client, s.state = int8(client), at
	s.flows[from].begin(g.seq)
	if g.flags&flagACK != 0 {
		s.flows[1-from].begin(g.ack)
	}
}

// isTelling says whether a command is long enough to be told from chance.
func (c Command) isTelling() bool {
	return c == Query || c == Prepare || c == Execute || c == InitDB || c == Ping
}

// isGreeting knows the first packet of a server.
func isGreeting(d []byte) bool {
	return len(d) >= 20 && d[2] == 0 && d[3] == 0 && isGreetingBody(d[headSize:], 0)
}

// isGreetingBody knows the body of it: protocol 10 (or 9, before 3.21), a
// version in readable characters that ends in a zero byte. Of one that was cut
// off, as far as it goes.
func isGreetingBody(body []byte, size int) bool {
	if len(body) < 2 || body[0] != 10 && body[0] != 9 || body[1] < '0' || body[1] > '9' {
		return false
	}
	for i, c := range body[1:] {
		if c == 0 {
			return i >= 3
		}
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(body) < size
}

// isRefusal knows an error instead of a greeting.
func isRefusal(body []byte) bool {
	if len(body) < 3 || body[0] != 0xff {
		return false
	}
	code := le.Uint16(body[1:])
	return code >= 1000 && code < 5000
}

// isLogin knows the client's first packet: number 1, at least 32 bytes, of
// which 23 (19 with MariaDB's own capabilities) are zero.
func isLogin(d []byte, size int) bool {
	if len(d) < headSize+32 || d[3] != 1 || d[2] != 0 || uint24(d)+headSize != size || le.Uint16(d[4:])&capProtocol41 == 0 {
		return false
	}
	for _, c := range d[headSize+9 : headSize+28] {
		if c != 0 {
			return false
		}
	}
	return true
}

// beginsCommand says whether a segment of a client begins with a command: number
// 0, a code, a body that fits both the code and the segment. A command that is
// longer than a segment fills at least least bytes of it.
func beginsCommand(d []byte, size, least int) bool {
	for len(d) > headSize && d[3] == 0 {
		n := uint24(d)
		c := Command(d[headSize])
		if n == 0 || !c.fits(d[headSize:min(len(d), headSize+n)], n) {
			return false
		}
		switch rest := size - headSize - n; {
		case rest == 0:
			return true
		case rest < 0:
			return size >= least && (c == Query || c == Prepare || c == Execute || c == LongData || c == BulkExecute)
		case headSize+n > len(d):
			return false
		default: // something stands behind it: that must be a command as well
			d, size = d[headSize+n:], rest
		}
	}
	return false
}

// minFullSegment is the smallest size of segments that a longer request is cut
// into: the smallest that IPv4 hosts must take, less headers.
const minFullSegment = 536 - 40

// isTLS knows the beginning of a TLS record: handshake or data, version 3.x.
func isTLS(d []byte) bool {
	return len(d) >= 5 && d[0] >= 0x14 && d[0] <= 0x17 && d[1] == 3 && d[2] <= 4
}
