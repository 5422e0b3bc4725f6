package digest

// Add counts one statement under an input of that name, as if a log had told it. Since, Until and the filter of the
// options hold for it as for any other. Who replays a recording makes the digest of what came of it this way.
func (b *Builder) Add(name string, s *Statement) {
	var scratch event
	e := s.event(&scratch)
	b.add(b.inputNamed(name), e)
}

// Matches says whether the options count this statement: its time, and the filter.
func (b *Builder) Matches(s *Statement) bool {
	var scratch event
	e := s.event(&scratch)
	if b.since != 0 && e.at < b.since || b.until != 0 && (e.at >= b.until || e.at == 0) {
		return false
	}
	f := b.options.Filter
	return f == nil || f.root(&candidate{e, b})
}

// Fingerprint is by what the builder puts statements together, whatever it groups by. It is valid until the next call.
func (b *Builder) Fingerprint(s *Statement) []byte {
	var scratch event
	return b.fingerprint(s.event(&scratch))
}

// inputNamed is the input of a name, which is made when there is none.
func (b *Builder) inputNamed(name string) *input {
	for i := range b.d.inputs {
		if b.d.inputs[i].name == name {
			return &b.d.inputs[i]
		}
	}
	b.d.inputs = append(b.d.inputs, input{name: name, kind: "statements"})
	return &b.d.inputs[len(b.d.inputs)-1]
}

// event is the statement as parsers hand it on.
func (s *Statement) event(e *event) *event {
	*e = event{
		timed: s.Timed, queryTime: narrow(uint64(max(s.Time, 0))), lockTime: uint64(max(s.LockTime, 0)),
		rowsSent: s.RowsSent, rowsExamined: s.RowsExamined, rowsAffected: s.RowsAffected, bytesSent: s.BytesSent, thread: s.Thread,
		user: named1([]byte(s.User)), host: named1([]byte(s.Host)), db: named1([]byte(s.DB)), text: s.Query,
	}
	claim := func(is bool, bit int) {
		if is {
			e.flags |= 1 << bit
		}
	}
	claim(s.Error, flagError)
	claim(s.Killed, flagKilled)
	claim(s.FullScan, flagFullScan)
	claim(s.FullJoin, flagFullJoin)
	claim(s.TmpTable, flagTmpTable)
	claim(s.TmpDisk, flagTmpDisk)
	claim(s.FullJoin, flagFullJoin)
	claim(s.TmpTable, flagTmpTable)
	claim(s.TmpDisk, flagTmpDisk)
	claim(s.Admin, flagAdmin)
	if s.Admin {
		e.fingerprint = s.Query
	}
	if !s.At.IsZero() {
		e.at = s.At.UnixMicro()
	}
	return e
}
