package workspace

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"stowage/due"
	"stowage/farm"
	"stowage/placement"
)

// groupList reads together and apart: names of groups.
func (r *goalsReader) groupList(n *yaml.Node, key string) []placement.Group {
	var list []placement.Group
	for _, item := range r.items(n, key) {
		name := r.text(item, func() string { return "an entry of " + key })
		g, ok := r.names.groups[name]
		switch {
		case name == "":
		case ok:
			list = append(list, placement.Group{Name: name, Pairs: g.pairs})
			if r.bad[g.node] {
				r.markBad(item)
			}
			continue
		case r.names.isPair[name]:
			r.fault(item, "%s is a pair, and %s is of groups: name one in groups", name, key)
		default:
			r.notThere(item, name, key, "group", r.names.groupList)
		}
		list = append(list, placement.Group{Name: name}) // rules are spoken of by number
	}
	return list
}

// bindings reads pin and forbid.
func (r *goalsReader) bindings(n *yaml.Node, key string) []placement.Binding {
	var list []placement.Binding
	for i, item := range r.items(n, key) {
		before := len(r.list)
		where := fmt.Sprintf("%s number %d", key, i+1)
		list = append(list, r.binding(item, where))
		if len(r.list) > before {
			r.markBad(item) // what it says of itself then is only a consequence
		}
	}
	return list
}

// windows reads when hosts may begin to be rolled.
func (r *goalsReader) windows(n *yaml.Node) (list []due.Window) {
	for i, item := range r.items(n, "windows") {
		before, where := len(r.list), fmt.Sprintf("window number %d", i+1)
		var w due.Window
		r.fields(item, func() string { return where }, windowKeys, func(key string, v *yaml.Node) bool {
			what := func() string { return key + " of " + where }
			switch key {
			case "days":
				w.Days = r.oneOrMore(v, "days of "+where)
			case "from":
				w.From = r.text(v, what)
			case "to":
				w.To = r.text(v, what)
			case "zone":
				w.Zone = r.text(v, what)
			default:
				return false
			}
			return true
		})
		for _, key := range []string{"from", "to"} {
			if item.Kind == yaml.MappingNode && value(item, key) == nil && !r.meant[missing{item, key}] {
				r.fault(item, "%s has no %s", where, key)
			}
		}
		if len(r.list) > before {
			r.markBad(item)
		}
		list = append(list, w)
	}
	return list
}

func (r *goalsReader) binding(n *yaml.Node, where string) placement.Binding {
	b := placement.Binding{}
	r.fields(n, func() string { return where }, bindingKeys, func(key string, v *yaml.Node) bool {
		switch key {
		case "what":
			b.What = r.what(v, "what of "+where)
		case "hosts":
			b.Hosts = r.hosts(v, "hosts of "+where)
		default:
			return false
		}
		return true
	})
	if n.Kind == yaml.MappingNode {
		for _, key := range bindingKeys {
			if value(n, key) == nil && !r.meant[missing{n, key}] {
				r.fault(n, "%s has no %s", where, key)
			}
		}
	}
	return b
}

// what reads pairs, instances, groups and patterns. A pattern that matches no
// pair may match instances: dbshard0*b.
func (r *goalsReader) what(n *yaml.Node, where string) []string {
	var list []string
	seen := map[string]bool{}
	add := func(words ...string) {
		for _, w := range words {
			if !seen[w] {
				seen[w] = true
				list = append(list, w)
			}
		}
	}
	for _, item := range entries(n) {
		word := r.text(item, func() string { return "an entry of " + where })
		g, isGroup := r.names.groups[word]
		switch {
		case word == "":
		case isGroup:
			for _, p := range g.pairs {
				add(string(p))
			}
		case r.names.copies[word] != nil:
			add(word)
		case isPattern(word):
			found := matches(word, r.names.pairs)
			if len(found) == 0 {
				found = matches(word, r.names.instances)
			}
			if len(found) == 0 {
				r.fault(item, "no pair and no instance matches %s in %s", word, where)
			}
			add(found...)
		default:
			r.notThere(item, word, where, "pair, instance or group", r.names.pairs, r.names.instances, r.names.groupList)
		}
	}
	return list
}

// entries are the items of a list, or the node itself.
func entries(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// hosts reads names and patterns of hosts, or labels that they have.
func (r *goalsReader) hosts(n *yaml.Node, where string) []farm.HostName {
	if n.Kind == yaml.MappingNode {
		return r.hostsWith(n, where)
	}
	var list []farm.HostName
	seen := map[string]bool{}
	for _, item := range entries(n) {
		word := r.text(item, func() string { return "an entry of " + where })
		found := []string{word}
		switch {
		case word == "":
			continue
		case r.names.isHost[word]:
		case isPattern(word):
			if found = matches(word, r.names.hostNames); len(found) == 0 {
				r.fault(item, "no host matches %s in %s", word, where)
			}
		default:
			r.notThere(item, word, where, "host", r.names.hostNames)
			continue
		}
		for _, h := range found {
			if !seen[h] {
				seen[h] = true
				list = append(list, farm.HostName(h))
			}
		}
	}
	return list
}

// hostsWith are the hosts that have one of the values of every label:
// {rack: r1}, {rack: [r1, r2], power: a}.
func (r *goalsReader) hostsWith(n *yaml.Node, where string) []farm.HostName {
	var found []int // indexes into names.hosts
	labels := 0
	r.named(n, where, func(label string, v *yaml.Node) {
		var these []int
		byValue := r.names.withLabel(label)
		for _, item := range entries(v) {
			word := r.text(item, func() string { return "label " + label + " of " + where })
			if word != "" && byValue[word] == nil {
				r.noSuchLabel(item, label, word, where, sortedKeys(byValue))
			}
			these = append(these, byValue[word]...)
		}
		slices.Sort(these)
		if these = slices.Compact(these); labels > 0 {
			these = both(found, these)
		}
		found = these
		labels++
	})
	list := make([]farm.HostName, 0, len(found))
	for _, i := range found {
		list = append(list, r.names.hosts[i].Name)
	}
	if len(list) == 0 && labels > 1 {
		r.fault(n, "no host has all labels of %s", where)
	}
	return list
}

// both are the numbers that are in two sorted lists.
func both(a, b []int) []int {
	var in []int
	for _, v := range a {
		if _, ok := slices.BinarySearch(b, v); ok {
			in = append(in, v)
		}
	}
	return in
}

func (r *goalsReader) noSuchLabel(n *yaml.Node, label, word, where string, known []string) {
	switch {
	case len(known) == 0:
		r.fault(n, "no host has a label %s, asked for in %s", label, where)
	case len(known) > 12:
		r.fault(n, "no host has %s %s, asked for in %s", label, word, where)
	default:
		r.fault(n, "no host has %s %s, asked for in %s; there are %s", label, word, where, strings.Join(known, ", "))
	}
}
