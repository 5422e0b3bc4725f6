package capture

// Capabilities, as in MySQL's mysql_com.h and MariaDB's.
const (
	capConnectWithDB  = 1 << 3
	capCompress       = 1 << 5
	capProtocol41     = 1 << 9
	capSSL            = 1 << 11
	capSecure         = 1 << 15 // the authentication data has one byte of length
	capLengthAuth     = 1 << 21 // or a length of the protocol's own encoding
	capDeprecateEOF   = 1 << 24
	capZstd           = 1 << 26
	capQueryAttrs     = 1 << 27
	capEverything     = 1<<32 - 1
	loginHead         = 32
	sslRequestMaxSize = loginHead
)

// greeting reads the server's first packet.
func (t *tap) greeting(s *session, body []byte, size int, at int64) {
	if isRefusal(body) {
		t.refused(s, body, size, at)
		return
	}
	if !isGreetingBody(body, size) {
		t.blind(s, foreign)
		return
	}
	t.recognised(s)
	s.state = stateLogin
	r := reader{d: body}
	r.number(1)
	r.zero()           // version
	r.bytes(4 + 8 + 1) // connection, first half of the challenge, filler
	s.caps = r.number(2)
	r.bytes(1 + 2)
	s.caps |= r.number(2) << 16
	if r.isShort {
		s.caps = capEverything
	}
}

// refused is an error in the place of a greeting, or of the answer to a login
// that was none.
func (t *tap) refused(s *session, body []byte, size int, at int64) {
	t.recognised(s)
	s.state = stateReady
	s.up().packets.reset()
	q := t.push(s)
	q.cmd, q.at, q.sent = Connect, at, 0
	t.start(s)
	s.ans.first, s.ans.last, s.ans.bytes = at, at, uint64(size+headSize)
	t.answer(s, body, size)
}

// login reads the client's first packet.
func (t *tap) login(s *session, p *packets, at int64) {
	body := p.body
	if s.caps == 0 {
		s.caps = capEverything // the greeting was not captured
	}
	r := reader{d: body}
	caps := r.number(2)
	if caps&capProtocol41 != 0 {
		caps |= r.number(2) << 16
	}
	if caps&capSSL != 0 && p.size <= sslRequestMaxSize {
		t.recognised(s)
		t.blindTLS(s)
		return
	}
	var user, db []byte
	if caps&capProtocol41 == 0 {
		r.bytes(3)
		user = r.zero()
		r.zero()
		db = r.zero()
	} else {
		r.bytes(loginHead - 4)
		user = r.zero()
		switch {
		case caps&capLengthAuth != 0:
			r.string()
		case caps&capSecure != 0:
			r.bytes(int(r.number(1)))
		default:
			r.zero()
		}
		if caps&capConnectWithDB != 0 {
			db = r.zero()
		}
	}
	t.recognised(s)
	both := caps & s.caps
	if s.caps != capEverything {
		s.plainEOF = claim(both&capDeprecateEOF == 0)
		s.attrs = claim(both&capQueryAttrs != 0)
	}
	s.state = stateReady
	s.user, s.db = string(user), string(db)
	q := t.push(s)
	q.cmd, q.at, q.sent, q.cut = Connect, p.firstAt, at, p.cut
	if both&capCompress != 0 {
		q.zip = zipDeflate
	} else if both&capZstd != 0 {
		q.zip = zipZstd
	}
	t.startIfFirst(s)
}

func (t *tap) blindTLS(s *session) {
	t.sum.TLS++
	t.blind(s, encrypted)
}

// loggedIn switches to what the login agreed on.
func (t *tap) loggedIn(s *session, zip zipKind) {
	switch zip {
	case zipDeflate:
		t.sum.Compressed++
		s.compress = true
	case zipZstd:
		t.sum.Compressed++
		t.blind(s, zstdCompressed)
	}
}

// loginAnswer follows the rounds of authentication to the OK.
func (t *tap) loginAnswer(s *session, head byte) {
	if head != headOK {
		return // another method is asked for, or more data
	}
	zip := s.requests.first().zip
	t.complete(s, s.ans.isHoled)
	t.loggedIn(s, zip)
}

func (s *session) changeUser(body []byte) {
	r := reader{d: body}
	user := r.zero()
	r.bytes(int(r.number(1)))
	s.user = string(user)
	s.setDB(r.zero())
}
