package digest

import "bytes"

// lineMemo remembers what header lines meant that come again and again: who is connected, in which schema, and the
// Yes/No lines. One slot per hash, so that the lines of many sessions in turn all stay known.
type lineMemo struct {
	lastUser   userMemo         // with the end of its line, see knownLine
	lastThread schemaMemo       // likewise
	lastFlags  [2]lastFlagMemos // likewise
	users      [64]userMemo
	schemas    [16]schemaMemo
	flags      [32]flagMemo
	hasSchema  bool // the event being read told its schema, be it an empty one

	learnedSchema bool // see learn
}

type userMemo struct {
	line       []byte
	user, host name
	hasID      bool // lastUser only: "  Id: 33" follows
}

type schemaMemo struct {
	tail  []byte // of the Thread_id line, behind the number
	db    name
	known bool // it has a Schema
	flags uint32
}

type flagMemo struct {
	line  []byte
	flags uint32
}

// lastFlagMemos are the lines of one kind seen last, with their ends; a workload has two or three.
type lastFlagMemos struct {
	memos [4]flagMemo
	next  int // to be replaced
}

// flagSlot tells "# Full_scan" from "# Filesort" by its fourth byte.
func flagSlot(c byte) int { return int(c >> 2 & 1) }

// match takes the flags of the line that b begins with, and returns its length, or 0 when it is not known.
func (m *lastFlagMemos) match(b []byte, e *event) int {
	for i := range m.memos {
		line := m.memos[i].line
		if len(line) > 0 && bytes.HasPrefix(b, line) {
			e.flags |= m.memos[i].flags
			return len(line)
		}
	}
	return 0
}

// keep remembers a line that is not known. A carriage return that is left at its end, after one that belonged to the end of
// the line was cut, would be mistaken for that of another line.
func (m *lastFlagMemos) keep(line []byte, flags uint32) {
	if line[len(line)-1] == '\r' {
		return
	}
	last := &m.memos[m.next]
	last.line, last.flags = append(append(last.line[:0], line...), '\n'), flags
	m.next = (m.next + 1) % len(m.memos)
}

// userLine reads "# User@Host: root[root] @ localhost [127.0.0.1]  Id:     3". The user is what is in front of the
// bracket, or the bracket itself where there is nothing ([SQL_SLAVE]); the address is in for a missing host.
func (s *slowLog) userLine(line []byte) {
	whole := line
	if i := bytes.LastIndex(line, []byte("]  Id: ")); i >= 0 {
		s.ev.thread = parseCount(bytes.TrimSpace(line[i+len("]  Id: "):]))
		line = line[:i+1]
	}
	m := &s.memo.users[hashBytes(line)%64]
	if !bytes.Equal(m.line, line) {
		m.line = bytes.Clone(line)
		user, host := splitUser(m.line)
		m.user, m.host = named1(user), named1(host)
	}
	s.ev.user, s.ev.host = m.user, m.host
	last := &s.memo.lastUser
	switch {
	case len(whole) > len(line):
		last.line, last.hasID = append(last.line[:0], line...), true
	case line[len(line)-1] != '\r': // see lastFlagMemos.keep
		last.line, last.hasID = append(append(last.line[:0], line...), '\n'), false
	default:
		last.line = last.line[:0]
	}
	last.user, last.host = m.user, m.host
}

func splitUser(line []byte) (user, host []byte) {
	rest := bytes.TrimPrefix(line, []byte("# User@Host: "))
	at := bytes.Index(rest, []byte("@ "))
	if at < 0 {
		return nil, nil
	}
	user, rest = bytes.TrimRight(rest[:at], " "), rest[at+2:]
	if b := bytes.IndexByte(user, '['); b > 0 {
		user = user[:b]
	}
	open := bytes.IndexByte(rest, '[')
	if open < 0 {
		return user, bytes.TrimSpace(rest)
	}
	host = bytes.TrimSpace(rest[:open])
	if end := bytes.LastIndexByte(rest, ']'); len(host) == 0 && end > open {
		host = rest[open+1 : end]
	}
	return user, host
}

