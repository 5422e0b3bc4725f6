package capture

import "time"

// mayTell says whether anybody may hear of a connection: it has its number and
// its ends then. Of one that is only guessed to be MySQL nobody hears before an
// answer has confirmed it; what was taken for a command may be web traffic.
func (t *tap) mayTell(s *session) bool {
	if s.guess {
		return false
	}
	t.recognised(s)
	return true
}

// emit makes the event, or the events, of the first request.
func (t *tap) emit(s *session, isIncomplete bool) {
	if !t.mayTell(s) {
		return
	}
	q, a := s.requests.first(), &s.ans
	if isIncomplete {
		t.note(noAnswer, 1)
	}
	e := &t.ev
	*e = Event{
		At: moment(q.at), Offset: q.offset, Began: moment(s.began), Client: s.clientEnd, Server: s.srvEnd, Session: s.id, User: s.user, DB: s.db,
		Command: q.cmd, Query: q.body, QueryBytes: uint64(q.size), Truncated: q.cut, Holed: q.isHoled, Args: q.args, Incomplete: isIncomplete,
	}
	switch q.cmd {
	case Execute, BulkExecute, Fetch, ResetStatement, CloseStatement, LongData:
		e.Query, e.QueryBytes, e.Truncated, e.Holed = nil, 0, false, false
		if len(q.body) >= 4 {
			e.Prepared = le.Uint32(q.body)
		}
		if st := q.statement; st != nil {
			e.statement = st
			e.Query, e.QueryBytes, e.Truncated, e.Prepared = st.text, uint64(st.size), st.isCut, st.id
		}
	case Query:
		e.QueryBytes = uint64(max(0, q.size-q.attrs))
	case Connect, ChangeUser, ResetConnection, Quit, Ping, Statistics, ProcessInfo, Debug:
		e.Query, e.QueryBytes = nil, 0
	}
	if n := len(a.results); n > 0 && a.last == 0 {
		a.last = a.results[n-1].last // there should have been more
	}
	from := max(q.sent, s.lastAnswered)
	if q.sent == 0 {
		from = 0
	}
	s.lastAnswered = max(s.lastAnswered, a.last)
	if len(a.results) > 0 && t.emitEach(s, e, from) {
		return
	}
	first, last := a.first, a.last
	for k := range a.results {
		r := &a.results[k]
		e.RowsSent += r.rows
		e.RowsAffected += r.affected
		if k == 0 {
			first = r.first
		}
	}
	t.time(e, from, first, last)
	e.RowsSent += a.rows
	e.RowsAffected += a.affected
	e.BytesSent, e.Warnings, e.ErrorCode = a.bytes, a.warnings, a.code
	e.ErrorText = string(a.text)
	t.send(e)
}

// time sets the times of an event, where they are known.
func (t *tap) time(e *Event, from, first, last int64) {
	e.Answered = from != 0 && first != 0
	e.Latency, e.Total = 0, 0
	e.AnswerAt, e.DoneAt = moment(first), moment(last)
	if e.Answered {
		e.Latency = time.Duration(max(0, first-from))
		e.Total = max(e.Latency, time.Duration(last-from)) // clocks may be set back
	}
}

// emitAborted makes the event of a connection that ended before a login.
func (t *tap) emitAborted(s *session) {
	e := &t.ev
	*e = Event{
		At: moment(s.began), Offset: t.offset, Began: moment(s.began), Client: s.clientEnd, Server: s.srvEnd, Session: s.id, Command: Connect,
		DoneAt: moment(t.at), Incomplete: true, Aborted: true,
	}
	t.send(e)
}

func (t *tap) send(e *Event) {
	t.sum.Events++
	if t.each != nil {
		t.each(e)
	}
}

// emitEach makes an event of each of several statements in one text, if the
// results can be told to belong to them: as many as there are statements, or
// fewer with an error as the last.
func (t *tap) emitEach(s *session, e *Event, from int64) bool {
	a := &s.ans
	n := len(a.results) + 1
	if e.Command != Query || e.Truncated || e.Incomplete || len(a.results) == maxResults {
		return false
	}
	list := splitStatements(e.Query, n+1)
	if len(list) < n || len(list) > n && a.code == 0 {
		return false
	}
	var upTo uint64
	for k := range n {
		r := &a.result
		r.upTo = a.bytes
		if k < len(a.results) {
			r = &a.results[k]
		}
		e.Query, e.QueryBytes, e.Statement = list[k], uint64(len(list[k])), k+1
		t.time(e, from, r.first, r.last)
		e.RowsSent, e.RowsAffected, e.Warnings, e.ErrorCode = r.rows, r.affected, r.warnings, r.code
		e.BytesSent, upTo = r.upTo-upTo, r.upTo
		e.ErrorText = string(r.text)
		t.send(e)
		if from != 0 && r.last != 0 {
			from = max(from, r.last)
		}
	}
	return true
}

// splitStatements cuts a text at the semicolons outside of quotes and comments.
// It stops at most statements.
func splitStatements(text []byte, most int) (list [][]byte) {
	begin := 0
	for i := 0; i < len(text) && len(list) < most; i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"' || c == '`':
			i = skipQuoted(text, i)
		case isLineComment(text[i:]):
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			i = skipComment(text, i)
		case c == ';':
			list = appendStatement(list, text[begin:i])
			begin = i + 1
		}
	}
	if len(list) < most {
		list = appendStatement(list, text[min(begin, len(text)):])
	}
	return list
}

func appendStatement(list [][]byte, text []byte) [][]byte {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && isBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	if len(text) == 0 {
		return list
	}
	return append(list, text)
}

// skipQuoted gives the place of the closing quote. A doubled quote is two
// quoted strings in a row, which comes to the same.
func skipQuoted(text []byte, i int) int {
	quote := text[i]
	for i++; i < len(text) && text[i] != quote; i++ {
		if text[i] == '\\' && quote != '`' {
			i++
		}
	}
	return i
}

func skipComment(text []byte, i int) int {
	for i += 2; i+1 < len(text); i++ {
		if text[i] == '*' && text[i+1] == '/' {
			return i + 1
		}
	}
	return len(text)
}
