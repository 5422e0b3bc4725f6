package capture

// statement is a prepared statement of a connection.
type statement struct {
	id     uint32
	text   []byte
	size   int // of the text as it was sent
	isCut  bool
	params int
	types  []byte // two bytes a parameter, as the last execute sent them
	marks  []int  // where text has its placeholders; nil: nobody has asked yet
	long   map[uint16][]byte
	mem    int
}

const (
	// maxStatements is the server's own default limit (max_prepared_stmt_count).
	maxStatements = 16_382
	// maxStatementMemory is for the texts and long values of one connection.
	maxStatementMemory = 4 << 20
	// lastStatement stands for "the one prepared before" (MariaDB 10.2.4).
	lastStatement = 0xffffffff
)

// prepareAnswer reads the server's answer to a prepare: the statement's id and
// how many definitions of parameters and columns follow.
func (t *tap) prepareAnswer(s *session, body []byte) {
	a := &s.ans
	r := reader{d: body[1:]}
	id := uint32(r.number(4))
	cols, params := int(r.number(2)), int(r.number(2))
	if r.isShort {
		t.misfit(s)
		return
	}
	r.bytes(1)
	a.warnings = uint16(r.number(2))
	t.remember(s, id, params)
	if len(r.d) == 1 && r.d[0] == 0 {
		cols, params = 0, 0 // the client does not want them
	}
	if params == 0 {
		params, cols = cols, 0
	}
	if params == 0 {
		t.complete(s, a.isHoled)
		return
	}
	a.phase, a.left, a.moreLeft = definitions, params, cols
}

// definition counts the definitions behind the answer to a prepare. Each of the
// two groups ends with an EOF packet, or with nothing.
func (t *tap) definition(s *session, head byte, size int) {
	a := &s.ans
	isEOF := head == headEOF && size == 5
	if isEOF {
		s.plainEOF = yes
	} else if a.left--; a.left > 0 || s.plainEOF == yes {
		return
	}
	if a.left > 0 {
		return // the EOF of the first group, which nobody announced
	}
	if a.moreLeft > 0 {
		a.left, a.moreLeft = a.moreLeft, 0
		return
	}
	s.tailEOF = !isEOF && s.plainEOF == unknown
	t.complete(s, a.isHoled)
}

// remember keeps the text of the prepare that is being answered.
func (t *tap) remember(s *session, id uint32, params int) {
	q := s.requests.first()
	if old := s.statements[id]; old != nil {
		t.forget(s, old)
	}
	if s.statements == nil {
		s.statements = map[uint32]*statement{}
	}
	if len(s.statements) >= maxStatements {
		t.note(statementDropped, 1)
		s.lastPrepared = nil
		return
	}
	st := &statement{id: id, params: params, size: q.size, isCut: q.cut}
	if s.statementMem+len(q.body) <= maxStatementMemory {
		st.text = append([]byte(nil), q.body...)
	} else {
		st.isCut = true
		t.note(statementDropped, 1)
	}
	s.statements[id], s.lastPrepared = st, st
	t.grow(s, st, len(st.text)+200+8*params) // with the places of its placeholders
}

func (t *tap) grow(s *session, st *statement, n int) {
	st.mem += n
	s.statementMem += n
	t.mem += n
}

func (t *tap) forget(s *session, st *statement) {
	t.grow(s, st, -st.mem)
	delete(s.statements, st.id)
}

func (t *tap) forgetStatements(s *session) {
	t.mem -= s.statementMem
	s.statements, s.statementMem, s.lastPrepared = nil, 0, nil
}

// findStatement tells a request about its prepared statement. It runs when all
// requests before are answered, as the client may name a statement whose id it
// does not know yet.
func (t *tap) findStatement(s *session, q *request) {
	r := reader{d: q.body}
	id := uint32(r.number(4))
	q.statement = s.statements[id]
	if id == lastStatement {
		q.statement = s.lastPrepared
	}
	st := q.statement
	switch {
	case st == nil && (q.cmd == Execute || q.cmd == BulkExecute):
		t.note(preparedBefore, 1)
	case st == nil:
	case q.cmd == LongData:
		t.longData(s, st, uint16(r.number(2)), r.d)
	case q.cmd == ResetStatement:
		t.dropLong(s, st)
	case q.cmd == Execute:
		if !t.o.SkipArgs {
			before := cap(st.types)
			if q.args, t.text = st.decode(q.args[:0], q.body, t.text[:0]); q.cut {
				q.args = q.args[:0]
			}
			t.grow(s, st, cap(st.types)-before)
		}
		t.dropLong(s, st)
	}
}

// longData adds to a value that is sent in pieces before the execute.
func (t *tap) longData(s *session, st *statement, param uint16, d []byte) {
	if int(param) >= st.params {
		return
	}
	if st.long == nil {
		st.long = map[uint16][]byte{}
	}
	if s.statementMem+len(d) > maxStatementMemory {
		t.note(requestCut, 1)
		d = nil
	}
	st.long[param] = append(st.long[param], d...)
	t.grow(s, st, len(d))
}

func (t *tap) dropLong(s *session, st *statement) {
	for _, v := range st.long {
		t.grow(s, st, -len(v))
	}
	st.long = nil
}
