package mysql

import "strings"

// optionGroup is the group a line of an option file opens, as in "[mysqld] # comment".
func optionGroup(line string) (group string, ok bool) {
	if !strings.HasPrefix(line, "[") {
		return "", false
	}
	group, _, ok = strings.Cut(line[1:], "]")
	return strings.TrimRight(group, " \t"), ok
}

// optionValue is the value of an option as MariaDB's own programs read it:
// without a comment at its end and without quotes around it, and with its
// escapes replaced. A password of the wrong reading would be refused by the
// server, and nobody would see why.
func optionValue(text string) string {
	text = strings.TrimSpace(withoutComment(text))
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		text = text[1 : n-1]
	}
	return optionEscapes.Replace(text)
}

// optionEscapes reads from left to right, so that `\\s` is a backslash and an s.
var optionEscapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\b`, "\b", `\s`, " ", `\"`, `"`, `\'`, `'`)

// withoutComment cuts what follows a # outside of quotes.
func withoutComment(text string) string {
	var quote byte
	escaped := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case (c == '"' || c == '\'') && !escaped && quote == 0:
			quote = c
		case c == quote && !escaped:
			quote = 0
		case c == '#' && quote == 0:
			return text[:i]
		}
		escaped = quote != 0 && c == '\\' && !escaped
	}
	return text
}
