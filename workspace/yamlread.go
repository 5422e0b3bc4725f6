package workspace

import (
	"bytes"
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// reader walks a YAML node tree strictly and collects every fault.
type reader struct {
	faults
	// What Check says of these is only a consequence of a fault already found:
	bad   map[*yaml.Node]bool // values with a fault
	meant map[missing]bool    // keys that were meant by a misspelt one
}

// missing is a key that a mapping does not have.
type missing struct {
	in  *yaml.Node
	key string
}

// maxDepth is deeper than any file here and keeps a hostile one cheap.
const maxDepth = 32

// parseYAML is the root mapping of a file; nil when there is a fault already.
func (r *reader) parseYAML(src []byte) *yaml.Node {
	var doc yaml.Node
	if len(bytes.TrimSpace(src)) == 0 {
		r.add(1, "the file is empty")
		return nil
	}
	if err := yaml.Load(src, &doc); err != nil {
		r.syntax(err)
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		r.add(1, "the file holds no keys")
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		r.add(root.Line, "the file must hold keys and values, not %s", kindWord(root))
		return nil
	}
	r.rejectAliases(root, 0)
	if len(r.list) > 0 {
		return nil
	}
	return root
}

func (r *reader) syntax(err error) {
	var one *yaml.LoadError
	if errors.As(err, &one) && one.Mark.Line > 0 {
		text := one.Message
		if one.ContextMsg != "" {
			text += " (" + one.ContextMsg
			if one.ContextMark.Line > 0 && one.ContextMark.Line != one.Mark.Line {
				text += " that began in line " + strconv.Itoa(one.ContextMark.Line)
			}
			text += ")"
		}
		r.add(one.Mark.Line, "this is not YAML: %s", text)
		return
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "found multiple"):
		r.add(1, "the file holds several documents (---): one is meant")
	case strings.Contains(text, "no documents"):
		r.add(1, "the file holds only comments")
	default:
		r.add(1, "this is not YAML: %s", text)
	}
}

// rejectAliases refuses *alias and &anchor: a value that stands somewhere else
// can neither be reviewed in its place nor edited in its place.
func (r *reader) rejectAliases(n *yaml.Node, depth int) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		r.add(n.Line, "anchors and aliases (&, *) are not read here: write the value out")
		return
	}
	if depth > maxDepth {
		r.add(n.Line, "values are nested more than %d deep", maxDepth)
		return
	}
	for _, c := range n.Content {
		r.rejectAliases(c, depth+1)
	}
}

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	r.faultAt(n.Line, n, format, args...)
}

// faultAt is a fault of value n that shows in another line: that of its key.
func (r *reader) faultAt(line int, n *yaml.Node, format string, args ...any) {
	r.markBad(n)
	r.add(line, format, args...)
}

// markBad says that a fault of value n, or of something in it, is known.
func (r *reader) markBad(n *yaml.Node) {
	if r.bad == nil {
		r.bad = map[*yaml.Node]bool{}
	}
	r.bad[n] = true
}

// unknown is the fault of a key that nobody knows.
func (r *reader) unknown(n, k, v *yaml.Node, where string, known []string) {
	near := nearest(k.Value, known)
	if near == "" {
		r.faultAt(k.Line, v, "unknown key %q in %s; known are %s", k.Value, where, strings.Join(known, ", "))
		return
	}
	if r.meant == nil {
		r.meant = map[missing]bool{}
	}
	r.meant[missing{n, near}] = true
	r.faultAt(k.Line, v, "unknown key %q in %s; did you mean %q?", k.Value, where, near)
}

// fields calls use for each key of mapping n. where names the mapping in
// errors: "side A of pair dbshard001". A key that use does not know comes back
// as false and is a fault; known are the keys to suggest.
func (r *reader) fields(n *yaml.Node, where func() string, known []string, use func(key string, v *yaml.Node) bool) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be keys and values, not %s", where(), kindWord(n))
		return
	}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			r.fault(k, "a key in %s is %s: keys are words", where(), kindWord(k))
			continue
		}
		first, twice := seen[k.Value]
		if !twice {
			seen[k.Value] = k.Line
		}
		if twice {
			r.faultAt(k.Line, v, "key %q is there twice in %s, first in line %d", k.Value, where(), first)
		} else if !use(k.Value, v) {
			r.unknown(n, k, v, where(), known)
		}
	}
}

