package workspace

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
	"stowage/placement"
)

// names are what rules in goals.yaml may speak of.
type names struct {
	pairs     []string // in the order of the farm, as everything here
	instances []string
	hosts     []farm.Host // those that may be bought at the end
	hostNames []string
	isPair    map[string]bool
	copies    map[string][]placement.Copy // of pairs and instances
	isHost    map[string]bool
	labels    map[string]map[string][]int // by label and value: indexes into hosts; see withLabel
	groups    map[string]*group
	groupList []string
}

// group is an entry of groups. Its pairs are known once it has been resolved.
type group struct {
	node  *yaml.Node
	state int
	pairs []farm.PairName
}

// The states of a group: one that is open while it is needed contains itself.
const (
	unread = iota
	open
	resolved
)

func newNames(f *farm.Farm) names {
	ns := names{
		isPair: make(map[string]bool, len(f.Pairs)), copies: placement.Copies(f),
		isHost: make(map[string]bool, len(f.Hosts)), labels: map[string]map[string][]int{}, groups: map[string]*group{},
	}
	for _, p := range f.Pairs {
		ns.pairs = append(ns.pairs, string(p.Name))
		ns.isPair[string(p.Name)] = true
		for _, s := range p.SideNames() {
			ns.instances = append(ns.instances, string(p.Instance(s)))
		}
	}
	ns.addHosts(f.Hosts)
	return ns
}

func (ns *names) addHosts(hs []farm.Host) {
	for _, h := range hs {
		ns.hosts = append(ns.hosts, h)
		ns.hostNames = append(ns.hostNames, string(h.Name))
		ns.isHost[string(h.Name)] = true
	}
}

// withLabel are the hosts that have a label, by its value. Hosts are not added
// afterwards.
func (ns *names) withLabel(label string) map[string][]int {
	byValue, ok := ns.labels[label]
	if !ok {
		byValue = map[string][]int{}
		for i, h := range ns.hosts {
			if v := h.Labels[label]; v != "" {
				byValue[v] = append(byValue[v], i)
			}
		}
		ns.labels[label] = byValue
	}
	return byValue
}

// isPattern reports whether a word is a pattern as the shell has it: * stands
// for any text, ? for one character, [0-9] for one of several.
func isPattern(word string) bool { return strings.ContainsAny(word, "*?[") }

// matches are the words that match a pattern.
func matches(pattern string, words []string) []string {
	var found []string
	for _, w := range words {
		if ok, err := path.Match(pattern, w); err == nil && ok {
			found = append(found, w)
		}
	}
	return found
}

// groups learns the names of all groups, then resolves every one, so that a
// fault in one that nobody uses shows too.
func (r *goalsReader) groups(n *yaml.Node) {
	r.named(n, "groups", func(name string, v *yaml.Node) {
		switch {
		case r.names.isPair[name]:
			r.fault(v, "group %s has the name of a pair: give it another", name)
		case r.names.copies[name] != nil:
			r.fault(v, "group %s has the name of an instance: give it another", name)
		case isPattern(name):
			r.fault(v, "group %s has the name of a pattern (*, ?, []): give it another", name)
		default:
			r.names.groups[name] = &group{node: v}
			r.names.groupList = append(r.names.groupList, name)
		}
	})
	for _, name := range r.names.groupList {
		r.resolve(name, nil)
	}
}

// resolve finds the pairs of a group. way are the groups that led here.
func (r *goalsReader) resolve(name string, way []string) []farm.PairName {
	g := r.names.groups[name]
	if g.state != unread {
		return g.pairs
	}
	g.state = open
	way = append(way, name)
	before, list := len(r.list), newPairList()
	for _, n := range entries(g.node) {
		word := r.text(n, func() string { return "an entry of group " + name })
		if inner, ok := r.names.groups[word]; ok && inner.state == open {
			circle := append(slices.Clone(way[slices.Index(way, word):]), word)
			r.fault(n, "groups go in a circle: %s", strings.Join(circle, " -> "))
		} else if ok {
			list.add(r.resolve(word, way)...)
		} else if word != "" {
			list.add(r.pairNamed(n, word, "group "+name)...)
		}
	}
	if len(list.pairs) == 0 && len(r.list) == before {
		r.fault(g.node, "group %s is empty", name)
	}
	if len(r.list) > before {
		r.markBad(g.node) // what rules say of it then is only a consequence
	}
	g.state, g.pairs = resolved, list.pairs
	return g.pairs
}

// pairNamed are the pairs that one word stands for: a pair, a group, a pattern
// of pairs.
func (r *goalsReader) pairNamed(n *yaml.Node, word, where string) []farm.PairName {
	if g, ok := r.names.groups[word]; ok {
		return g.pairs
	}
	switch {
	case r.names.isPair[word]:
		return []farm.PairName{farm.PairName(word)}
	case r.names.copies[word] != nil:
		r.fault(n, "%s is one instance, and %s is of whole pairs: write %s", word, where, r.names.copies[word][0].Pair)
		return nil
	case isPattern(word):
		return r.pattern(n, word, where)
	}
	r.notThere(n, word, where, "pair or group", r.names.pairs, r.names.groupList)
	return nil
}

func (r *goalsReader) pattern(n *yaml.Node, word, where string) []farm.PairName {
	var pairs []farm.PairName
	for _, p := range matches(word, r.names.pairs) {
		pairs = append(pairs, farm.PairName(p))
	}
	if len(pairs) == 0 {
		r.fault(n, "no pair matches %s in %s", word, where)
	}
	return pairs
}

// notThere is the fault of a name that nothing has. Looking for the nearest
// one takes milliseconds in a large farm: beyond the faults that are shown it
// would be for nothing.
func (r *goalsReader) notThere(n *yaml.Node, word, where, what string, known ...[]string) {
	near := ""
	if len(r.list) < shownFaults {
		near = nearest(word, slices.Concat(known...))
	}
	if near == "" {
		r.fault(n, "unknown %s %q in %s", what, word, where)
		return
	}
	r.fault(n, "unknown %s %q in %s; did you mean %q?", what, word, where, near)
}

// pairs reads a list of pairs, groups and patterns.
func (r *goalsReader) pairs(n *yaml.Node, where string) []farm.PairName {
	list := newPairList()
	for _, item := range entries(n) {
		if word := r.text(item, func() string { return "an entry of " + where }); word != "" {
			list.add(r.pairNamed(item, word, where)...)
		}
	}
	return list.pairs
}

// pairList is pairs in the order in which they were first named.
type pairList struct {
	pairs []farm.PairName
	seen  map[farm.PairName]bool
}

func newPairList() *pairList { return &pairList{seen: map[farm.PairName]bool{}} }

func (l *pairList) add(ps ...farm.PairName) {
	for _, p := range ps {
		if !l.seen[p] {
			l.seen[p] = true
			l.pairs = append(l.pairs, p)
		}
	}
}
