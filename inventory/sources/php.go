package sources

import (
	"fmt"
	"strings"

	"stowage/inventory/claims"
)

// php reads the arrays of a PHP file: return [...], $x = array(...), and what
// is assigned to keys of them. Nothing is run: what is computed is unknown,
// and a constant of the same file is its value. A library that parses all of
// PHP would stop at the first line it does not understand.
func (r *reader) php(file string, src []byte) {
	p := &phpParser{src: string(src), line: 1, constants: map[string]string{}, fault: func(line int, format string, args ...any) {
		r.fault(claims.Place{Where: file, Line: line}, format, args...)
	}}
	root := &node{line: 1}
	for p.findValue() {
		n := p.value(0)
		root.items = append(root.items, n.items...)
	}
	r.entries(file, root)
}

type phpParser struct {
	src       string
	at, line  int
	constants map[string]string
	fault     func(line int, format string, args ...any)
}

// skip passes blanks and comments.
func (p *phpParser) skip() {
	for p.at < len(p.src) {
		rest := p.src[p.at:]
		switch {
		case rest[0] == '\n':
			p.line++
			p.at++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			p.at++
		case rest[0] == '#' && !strings.HasPrefix(rest, "#[") || strings.HasPrefix(rest, "//"):
			p.at += max(1, strings.IndexByte(rest+"\n", '\n'))
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				end = len(rest) - 2
			}
			p.line += strings.Count(rest[:end], "\n")
			p.at += end + 2
		default:
			return
		}
	}
}

// findValue goes to the next array that is returned or assigned, and keeps
// constants on the way.
func (p *phpParser) findValue() bool {
	for {
		p.skip()
		if p.at >= len(p.src) {
			return false
		}
		switch c := p.src[p.at]; {
		case c == '\'' || c == '"':
			p.quoted()
		case c == '[' && p.opensArray():
			return true
		case isWordByte(c):
			switch w := strings.ToLower(p.word()); w {
			case "const":
				p.constant()
			case "define":
				p.define()
			case "array":
				if p.peek() == '(' {
					return true
				}
			}
		default:
			p.at++
		}
	}
}

// opensArray reports whether a bracket begins a value and is no $x[1].
func (p *phpParser) opensArray() bool {
	before := strings.TrimRight(p.src[:p.at], " \t\r\n")
	return before == "" || strings.HasSuffix(before, "=") || strings.HasSuffix(before, "return") || strings.HasSuffix(before, "(")
}

func (p *phpParser) constant() {
	p.skip()
	name := p.word()
	if p.peek() == '=' {
		p.at++
		if n := p.value(0); n.isPlain && !n.unknown {
			p.constants[name] = n.text
		}
	}
}

func (p *phpParser) define() {
	if p.peek() != '(' {
		return
	}
	p.at++
	name := p.value(0)
	if p.peek() == ',' && name.isPlain {
		p.at++
		if n := p.value(0); n.isPlain && !n.unknown {
			p.constants[name.text] = n.text
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c == '\\' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (p *phpParser) word() string {
	start := p.at
	for p.at < len(p.src) && (isWordByte(p.src[p.at]) || p.src[p.at] == '.' && p.at > start && isNumber(p.src[start:p.at])) {
		p.at++
	}
	return p.src[start:p.at]
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// peek is the next byte behind blanks; 0 at the end.
func (p *phpParser) peek() byte {
	p.skip()
	if p.at >= len(p.src) {
		return 0
	}
	return p.src[p.at]
}

// value reads one expression: a literal, an array, or something computed.
// Plain values that dots join are joined.
func (p *phpParser) value(depth int) *node {
	n := p.operand(depth)
	for {
		switch c := p.peek(); c {
		case 0, ',', ']', ')', ';':
			return n
		case '=':
			if strings.HasPrefix(p.src[p.at:], "=>") {
				return n
			}
			p.at++
			n = &node{isPlain: true, unknown: true, line: n.line}
		case '.':
			p.at++
			next := p.operand(depth)
			n = &node{isPlain: true, text: n.text + next.text, unknown: n.unknown || next.unknown || !n.isPlain || !next.isPlain, line: n.line}
		default: // an operator, a call, a choice: computed
			n = &node{isPlain: true, unknown: true, line: n.line}
			p.operandOrByte(depth)
		}
	}
}

func (p *phpParser) operandOrByte(depth int) {
	before := p.at
	p.operand(depth + 1)
	if p.at == before {
		p.at++
	}
}

func (p *phpParser) operand(depth int) *node {
	c := p.peek()
	n := &node{line: p.line}
	if depth > mostDepth {
		p.fault(p.line, "values are nested more than %d deep", mostDepth)
		p.at = len(p.src)
		n.isPlain, n.unknown = true, true
		return n
	}
	switch {
	case c == '[':
		p.at++
		return p.array(']', depth, n.line)
	case c == '\'' || c == '"':
		n.isPlain = true
		n.text, n.unknown = p.quoted()
	case c == '(': // a group, or the arguments of a call
		p.at++
		p.array(')', depth, n.line)
		n.isPlain, n.unknown = true, true
	case c == '$':
		p.at++
		p.word()
		n.isPlain, n.unknown = true, true
	case c != 0 && isWordByte(c):
		word := p.word()
		if strings.EqualFold(word, "array") && p.peek() == '(' {
			p.at++
			return p.array(')', depth, n.line)
		}
		n.isPlain = true
		value, known := p.constants[word]
		switch {
		case isNumber(strings.ReplaceAll(word, ".", "")):
			n.text = word
		case strings.EqualFold(word, "true"), strings.EqualFold(word, "false"):
			n.text = strings.ToLower(word)
		case strings.EqualFold(word, "null"):
		case known:
			n.text = value
		default:
			n.unknown = true
		}
	default:
		n.isPlain, n.unknown = true, true
	}
	return n
}

// array reads what is between brackets. Where one is not closed, what was
// read counts, and the fault says so.
func (p *phpParser) array(end byte, depth, line int) *node {
	n := &node{line: line, isList: true}
	for index := 0; ; {
		switch p.peek() {
		case 0:
			p.fault(line, "the array that begins here is not closed")
			return n
		case end:
			p.at++
			return n
		case ',':
			p.at++
			continue
		}
		before, at := p.at, p.line
		item := p.value(depth + 1)
		if p.peek() == '=' && strings.HasPrefix(p.src[p.at:], "=>") {
			p.at += 2
			key := item
			item = p.value(depth + 1)
			item.key, n.isList = key.text, false
			item.line = at
		} else {
			item.key = fmt.Sprint(index)
			index++
		}
		n.items = append(n.items, item)
		if p.at == before {
			p.fault(p.line, "%q was not expected here", p.src[p.at:p.at+1])
			p.at++
		}
	}
}

// quoted reads a text. One with a $variable in it is computed.
func (p *phpParser) quoted() (text string, computed bool) {
	quote := p.src[p.at]
	start := p.line
	var b strings.Builder
	for p.at++; p.at < len(p.src); p.at++ {
		c := p.src[p.at]
		switch {
		case c == quote:
			p.at++
			return b.String(), computed
		case c == '\\' && p.at+1 < len(p.src):
			p.at++
			if p.src[p.at] != quote && p.src[p.at] != '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(p.src[p.at])
			if p.src[p.at] == '\n' {
				p.line++
			}
			continue
		case c == '\n':
			p.line++
		case quote == '"' && (c == '$' || c == '{' && strings.HasPrefix(p.src[p.at:], "{$")):
			computed = true
		}
		b.WriteByte(c)
	}
	p.fault(start, "the text that begins here is not closed")
	return b.String(), true
}
