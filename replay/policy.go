package replay

import (
	"strings"

	"stowage/replay/effect"
)

// Allowance is what may be sent besides reads.
type Allowance struct {
	Functions bool // reads that call functions which somebody made
	Writes    bool // and those too, and definitions of tables
}

// permits says whether a statement may be sent, and why not.
func (a Allowance) permits(j *effect.Judgement) (bool, string) {
	switch j.Kind {
	case effect.Read, effect.Session:
		return true, ""
	case effect.Function:
		return a.Functions || a.Writes, j.Reason
	case effect.Write, effect.Define:
		return a.Writes, j.Reason
	}
	return false, j.Reason
}

// memory is what a session must remember to judge its next statement.
type memory struct {
	mode    effect.Mode
	missing map[string]bool // temporary tables that were not made
	begun   bool            // inside a transaction
}

// maxMissing bounds the temporary tables remembered of a session.
const maxMissing = 64

// judge decides about the next statement of a session.
func (m *memory) judge(s *Statement, a Allowance) (j effect.Judgement, ok bool, reason string) {
	if s.IsCut {
		return effect.Judgement{Kind: effect.Truncated}, false, "not all of it is in the recording"
	}
	j = effect.Judge(s.Query, m.mode)
	if s.IsBound && j.Kind <= effect.Define && j.Params != len(s.Values) {
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
	case ok && len(m.missing) > 0 && effect.Mentions(s.Query, m.mode, m.missing):
		return j, false, "reads a temporary table that was not made"
	}
	return j, ok, reason
}

// sent notes what a statement that was sent has changed.
func (m *memory) sent(j *effect.Judgement) {
	switch {
	case j.Begins:
		m.begun = true
	case j.Ends:
		m.begun = false
	}
}

// modeOf reads a value of sql_mode.
func modeOf(value string) effect.Mode {
	words := strings.Split(strings.ToUpper(value), ",")
	var m effect.Mode
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
func modeIn(set string) effect.Mode {
	return modeOf(strings.Map(func(r rune) rune {
		if r == '\'' || r == '"' || r == ' ' || r == '=' || r == ';' {
			return ','
		}
		return r
	}, set))
}
