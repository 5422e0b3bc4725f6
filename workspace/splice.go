package workspace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// splice replaces the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// apply is the source with all changes in it. It works on bytes, led by the
// positions of the node tree: writing the tree out again would lose blank
// lines, alignment and the layout of long rows.
func (e *Edit) apply() ([]byte, error) {
	s := &source{text: e.src}
	var all []splice
	for _, n := range e.order {
		cuts, err := s.changeMapping(n, e.changes[n])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		all = append(all, cuts...)
	}
	for _, move := range e.rows {
		cuts, err := move(s)
		if err != nil {
			return nil, err
		}
		all = append(all, cuts...)
	}
	slices.SortStableFunc(all, func(a, b splice) int { return a.start - b.start })
	var out bytes.Buffer
	at := 0
	for _, c := range all {
		if c.start < at {
			return nil, fmt.Errorf("edit of overlapping places at byte %d", c.start)
		}
		out.Write(e.src[at:c.start])
		out.WriteString(c.text)
		at = c.end
	}
	out.Write(e.src[at:])
	return out.Bytes(), nil
}

// source finds nodes in the text they came from.
type source struct {
	text  []byte
	lines []int // offset of each line's first byte
}

// offset is the byte at which a node starts. Columns count characters.
func (s *source) offset(n *yaml.Node) int {
	if s.lines == nil {
		s.lines = []int{0}
		for i, b := range s.text {
			if b == '\n' {
				s.lines = append(s.lines, i+1)
			}
		}
	}
	at := s.lines[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(s.text[at:])
		at += size
	}
	return at
}

// end is the byte after a scalar that is on one line.
func (s *source) end(n *yaml.Node) (int, error) {
	start := s.offset(n)
	rest := s.text[start:]
	switch {
	case n.Kind != yaml.ScalarNode:
		return 0, fmt.Errorf("a plain value was expected, not %s", kindWord(n))
	case n.Style&yaml.SingleQuotedStyle != 0:
		return start + quotedEnd(rest, '\''), nil
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return start + quotedEnd(rest, '"'), nil
	case bytes.HasPrefix(rest, []byte(n.Value)) && n.Value != "":
		return start + len(n.Value), nil
	}
	return 0, fmt.Errorf("the value %q is laid out in a way that cannot be edited: write it on one line", n.Value)
}

// quotedEnd is the length of a quoted scalar with its quotes.
func quotedEnd(text []byte, quote byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

// changeMapping turns wanted entries into splices of one mapping.
func (s *source) changeMapping(n *yaml.Node, wanted []entry) ([]splice, error) {
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("keys and values were expected, not %s", kindWord(n))
	}
	var cuts []splice
	var added []entry
	for _, w := range wanted {
		key := firstKey(n, w.key)
		if key == nil {
			if w.value != "" {
				added = append(added, w)
			}
			continue
		}
		cut, err := s.changeEntry(n, key, w)
		if err != nil {
			return nil, err
		}
		cuts = append(cuts, cut...)
	}
	if len(added) == 0 {
		return cuts, nil
	}
	cut, err := s.addEntries(n, added)
	return append(cuts, cut), err
}

func (s *source) changeEntry(n, key *yaml.Node, w entry) ([]splice, error) {
	old := value(n, w.key)
	end, err := s.end(old)
	if err != nil {
		return nil, err
	}
	switch {
	case w.value == "" && n.Style&yaml.FlowStyle != 0:
		return s.cutFlow(n, key, end)
	case w.value == "":
		return []splice{{s.lineStart(s.offset(key)), s.lineEnd(end), ""}}, nil
	case sameValue(old, w.value):
		return nil, nil
	}
	return []splice{{s.offset(old), end, w.value}}, nil
}

// sameValue spares the owner's spelling: 0.1TB stays when 100GB is wanted.
func sameValue(old *yaml.Node, wanted string) bool {
	if scalar(old.Value) == wanted || old.Value == wanted {
		return true
	}
	for _, k := range []farm.Kind{farm.KindBytes, farm.KindBits, farm.KindPlain} {
		a, errA := farm.ParseQuantity("", old.Value, k)
		b, errB := farm.ParseQuantity("", wanted, k)
		if errA == nil && errB == nil {
			return a == b
		}
	}
	return false
}

// cutFlow takes an entry out of {a: 1, b: 2} with the comma it no longer needs.
func (s *source) cutFlow(n, key *yaml.Node, end int) ([]splice, error) {
	i := slices.Index(n.Content, key)
	if i > 0 {
		before, err := s.end(n.Content[i-1])
		return []splice{{before, end, ""}}, err
	}
	if len(n.Content) > 2 {
		return []splice{{s.offset(key), s.offset(n.Content[2]), ""}}, nil
	}
	return []splice{{s.offset(key), end, ""}}, nil
}

// addEntries puts new entries after the last plain value of the mapping.
func (s *source) addEntries(n *yaml.Node, added []entry) (splice, error) {
	last := len(n.Content) - 1
	for last > 0 && n.Content[last].Kind != yaml.ScalarNode {
		last -= 2
	}
	if last <= 0 {
		return splice{}, fmt.Errorf("no place found for %q", added[0].key)
	}
	at, err := s.end(n.Content[last])
	if err != nil {
		return splice{}, err
	}
	var b strings.Builder
	if n.Style&yaml.FlowStyle != 0 {
		for _, e := range added {
			fmt.Fprintf(&b, ", %s: %s", e.key, e.value)
		}
		return splice{at, at, b.String()}, nil
	}
	indent := strings.Repeat(" ", n.Content[last-1].Column-1)
	at = s.lineEnd(at)
	if at > 0 && s.text[at-1] != '\n' {
		b.WriteByte('\n') // the file's last line had no end
	}
	for _, e := range added {
		fmt.Fprintf(&b, "%s%s: %s\n", indent, e.key, e.value)
	}
	return splice{at, at, b.String()}, nil
}

func (s *source) lineStart(at int) int { return bytes.LastIndexByte(s.text[:at], '\n') + 1 }

// lineEnd is the first byte of the next line.
func (s *source) lineEnd(at int) int {
	if i := bytes.IndexByte(s.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(s.text)
}
