package capture

// AppendQuery appends the statement with the values of an execute in the places
// of its placeholders, which is how MariaDB's slow and general logs have it.
// Where not all values are known the placeholders stay.
func (e *Event) AppendQuery(to []byte) []byte {
	st := e.statement
	if st == nil || len(e.Args) == 0 || e.Truncated {
		return append(to, e.Query...)
	}
	if st.marks == nil {
		if st.marks = placeholders(st.text); len(st.marks) != st.params {
			st.marks = []int{} // their memory was not reckoned with
		}
	}
	if len(st.marks) != len(e.Args) {
		return append(to, e.Query...)
	}
	from := 0
	for k, at := range st.marks {
		to = append(to, st.text[from:at]...)
		to = e.Args[k].AppendSQL(to)
		from = at + 1
	}
	return append(to, st.text[from:]...)
}

// placeholders are the places of the question marks outside of quotes and
// comments.
func placeholders(text []byte) []int {
	marks := []int{}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '?':
			marks = append(marks, i)
		case c == '\'' || c == '"' || c == '`':
			i = skipQuoted(text, i)
		case isLineComment(text[i:]):
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			i = skipComment(text, i)
		}
	}
	return marks
}

// isLineComment says whether a comment begins that goes on to the end of the
// line. Behind two dashes must stand a blank.
func isLineComment(text []byte) bool {
	return text[0] == '#' || text[0] == '-' && len(text) > 2 && text[1] == '-' && text[2] <= ' '
}
