package sources

import (
	"slices"
	"strconv"
	"strings"

	"stowage/inventory/claims"
)

// node is a value of a file in which values hold values: JSON, YAML, PHP.
type node struct {
	key     string // its name in what it is in
	text    string // of a plain value
	unknown bool   // there is a value, and nobody may read it here
	isList  bool
	isPlain bool
	line    int
	items   []*node
	index   map[string]*node // by key, while a tree is made key by key
}

// mostDepth is deeper than anybody writes.
const mostDepth = 64

// walk finds the nodes that a path names: keys with dots between, * for all,
// a number for one of a list.
func (n *node) walk(path string) []*node {
	at := []*node{n}
	if path == "" || path == "." {
		return at
	}
	for _, part := range strings.Split(path, ".") {
		var next []*node
		for _, x := range at {
			for i, item := range x.items {
				if part == "*" || !x.isList && item.key == part || x.isList && strconv.Itoa(i) == part {
					next = append(next, item)
				}
			}
		}
		at = next
	}
	return at
}

// plain are the plain values that a path leads to; a list of them is all of them.
func (n *node) plain(path string) []*node {
	var out []*node
	for _, x := range n.walk(path) {
		switch {
		case x.isPlain:
			out = append(out, x)
		case x.isList:
			out = append(out, slices.DeleteFunc(slices.Clone(x.items), func(y *node) bool { return !y.isPlain })...)
		}
	}
	return out
}

// address is what HOST:PORT leads to: two plain values as one.
func (n *node) address(path string) []*node {
	host, port, two := splitName(path)
	if !two {
		return n.plain(path)
	}
	hosts, ports := n.plain(host), n.plain(port)
	if len(hosts) == 1 && len(ports) == 1 {
		one := *hosts[0]
		one.text, one.unknown = together(one.text, ports[0].text), one.unknown || ports[0].unknown
		return []*node{&one}
	}
	return hosts
}

// theKey stands for the key of an entry where a path is asked for.
const theKey = "@key"

// entries makes claims of a tree: each names its entries, name and attributes
// are paths in an entry.
func (r *reader) entries(file string, root *node) {
	each := r.spec.Each
	if each == "" {
		each = "*"
	}
	found := root.walk(each)
	if len(found) == 0 {
		r.fault(claims.Place{Where: file, Line: root.line}, "nothing is at %s, where the entries should be", each)
	}
	attributes := r.spec.Attributes
	if len(attributes) == 0 {
		attributes = map[string]string{"address": "."}
	}
	for _, e := range found {
		r.entry(file, e, attributes)
	}
}

func (r *reader) entry(file string, e *node, attributes map[string]string) {
	place := claims.Place{Where: file, Line: e.line}
	names := []*node{{text: e.key, isPlain: true, line: e.line}}
	switch path := r.spec.Called; path {
	case "", theKey:
	case "@dsn":
		names = nil
		for _, name := range sortedKeys(attributes) {
			for _, v := range e.plain(attributes[name]) {
				if d, ok := parseDSN(v.text); ok && d.database != "" {
					names = []*node{{text: d.database, isPlain: true, line: v.line}}
				}
			}
		}
	default:
		names = e.plain(path)
	}
	if len(names) == 0 || names[0].text == "" || names[0].unknown {
		r.fault(place, "the entry has no name at %s", r.spec.Called)
		return
	}
	for _, name := range names { // a server with a list of shards: one entry each
		s := claims.Subject{Kind: r.subject(claims.Shard), Name: name.text}
		r.say(s, "", "", place)
		for _, attribute := range sortedKeys(attributes) {
			path := attributes[attribute]
			values := []*node{{text: e.key, isPlain: true, line: e.line}}
			if path != theKey {
				values = e.address(path)
			}
			for _, v := range values {
				if v.unknown {
					r.hide(s, attribute, "computed", claims.Place{Where: file, Line: v.line})
				} else if v.text != "" {
					r.value(s, attribute, v.text, claims.Place{Where: file, Line: v.line})
				}
			}
		}
	}
}
