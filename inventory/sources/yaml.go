package sources

import (
	"errors"

	"go.yaml.in/yaml/v4"

	"stowage/inventory/claims"
)

// yaml reads a YAML file as nodes: names and ports as they are written, for
// 0755 is a number to one reader and a word to the next.
func (r *reader) yaml(file string, src []byte) {
	if root := r.yamlTree(file, src); root != nil {
		r.entries(file, root)
	}
}

func (r *reader) yamlTree(file string, src []byte) *node {
	var doc yaml.Node
	if err := yaml.Load(src, &doc); err != nil {
		line, text := 1, err.Error()
		var one *yaml.LoadError
		if errors.As(err, &one) && one.Mark.Line > 0 {
			line, text = one.Mark.Line, one.Message
		}
		r.fault(claims.Place{Where: file, Line: line}, "this is not YAML: %s", text)
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil
	}
	t := yamlTree{r: r, file: file}
	return t.convert("", doc.Content[0], 0)
}

type yamlTree struct {
	r     *reader
	file  string
	nodes int
}

// mostNodes bounds what aliases of aliases can grow to.
const mostNodes = 8_000_000

func (t *yamlTree) convert(key string, n *yaml.Node, depth int) *node {
	out := &node{key: key, line: n.Line}
	t.nodes++
	if depth > mostDepth || t.nodes > mostNodes {
		if t.nodes <= mostNodes || depth <= mostDepth {
			t.r.fault(claims.Place{Where: t.file, Line: n.Line}, "values are nested more than %d deep, or aliases make more than %d of them", mostDepth, mostNodes)
		}
		out.isPlain, out.unknown = true, true
		return out
	}
	switch n.Kind {
	case yaml.AliasNode:
		return t.convert(key, n.Alias, depth+1)
	case yaml.ScalarNode:
		out.isPlain, out.text = true, n.Value
		out.unknown = n.Tag == "!vault"
		if n.Tag == "!!null" {
			out.text = ""
		}
	case yaml.SequenceNode:
		out.isList = true
		for _, c := range n.Content {
			out.items = append(out.items, t.convert("", c, depth+1))
		}
	case yaml.MappingNode:
		var merged []*node
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			item := t.convert(k.Value, v, depth+1)
			if k.Value == "<<" {
				merged = append(merged, item) // what is written out goes before it
				continue
			}
			item.line = k.Line
			out.items = append(out.items, item)
		}
		for _, m := range merged {
			out.merge(m)
		}
	}
	return out
}

// merge takes over what << brings, but for keys that are there.
func (n *node) merge(from *node) {
	lists := []*node{from}
	if from.isList {
		lists = from.items
	}
	for _, l := range lists {
		for _, item := range l.items {
			if len(n.walk(item.key)) == 0 {
				n.items = append(n.items, item)
			}
		}
	}
}
