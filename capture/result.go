package capture

// phase is what the server's next packet is.
type phase uint8

const (
	nothing     phase = iota
	firstPacket       // of an answer, or of its next result
	columns           // definitions of columns
	afterColumns
	rows
	onePacket  // an OK, an EOF or an error
	textPacket // of statistics
	prepared   // the answer to a prepare
	definitions
	fieldList
	loginPacket
	sendFile // the client sends a file
	fileSent
)

func (c Command) firstPhase() phase {
	switch c {
	case Query, Execute, BulkExecute, ProcessInfo:
		return firstPacket
	case Prepare:
		return prepared
	case Statistics:
		return textPacket
	case FieldList:
		return fieldList
	case Fetch:
		return rows
	case Connect, ChangeUser:
		return loginPacket
	}
	return onePacket
}

// answer is what the server has said so far to the first request.
type answer struct {
	phase    phase
	isHoled  bool // some of it was not seen
	left     int  // definitions to come
	moreLeft int  // and behind them, for a prepare
	bytes    uint64
	db       *string // the server told that this is the database now
	result
	results []result // the earlier ones, if there are several
}

// result is one of an answer.
type result struct {
	rows, affected uint64
	warnings       uint16
	code           uint16
	text           []byte // of an error; valid during the call
	first, last    int64
	upTo           uint64 // bytes of the answer up to its end
}

// Server status, as in mysql_com.h.
const (
	statusMoreResults  = 1 << 3
	statusCursorExists = 1 << 6
	statusTracked      = 1 << 14
)

const (
	headOK    = 0x00
	headFile  = 0xfb
	headEOF   = 0xfe
	headError = 0xff
)

// codeProgress marks MariaDB's progress reports, which look like errors.
const codeProgress = 0xffff

// keepAnswer is how much of an answer's packets is looked at.
const keepAnswer = 1 << 10

// answer takes in one packet of the answer to the first request.
func (t *tap) answer(s *session, body []byte, size int) {
	a := &s.ans
	head := body[0]
	if head == headError {
		t.answerError(s, body)
		return
	}
	switch a.phase {
	case firstPacket:
		t.firstOfResult(s, body, size)
	case columns:
		if a.left--; a.left <= 0 {
			a.phase = afterColumns
		}
	case afterColumns:
		a.phase = rows
		if head == headEOF && size == 5 {
			r := reader{d: body[1:]}
			a.warnings = uint16(r.number(2))
			if s.plainEOF = yes; r.number(2)&statusCursorExists != 0 {
				t.resultEnds(s, 0)
			}
			return
		}
		t.row(s, body, size)
	case rows:
		t.row(s, body, size)
	case onePacket, fileSent:
		t.okOrEOF(s, body, size)
	case textPacket:
		t.complete(s, false)
	case prepared:
		t.prepareAnswer(s, body)
	case definitions:
		t.definition(s, head, size)
	case fieldList:
		if head == headEOF {
			t.complete(s, false)
		}
	case loginPacket:
		t.loginAnswer(s, head)
	default:
		t.note(oddPacket, 1)
	}
}

// firstOfResult is an OK, the request for a file, or the number of columns,
// perhaps with a byte that says whether their definitions follow: behind it in
// MariaDB, before it in MySQL.
func (t *tap) firstOfResult(s *session, body []byte, size int) {
	a := &s.ans
	switch {
	case body[0] == headOK && size >= 7 || body[0] == headEOF:
		t.okOrEOF(s, body, size)
		return
	case body[0] == headFile:
		a.phase = sendFile
		return
	}
	r := reader{d: body}
	n := r.length()
	hasColumns := true
	if len(r.d) == 1 {
		switch flag := r.d[0]; {
		case n <= 1 && flag > 1: // MySQL: 1 with n columns, or 0
			hasColumns, n = n == 1, uint64(flag)
		case n == 0:
			hasColumns, n = false, uint64(flag)
		default:
			hasColumns = flag == 1
		}
	}
	if r.isShort || n == 0 || n > 1<<16 || size > 10 {
		t.misfit(s)
		return
	}
	a.phase, a.left = columns, int(n)
	if !hasColumns {
		a.phase = afterColumns
	}
}

// row counts a row, or ends them.
func (t *tap) row(s *session, body []byte, size int) {
	if body[0] == headEOF && size < fullBody {
		t.okOrEOF(s, body, size)
		return
	}
	s.ans.rows++
}

// okOrEOF reads a packet that ends a result: an EOF of five bytes, or an OK,
// which ends rows as well where the two ends have agreed to do without EOFs.
func (t *tap) okOrEOF(s *session, body []byte, size int) {
	a := &s.ans
	r := reader{d: body[1:]}
	var status uint64
	if size <= 5 {
		a.warnings, status = uint16(r.number(2)), r.number(2)
	} else {
		a.affected += r.length()
		r.length() // the last insert id
		status, a.warnings = r.number(2), uint16(r.number(2))
		if status&statusTracked != 0 && !r.isShort {
			a.track(&r)
		}
	}
	t.resultEnds(s, status)
}

// track reads what an OK says about a changed session: the database is all that
// we want. Source: MySQL, "OK_Packet", session state information.
func (a *answer) track(r *reader) {
	const schemaChanged = 1
	r.string()
	for changes := (reader{d: r.string()}); len(changes.d) > 0; {
		kind := changes.number(1)
		value := reader{d: changes.string()}
		if db := value.string(); kind == schemaChanged && !value.isShort {
			name := string(db)
			a.db = &name
		}
	}
}

func (s *session) setDB(db []byte) {
	if s.db != string(db) {
		s.db = string(db)
	}
}

// maxResults is how many results of one answer are distinguished.
const maxResults = 1 << 10

// resultEnds ends a result, and with the last one the answer.
func (t *tap) resultEnds(s *session, status uint64) {
	a := &s.ans
	if status&statusMoreResults == 0 {
		t.complete(s, a.isHoled)
		return
	}
	if len(a.results) < maxResults {
		done := a.result
		done.upTo = a.bytes
		a.results = append(a.results, done)
	}
	a.result, a.phase = result{}, firstPacket
}

// answerError reads an error, or MariaDB's report of progress.
func (t *tap) answerError(s *session, body []byte) {
	a := &s.ans
	r := reader{d: body[1:]}
	code := uint16(r.number(2))
	if code == codeProgress && a.phase != loginPacket {
		return
	}
	if len(r.d) >= 6 && r.d[0] == '#' {
		r.bytes(6)
	}
	a.code, a.text = code, r.d
	t.complete(s, a.isHoled)
}
