package replay

import "strings"

// Allowance is what may be sent besides reads.
type Allowance struct {
	Functions bool // reads that call functions which somebody made
	Writes    bool // and those too, and definitions of tables
}

// permits says whether a statement may be sent, and why not.
func (a Allowance) permits(j *Judgement) (bool, string) {
	switch j.Kind {
	case Read, Session:
		return true, ""
	case Function:
		return a.Functions || a.Writes, j.Reason
	case Write, Define:
		return a.Writes, j.Reason
	}
	return false, j.Reason
}

// memory is what a session must remember to judge its next statement.
type memory struct {
	mode    Mode
	missing map[string]bool // temporary tables that were not made
	begun   bool            // inside a transaction
}

// maxMissing bounds the temporary tables remembered of a session.
const maxMissing = 64

// judge decides about the next statement of a session.
func (m *memory) judge(s *Statement, a Allowance) (j Judgement, ok bool, reason string) {
	if s.IsCut {
		return Judgement{Kind: Truncated}, false, "not all of it is in the recording"
	}
	j = Judge(s.Query, m.mode)
	if s.IsBound && j.Kind <= Define && j.Params != len(s.Values) {
		return j, false, "the values of its parameters are not in the recording"
	}
	if !s.IsBound && j.Params > 0 {
		return j, false, "has parameters whose values are not in the recording"
	}
	ok, reason = a.permits(&j)
	switch {
	case !ok && j.Temporary != "":
		if m.missing == nil {
			m.missing = map[string]bool{}
		}
		if len(m.missing) < maxMissing {
			m.missing[j.Temporary] = true
		}
	case ok && len(m.missing) > 0 && m.mentions(s.Query):
		return j, false, "reads a temporary table that was not made"
	}
	return j, ok, reason
}

// mentions says whether a statement names a table that was not made.
func (m *memory) mentions(text []byte) bool {
	for _, t := range lex(text, m.mode).tokens {
		if (t.kind == aWord || t.kind == aQuoted) && m.missing[t.text] {
			return true
		}
	}
	return false
}

// sent notes what a statement that was sent has changed.
func (m *memory) sent(j *Judgement) {
	switch {
	case j.Begins:
		m.begun = true
	case j.Ends:
		m.begun = false
	}
}

// modeOf reads a value of sql_mode.
func modeOf(value string) Mode {
	words := strings.Split(strings.ToUpper(value), ",")
	var m Mode
	for _, w := range words {
		switch w {
		case "NO_BACKSLASH_ESCAPES":
			m.NoBackslashEscapes = true
		case "ANSI_QUOTES", "ANSI", "ORACLE", "MSSQL", "DB2", "MAXDB", "POSTGRESQL":
			m.AnsiQuotes = true
		}
	}
	return m
}

// modeIn guesses the mode that a SET leaves behind, for a dry run.
func modeIn(set string) Mode {
	return modeOf(strings.Map(func(r rune) rune {
		if r == '\'' || r == '"' || r == ' ' || r == '=' || r == ';' {
			return ','
		}
		return r
	}, set))
}