// named calls use for each entry of a mapping whose keys are free names.
func (r *reader) named(n *yaml.Node, where string, use func(name string, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be keys and values, not %s", where, kindWord(n))
		return
	}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			r.fault(k, "a key in %s is %s: keys are words", where, kindWord(k))
		} else if first, twice := seen[k.Value]; twice {
			r.faultAt(k.Line, v, "key %q is there twice in %s, first in line %d", k.Value, where, first)
		} else {
			seen[k.Value] = k.Line
			use(k.Value, v)
		}
	}
}

// value is the value of a key in a mapping, or nil.
func value(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// items are the entries of a sequence.
func (r *reader) items(n *yaml.Node, where string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "%s must be a list, not %s", where, kindWord(n))
		return nil
	}
	return n.Content
}

func (r *reader) text(n *yaml.Node, what func() string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.fault(n, "%s must be a word, not %s", what(), kindWord(n))
		return ""
	}
	return n.Value
}

// whole is a whole number from least to most.
func (r *reader) whole(n *yaml.Node, what func() string, least, most int64) int64 {
	if n.Kind == yaml.ScalarNode && isPlain(n) {
		v, err := strconv.ParseInt(n.Value, 10, 64)
		if err == nil && v >= least && v <= most {
			return v
		}
	}
	shown := kindWord(n)
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		shown = n.Value
	}
	if !isPlain(n) && n.Kind == yaml.ScalarNode {
		shown = "the text " + strconv.Quote(n.Value)
	}
	r.fault(n, "%s must be a whole number from %d to %d, not %s", what(), least, most, shown)
	return 0
}

func (r *reader) quantity(n *yaml.Node, what func() string, k farm.Kind) float64 {
	text := n.Value
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		text = kindWord(n)
	}
	v, err := farm.ParseQuantity("", text, k)
	if err != nil {
		r.fault(n, "%s%s", what(), err)
		return 0
	}
	return v
}

func isPlain(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// kindWord says what a node is, for people.
func kindWord(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "keys and values"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	default:
		return strconv.Quote(n.Value)
	}
}

// checked adds what a Check said, at the line each path leads to. Problems of
// a value that could not even be read are left out.
func (r *reader) checked(root *yaml.Node, ps []farm.Problem) {
	for _, p := range ps {
		n, line, rest := follow(root, p.Path)
		if !r.bad[n] && !r.meant[missing{n, rest}] {
			r.add(line, "%s", p.Text)
		}
	}
}

// follow finds the node that a path such as pairs[3].sides.B.host names, or
// the deepest one on the way, its line, and what is left of the path.
func follow(n *yaml.Node, path string) (at *yaml.Node, line int, rest string) {
	line = n.Line
	for path != "" {
		next, rest, nextLine := step(n, path)
		if next == nil {
			return n, line, strings.TrimPrefix(path, ".")
		}
		n, path, line = next, rest, nextLine
	}
	return n, line, ""
}

func step(n *yaml.Node, path string) (next *yaml.Node, rest string, line int) {
	path = strings.TrimPrefix(path, ".")
	if n.Kind == yaml.SequenceNode && strings.HasPrefix(path, "[") {
		number, rest, _ := strings.Cut(path[1:], "]")
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(n.Content) {
			return nil, "", 0
		}
		return n.Content[i], rest, n.Content[i].Line
	}
	if n.Kind != yaml.MappingNode {
		return nil, "", 0
	}
	// The longest key that the path starts with: names may hold dots.
	best := -1
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i].Value
		if k == "" || !strings.HasPrefix(path, k) || best >= 0 && len(k) <= len(n.Content[best].Value) {
			continue
		}
		if after := path[len(k):]; after == "" || after[0] == '.' || after[0] == '[' {
			best = i
		}
	}
	if best < 0 {
		return nil, "", 0
	}
	return n.Content[best+1], path[len(n.Content[best].Value):], n.Content[best].Line
}

// sortedKeys are the keys of a set of names, sorted.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return slices.Clip(keys)
}

func firstKey(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i]
		}
	}
	return nil
}
