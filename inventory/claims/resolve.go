package claims

import (
	"cmp"
	"math/bits"
	"net"
	"slices"
	"strings"
)

// resolver knows who is meant by a name: sources call one machine db001,
// db001.example.com and 10.0.0.1, and one instance dbshard001a and
// 10.0.0.1:3306.
type resolver struct {
	set       *Set
	fresh     mask              // sources that have a vote
	root      []int             // by source: itself, or what it is a copy of
	hosts     map[string]string // name or address -> host
	instances map[string]string // host:port -> instance
	pairs     map[string]string // instance -> pair
	inferred  []inference
	// mentions are the sources that name a host as the place of something.
	mentions map[string]mask
	known    map[Subject]bool // subjects under names of their own
}

// mask is a set of sources.
type mask uint64

func (m mask) has(n int) bool { return m>>n&1 == 1 }
func (m mask) count() int     { return bits.OnesCount64(uint64(m)) }
func bit(n int) mask          { return 1 << n }

// roots are the sources that the members of m have their claims from.
func (r *resolver) roots(m mask) mask {
	var out mask
	for ; m != 0; m &= m - 1 {
		out |= bit(r.root[bits.TrailingZeros64(uint64(m))])
	}
	return out
}

// vote is what sources say of something while names are still being resolved.
type vote[T comparable] map[string]map[T]mask

func (v vote[T]) add(name string, value T, source uint8) {
	if v[name] == nil {
		v[name] = map[T]mask{}
	}
	v[name][value] |= bit(int(source))
}

// best is what most roots say, then stale sources; of equals, what the first
// source says.
func (v vote[T]) best(r *resolver, name string) (value T, weight int) {
	var first mask
	for x, m := range v[name] {
		w := r.weight(m)
		low := m & -m
		if w > weight || w == weight && low < first {
			value, weight, first = x, w, low
		}
	}
	return value, weight
}

// weight counts roots; who cannot be read now counts where nobody else says anything.
func (r *resolver) weight(m mask) int { return 2*r.roots(m&r.fresh).count() + min(1, m.count()) }

func newResolver(s *Set, fresh mask, root []int) *resolver {
	r := &resolver{set: s, fresh: fresh, root: root, hosts: map[string]string{}, instances: map[string]string{}, pairs: map[string]string{}, known: map[Subject]bool{}, mentions: map[string]mask{}}
	for _, sub := range s.subjects.things {
		if sub.Kind != Instance && sub.Kind != Host || !isSpot(sub.Name) {
			r.known[sub] = true
		}
	}
	host := r.attribute("host")
	for i := range s.rows { // machines that are named only as the place of something
		if w := &s.rows[i]; w.attribute == host {
			name := plainName(s.words.things[w.value])
			r.known[Subject{Host, name}] = true
			r.mentions[name] |= bit(int(w.source))
		}
	}
	r.findHosts()
	r.findInstances()
	return r
}

// findHosts learns which addresses are whose.
func (r *resolver) findHosts() {
	votes := vote[string]{}
	key := r.attribute("address")
	for i := range r.set.rows {
		w := &r.set.rows[i]
		sub := r.set.subjects.things[w.subject]
		if sub.Kind == Host && w.attribute == key && !w.unknown && r.known[sub] {
			address, _ := splitSpot(r.set.words.things[w.value])
			votes.add(r.short(sub.Name), address, w.source)
		}
	}
	weights := map[string]int{}
	for _, name := range sortedKeys(votes) {
		address, weight := votes.best(r, name)
		// Of two names for one address the one that others use is right.
		weight = weight*MostSources + r.roots(r.mentions[name]).count()
		if weight > weights[address] {
			r.hosts[address], weights[address] = name, weight
		}
	}
}

// short is a host's name without its domain, where another source has it so.
func (r *resolver) short(name string) string {
	if first, _, ok := strings.Cut(name, "."); ok && net.ParseIP(name) == nil && r.known[Subject{Host, first}] {
		return first
	}
	return name
}

