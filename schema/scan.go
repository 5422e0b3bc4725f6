package schema

import (
	"bytes"
	"strings"

	"stowage/internal/lazy"
)

// skip returns the index behind the quoted text or comment that begins at i, or i where none does. Quotes are doubled inside, or escaped by a backslash, but not in a quoted name.
func skip(s string, i int) int {
	switch c := s[i]; {
	case c == '\'' || c == '"' || c == '`':
		for j := i + 1; j < len(s); j++ {
			switch {
			case s[j] == '\\' && c != '`':
				j++
			case s[j] != c:
			case j+1 < len(s) && s[j+1] == c:
				j++
			default:
				return j + 1
			}
		}
		return len(s)
	case strings.HasPrefix(s[i:], "/*"):
		if n := strings.Index(s[i:], "*/"); n >= 0 && !strings.HasPrefix(s[i:], "/*!") && !strings.HasPrefix(s[i:], "/*M!") {
			return i + n + 2
		} else if n < 0 {
			return len(s)
		}
	case c == '#' || strings.HasPrefix(s[i:], "--") && (i+2 == len(s) || s[i+2] <= ' '): // a tab, or the end of a line of Windows, too
		if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(s)
	}
	return i
}

// each calls visit for every byte that is neither quoted nor in a comment, until that returns false.
func each(s string, visit func(i int) bool) {
	for i := 0; i < len(s); {
		if j := skip(s, i); j > i {
			i = j
			continue
		}
		if !visit(i) {
			return
		}
		i++
	}
}

// split cuts a text at a byte that is not in quotes, comments or parentheses.
func split(s string, at byte) []string {
	var out []string
	depth, from := 0, 0
	each(s, func(i int) bool {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case at:
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
		return true
	})
	return append(out, s[from:])
}

// body is what is between the first parenthesis and the one that closes it, with the text before and after.
func body(s string) (before, inside, after string, ok bool) {
	depth, open := 0, -1
	end := -1
	each(s, func(i int) bool {
		switch s[i] {
		case '(':
			if depth++; open < 0 {
				open = i
			}
		case ')':
			if depth--; depth == 0 {
				end = i
				return false
			}
		}
		return true
	})
	if open < 0 || end < 0 {
		return s, "", "", false
	}
	return s[:open], s[open+1 : end], s[end+1:], true
}

// name takes a quoted or plain name from the front of a text.
func name(s string) (name, rest string) {
	s = strings.TrimLeft(s, " \t\r\n")
	if s == "" {
		return "", ""
	}
	if c := s[0]; c == '`' || c == '"' {
		end := skip(s, 0)
		q := string(c)
		inside := strings.TrimPrefix(s[:end], q)
		if len(inside) > 0 && inside[len(inside)-1] == c {
			inside = inside[:len(inside)-1]
		}
		return strings.ReplaceAll(inside, q+q, q), s[end:]
	}
	end := strings.IndexAny(s, " \t\r\n(,;.")
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}

// Statements are those of a file: what is between semicolons, each with the line where it begins. Comments before a statement belong to none.
func Statements(text string) []Statement {
	var out []Statement
	from := 0
	for _, s := range statements(text) {
		body := strings.TrimLeft(s, " \t\r\n")
		for body != "" { // comments before it
			if n := skip(body, 0); n > 0 && body[0] != '\'' && body[0] != '"' && body[0] != '`' {
				body = strings.TrimLeft(body[n:], " \t\r\n")
				continue
			}
			break
		}
		if body != "" {
			at := from + len(s) - len(body)
			body = strings.TrimRight(body, " \t\r\n")
			out = append(out, Statement{Text: body, From: at, Line: 1 + strings.Count(text[:at], "\n")})
		}
		from += len(s) + 1
	}
	return out
}

// Statement is one of a file.
type Statement struct {
	Text string
	From int // its first byte in the file
	Line int // from 1
}

// statements cuts at semicolons.
func statements(s string) []string {
	var out []string
	from := 0
	each(s, func(i int) bool {
		if s[i] == ';' {
			out = append(out, s[from:i])
			from = i + 1
		}
		return true
	})
	return append(out, s[from:])
}

var executable = lazy.Regexp(`^/\*M?!\d*\s*`)

// unwrapped is a server's own text with what it hides from other versions, as in /*!50100 PARTITION BY ... */, in plain words: the server that wrote it takes them.
func unwrapped(s string) string {
	var out []byte
	for i := 0; i < len(s); {
		j := skip(s, i)
		if start := executable().FindString(s[i:]); j == i && start != "" {
			i += len(start)
			continue
		}
		if j == i && strings.HasPrefix(s[i:], "*/") {
			out = bytes.TrimRight(out, " ")
			i += 2
			continue
		}
		j = max(j, i+1)
		out = append(out, s[i:j]...)
		i = j
	}
	return string(out)
}
