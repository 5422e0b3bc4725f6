package capture

// fromServer takes in what a server sent, in order.
func (t *tap) fromServer(s *session, g *segment) {
	s.serverSpoke, s.spokeLast = true, false
	down := s.down()
	if down.isLost {
		isLater := g.flags&flagACK != 0 && after(g.ack, s.sentUpTo) // it answers a request that was lost
		if s.requests.n > 0 && s.ans.first != 0 && !isLater {
			s.ans.last = g.at
			s.ans.bytes += uint64(g.size())
		}
		return
	}
	if s.compress {
		t.unzipFromServer(s, g.data, g.at)
	} else {
		t.serverBytes(s, g.data, g.at, g.at)
	}
	if g.missing > 0 && s.state != stateBlind && s.client >= 0 {
		if s.requests.n > 0 {
			s.ans.last = g.at
		}
		t.serverGap(s, g.missing)
	}
}

// serverBytes takes packets out of the stream; first and at are the times of
// the first and last of the bytes.
func (t *tap) serverBytes(s *session, d []byte, first, at int64) {
	p, isZipped := &s.down().packets, s.compress
	for len(d) > 0 {
		if s.requests.n > 0 {
			if s.ans.first == 0 {
				s.ans.first = first
			}
			s.ans.last = at
			if s.ans.phase == rows && !p.began {
				n := s.ans.skipRows(d)
				s.ans.bytes += uint64(n)
				if d = d[n:]; len(d) == 0 {
					return
				}
			}
		}
		before := cap(p.kept)
		rest, done := p.next(d, first, keepAnswer)
		t.mem += cap(p.kept) - before
		if s.requests.n > 0 {
			s.ans.bytes += uint64(len(d) - len(rest))
		}
		if !done {
			if s.state == stateGreet && p.heads == headSize && (p.seq != 0 || p.size > keepAnswer) {
				t.blind(s, foreign)
			}
			return
		}
		t.serverPacket(s, p, at)
		if s.state == stateBlind || s.client < 0 || s.down().isLost {
			return
		}
		d, first = rest, at
		if s.compress != isZipped {
			t.unzipFromServer(s, d, at)
			return
		}
	}
}

// skipRows steps over the rows that are in d from head to end: the most common
// packets by far.
func (a *answer) skipRows(d []byte) (n int) {
	for len(d)-n > headSize {
		size := uint24(d[n:])
		if c := d[n+headSize]; c >= headEOF || size == fullBody || size == 0 || len(d)-n < headSize+size {
			break
		}
		n += headSize + size
		a.rows++
	}
	return n
}

// serverGap steps over bytes of a server that nobody saw.
func (t *tap) serverGap(s *session, n int) {
	down := s.down()
	if s.requests.n > 0 && s.ans.first != 0 {
		s.ans.bytes += uint64(n)
	}
	if down.isLost {
		return
	}
	if s.compress {
		down.zip.reset()
	} else if done, ok := down.packets.gap(n); ok {
		if done {
			t.serverPacket(s, &down.packets, t.at)
		}
		return
	}
	t.loseAnswer(s)
	if s.state == stateGreet {
		s.state = stateLogin
	}
}

// loseAnswer gives up to follow an answer; the next request begins another.
func (t *tap) loseAnswer(s *session) {
	s.ans.isHoled = true
	s.down().isLost = true
	s.down().packets.reset()
}

// serverPacket takes in one packet of a server.
func (t *tap) serverPacket(s *session, p *packets, at int64) {
	body, size := p.body, p.size
	if s.state == stateGreet {
		t.greeting(s, body, size, at)
		return
	}
	if s.state == stateLogin {
		if isRefusal(body) {
			t.refused(s, body, size, at)
			return
		}
		t.note(oddPacket, 1)
		return
	}
	if s.tailEOF {
		s.tailEOF = false
		if size == 5 && len(body) > 0 && body[0] == headEOF && p.seq > 1 {
			s.plainEOF = yes
			s.ans.first, s.ans.bytes = 0, 0
			return
		}
	}
	if len(body) == 0 {
		if size == 0 {
			t.misfit(s)
		} else {
			t.loseAnswer(s) // cut off by the capture
		}
		return
	}
	if s.requests.n == 0 {
		t.unasked(s, p, at)
		return
	}
	q := s.requests.first()
	isFirst := s.ans.phase == q.cmd.firstPhase() && s.ans.bytes == uint64(size+headSize)
	if isFirst && p.seq != 1 && q.cmd != Connect && q.size < fullBody-1 && !s.compress {
		t.misfit(s)
		return
	}
	if !t.believed(s, body, size) {
		return
	}
	if p.cut && len(body) < min(size, 64) && s.ans.phase != rows && s.ans.phase != columns {
		s.ans.isHoled = true
	}
	t.answer(s, body, size)
}

// misfit is a packet that is not the beginning of an answer where one must be.
func (t *tap) misfit(s *session) {
	if !s.guess {
		t.note(oddPacket, 1)
		t.loseAnswer(s)
		s.ans.first = 0
		return
	}
	// What looked like a command was none.
	tries := s.tries + maxTries/4
	t.release(s)
	s.reset()
	if s.tries = tries; s.tries >= maxTries {
		t.blind(s, foreign)
	}
}

// believed says whether a connection is MySQL, now that an answer is there.
func (t *tap) believed(s *session, body []byte, size int) bool {
	if !s.guess {
		return true
	}
	if !s.confirm(body, size) {
		t.misfit(s)
		return false
	}
	s.guess = false
	t.recognised(s)
	return true
}

// confirm says whether an answer fits the command that a connection was
// recognised by.
func (s *session) confirm(body []byte, size int) bool {
	switch c := body[0]; {
	case c == headOK:
		return size >= 7
	case c == headError:
		return isRefusal(body) || len(body) > 2 && le.Uint16(body[1:]) == codeProgress
	case c == headEOF:
		return size == 5
	case s.requests.first().cmd == Query || s.requests.first().cmd == Execute:
		return size <= 4 || c == headFile
	}
	return false
}

// unasked is a packet of a server that nobody asked anything.
func (t *tap) unasked(s *session, p *packets, at int64) {
	if up := s.up(); up.packets.began && p.seq == 1 {
		// It answers what we take for unfinished: its end was lost, or it is
		// longer than the server takes.
		up.packets.isHoled = true
		t.loseRequest(s)
		up.isLost = true
		up.packets.reset()
		if s.requests.n > 0 {
			s.ans.first, s.ans.last, s.ans.bytes = p.firstAt, at, uint64(p.size+headSize)
			if t.believed(s, p.body, p.size) {
				t.answer(s, p.body, p.size)
			}
			return
		}
	}
	if p.seq == 0 && len(p.body) > 0 && p.body[0] == headError {
		t.note(oddPacket, 1) // the server says goodbye: timed out, killed, shut down
		return
	}
	t.note(noRequest, 1)
	t.loseAnswer(s)
	s.ans = answer{}
}