// host is the host that a name or address means.
func (r *resolver) host(text string) string {
	text = plainName(text)
	if ip, _, ok := strings.Cut(text, "/"); ok {
		text = ip
	}
	if h, ok := r.hosts[text]; ok {
		return h
	}
	return r.short(text)
}

// spot is host:port with the host's own name.
func (r *resolver) spot(text string) string {
	host, port := splitSpot(text)
	return r.host(host) + ":" + port
}

// instance is the instance that a name or an address means; false where none is known.
func (r *resolver) instance(text string) (string, bool) {
	name := plainName(text)
	if r.known[Subject{Instance, name}] {
		return name, true
	}
	if found, ok := r.instances[r.spot(name)]; ok {
		return found, true
	}
	return r.spot(name), false
}

// findInstances learns which instance answers at which address, and to which
// pair it belongs.
func (r *resolver) findInstances() {
	type of struct {
		subject uint32
		source  uint8
	}
	hosts, ports := map[of]string{}, map[of]string{}
	pairs, spots := vote[string]{}, vote[string]{}
	address, host, port, pair := r.attribute("address"), r.attribute("host"), r.attribute("port"), r.attribute("pair")
	for i := range r.set.rows {
		w := &r.set.rows[i]
		sub := r.set.subjects.things[w.subject]
		if sub.Kind != Instance || w.unknown || !r.known[sub] {
			continue
		}
		value := r.set.words.things[w.value]
		switch w.attribute {
		case address:
			spots.add(sub.Name, r.spot(value), w.source)
		case host:
			hosts[of{w.subject, w.source}] = r.host(value)
		case port:
			ports[of{w.subject, w.source}] = plainValue(number, value)
		case pair:
			pairs.add(sub.Name, plainName(value), w.source)
		}
	}
	for at, h := range hosts {
		spots.add(r.set.subjects.things[at.subject].Name, h+":"+cmp.Or(ports[at], usualPort), at.source)
	}
	// An address that some say and others do not still leads to the instance:
	// a move may be half known. Of two instances with equal right to an address
	// it is that of the one which has no other.
	weights := map[string]int{}
	for _, name := range sortedKeys(spots) {
		for spot, m := range spots[name] {
			w, before := r.weight(m), r.instances[spot]
			if w > weights[spot] || w == weights[spot] && before != "" && len(spots[name]) < len(spots[before]) {
				r.instances[spot], weights[spot] = name, w
			}
		}
	}
	for name := range pairs {
		r.pairs[name], _ = pairs.best(r, name)
	}
	r.inferPairs(pairs)
}

// attribute is the number of an attribute's name; one that nobody used gets one too.
func (r *resolver) attribute(name string) uint16 { return uint16(r.set.names.number(name)) }

// subject is who is meant by a subject.
func (r *resolver) subject(s Subject) Subject {
	switch {
	case s.Kind == Host:
		if host, _, err := net.SplitHostPort(s.Name); err == nil {
			return Subject{Host, r.host(host)} // an exporter's host:port
		}
		return Subject{Host, r.host(s.Name)}
	case s.Kind == Instance && !r.known[s]:
		name, _ := r.instance(s.Name)
		return Subject{Instance, name}
	}
	return s
}

// nowhere begins a value that leads to nothing anybody knows.
const nowhere = "?"

// value is a value as it is compared.
func (r *resolver) value(k Kind, attribute string, s shape, text string) string {
	switch s {
	case place:
		if k == Host {
			address, _ := splitSpot(text)
			return address
		}
		return r.host(text)
	case spot:
		if strings.TrimSpace(text) == "" {
			return ""
		}
		name, ok := r.instance(text)
		if !ok {
			return nowhere + name
		}
		return name
	case group:
		switch attribute {
		case "address", "instance":
			name, ok := r.instance(text)
			if !ok {
				return nowhere + name
			}
			return r.pairs[name] // "" where nobody says
		}
		return plainName(text)
	}
	return plainValue(s, text)
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