// threadLine reads "# Thread_id: 9  Schema: shop  QC_hit: No" and its relatives.
func (s *slowLog) threadLine(line []byte) {
	i := len("# Thread_id: ")
	var id uint64
	for ; i < len(line) && isDigit(line[i]); i++ {
		id = id*10 + uint64(line[i]-'0')
	}
	s.ev.thread = id
	tail := line[i:]
	if len(tail) == 0 {
		return
	}
	m := &s.memo.schemas[hashBytes(tail)%16]
	if !bytes.Equal(m.tail, tail) {
		if bytes.Contains(tail, []byte("QC_hit:")) {
			s.dialect.mariadb = true
		}
		text := bytes.Clone(tail)
		learned, ok := s.learn(text)
		if !ok {
			s.attributes(text)
			return
		}
		*m = schemaMemo{tail: text, db: learned.db, known: s.memo.learnedSchema, flags: learned.flags}
	}
	s.takeSchema(m)
	if tail[len(tail)-1] == '\r' {
		return // see lastFlagMemos.keep
	}
	last := &s.memo.lastThread
	last.tail, last.db, last.known, last.flags = append(append(last.tail[:0], tail...), '\n'), m.db, m.known, m.flags
}

func (s *slowLog) takeSchema(m *schemaMemo) {
	s.ev.flags |= m.flags
	if m.known {
		s.memo.hasSchema = true
		s.ev.db = m.db
	}
}

// learn reads attributes on their own, and says whether they are of the kind that can be remembered: schema and flags,
// no numbers.
func (s *slowLog) learn(text []byte) (learned event, ok bool) {
	ev, had, remarks := s.ev, s.memo.hasSchema, len(s.remarks)
	s.ev, s.memo.hasSchema = event{}, false
	s.attributes(text)
	learned, s.memo.learnedSchema = s.ev, s.memo.hasSchema
	s.ev, s.memo.hasSchema = ev, had
	silent := len(s.remarks) == remarks
	s.remarks = s.remarks[:remarks]
	rest := learned
	rest.flags, rest.db = 0, name{}
	return learned, silent && rest.isZero()
}

// knownFlags takes the flags of a line of nothing but Yes/No attributes from memory, or puts them there.
func (s *slowLog) knownFlags(line []byte) bool {
	m := &s.memo.flags[len(line)%32]
	if !bytes.Equal(m.line, line) {
		if !bytes.HasPrefix(line, []byte("# Full_scan: ")) && !bytes.HasPrefix(line, []byte("# Filesort: ")) {
			return false
		}
		learned, ok := s.learn(line)
		if !ok || s.memo.learnedSchema {
			return false
		}
		m.line, m.flags = bytes.Clone(line), learned.flags
	}
	s.ev.flags |= m.flags
	s.memo.lastFlags[flagSlot(line[3])].keep(line, m.flags)
	return true
}

// isUseLine knows "use db;", as servers write it: lower case, one name, nothing else on the line.
func isUseLine(line []byte) bool {
	return len(line) > 5 && line[0] == 'u' && bytes.HasPrefix(line, []byte("use ")) && bytes.IndexByte(line, ';') == len(line)-1
}

// isSetLine knows "SET timestamp=1;", "SET insert_id=2,timestamp=1;" and the like.
func isSetLine(line []byte) bool {
	if len(line) < 10 || line[0] != 'S' || !bytes.HasPrefix(line, []byte("SET ")) || bytes.IndexByte(line, ';') != len(line)-1 {
		return false
	}
	rest := line[4:]
	return bytes.HasPrefix(rest, []byte("timestamp=")) || bytes.HasPrefix(rest, []byte("insert_id=")) ||
		bytes.HasPrefix(rest, []byte("last_insert_id="))
}

// useLine remembers the database. Servers write the line only when it is another one than that of the event before, of
// whatever connection: that is how a server thinks of it, so it is carried on in the same way. Events that tell their
// own Schema neither need nor get it.
func (s *slowLog) useLine(line []byte) {
	db := bytes.Trim(line[4:len(line)-1], "` ")
	if !bytes.Equal(db, s.db.text) {
		s.db = named1(bytes.Clone(db))
	}
	s.ev.db, s.used = s.db, true
}
