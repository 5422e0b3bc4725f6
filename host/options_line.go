package host

import "strings"

// One line of an option file, as MariaDB's own programs read and we write it.

// optionGroup is the group a line opens, as in "[mysqld] # comment".
func optionGroup(line string) (group string, ok bool) {
	if !strings.HasPrefix(line, "[") {
		return "", false
	}
	group, _, ok = strings.Cut(line[1:], "]")
	return strings.TrimRight(group, " \t"), ok
}

// option is the key of a line, in its canonical form, and its value without
// quotes, escapes and comment; ok is false for a line without an option.
func option(line string) (key, value string, ok bool) {
	if line == "" || strings.ContainsRune("#;!", rune(line[0])) {
		return "", "", false
	}
	key, value, _ = strings.Cut(withoutComment(line), "=")
	value = strings.TrimSpace(value)
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	return canonical(key), optionEscapes.Replace(value), true
}

// optionEscapes reads from left to right, so that `\\s` is a backslash and an s.
var optionEscapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\b`, "\b", `\s`, " ", `\"`, `"`, `\'`, `'`)

// optionText writes a value so that option reads it back. A path is left as it
// is; only what would be misread is quoted.
func optionText(value string) string {
	if value == strings.TrimSpace(value) && !strings.ContainsAny(value, "#\"'\\\n\r\b") {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\b", `\b`, "\t", `\t`).Replace(value) + `"`
}

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
