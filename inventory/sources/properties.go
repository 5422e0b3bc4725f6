package sources

import (
	"strings"

	"stowage/inventory/claims"
)

// properties reads Java's: key = value, key: value or key value; a \ at the
// end joins lines. Dots in keys make a tree. ${x} stays as it is.
func (r *reader) properties(file string, src []byte) {
	root := &node{line: 1}
	lines := strings.Split(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		number, text := i+1, strings.TrimLeft(lines[i], " \t\f")
		if text == "" || text[0] == '#' || text[0] == '!' {
			continue
		}
		for continues(text) && i+1 < len(lines) {
			i++
			text = text[:len(text)-1] + strings.TrimLeft(lines[i], " \t\f")
		}
		key, value := splitProperty(text)
		if key == "" {
			r.fault(claims.Place{Where: file, Line: number}, "a line without a key")
			continue
		}
		parts := strings.Split(key, ".")
		if len(parts) > mostDepth {
			r.fault(claims.Place{Where: file, Line: number}, "a key with more than %d dots", mostDepth)
			continue
		}
		at := root
		above := root
		for _, part := range parts {
			above, at = at, at.child(part, number)
		}
		if at.isPlain && at.text != value { // said twice: a reader of properties takes the last
			at = &node{key: at.key, line: number}
			above.items = append(above.items, at)
		}
		at.isPlain, at.text = true, value
	}
	r.entries(file, root)
}

// continues reports whether an odd number of backslashes ends a line.
func continues(text string) bool {
	n := len(text) - len(strings.TrimRight(text, `\`))
	return n%2 == 1
}

func splitProperty(text string) (key, value string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case strings.IndexByte("=: \t\f", c) >= 0:
			rest := strings.TrimLeft(text[i:], " \t\f")
			if rest != "" && (rest[0] == '=' || rest[0] == ':') {
				rest = rest[1:]
			}
			return b.String(), strings.ReplaceAll(strings.TrimSpace(rest), `\`, "")
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// child is the item of a key, made where there is none.
func (n *node) child(key string, line int) *node {
	if item, ok := n.index[key]; ok {
		return item
	}
	if n.index == nil {
		n.index = map[string]*node{}
	}
	item := &node{key: key, line: line}
	n.index[key] = item
	n.items = append(n.items, item)
	return item
}
