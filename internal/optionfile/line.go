// Package optionfile reads and writes single lines of option files (my.cnf) as
// MariaDB's own programs do.
//
// It answers: "which group, which key and which value does this line hold?" It
// has no opinion about databases, opens no file by itself, and knows no option by
// name. Source.Lines reads many, in the order of the server; whoever calls it
// opens them.
// Its oracle in the tests of package host is my_print_defaults.
package optionfile

import "strings"

// Group is the group a line opens, as in "[mysqld] # comment".
func Group(line string) (group string, ok bool) {
	if !strings.HasPrefix(line, "[") {
		return "", false
	}
	group, _, ok = strings.Cut(line[1:], "]")
	return strings.TrimRight(group, " \t"), ok
}

// Option is the key of a line, in its canonical form, and its value without
// quotes, escapes and comment; ok is false for a line without an option. A
// password of the wrong reading would be refused by the server, and nobody
// would see why.
func Option(line string) (key, value string, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || strings.ContainsRune("#;![", rune(line[0])) {
		return "", "", false
	}
	key, value, _ = strings.Cut(withoutComment(line), "=")
	value = strings.TrimSpace(value)
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	return Canonical(key), escapes.Replace(value), true
}

// Canonical is a key as servers compare them: '-' and '_' alike.
func Canonical(key string) string {
	return strings.ReplaceAll(strings.TrimSpace(key), "-", "_")
}

// Text writes a value so that Option reads it back. A path is left as it is;
// only what would be misread is quoted.
func Text(value string) string {
	if value == strings.TrimSpace(value) && !strings.ContainsAny(value, "#\"'\\\n\r\b") {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\b", `\b`, "\t", `\t`).Replace(value) + `"`
}

// escapes reads from left to right, so that `\\s` is a backslash and an s.
var escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\b`, "\b", `\s`, " ", `\"`, `"`, `\'`, `'`)

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
