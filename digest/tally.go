package digest

import (
	"math/bits"
	"slices"
	"sort"
)

// tallySize is how many different names a tally keeps.
const tallySize = 32

// tally counts names (users, hosts, databases, tables) in bounded memory. When there are more than tallySize names it
// keeps those with the smallest hash values: a name among the smallest of all is among the smallest of every part, so
// its count is exact and the result does not depend on the order in which parts were merged. Most classes see one user,
// one host and one database only, and there may be very many classes, so one name takes little room.
type tally struct {
	only nameCount
	all  *manyNames // as soon as there are two
}

// nameCount is a name and how many events had it.
type nameCount struct {
	name *knownName
	n    uint64
}

// manyNames is a tally of two names or more.
type manyNames struct {
	names   []nameCount // ascending by hash
	dropped bool        // there were names that are not kept
	guess   [32]uint8   // by the last bits of a hash: where in names it was counted last
}

// knownName is a name that many classes have.
type knownName struct {
	hash uint64
	text string
}

// nameBook keeps one copy of every name.
type nameBook map[uint64]*knownName

// maxNames is how many names a book remembers; more, and some are kept twice.
const maxNames = 4096

func (b *nameBook) find(hash uint64, text []byte) *knownName {
	if k := (*b)[hash]; k != nil && k.text == string(text) {
		return k
	}
	k := &knownName{hash, string(text)}
	if *b == nil || len(*b) >= maxNames {
		*b = nameBook{}
	}
	(*b)[hash] = k
	return k
}

// add counts one event.
func (t *tally) add(b *nameBook, hash uint64, name []byte) {
	if t.all == nil {
		if t.only.name != nil && t.only.name.hash == hash {
			t.only.n++
			return
		}
		t.insert(b.find(hash, name), 1)
		return
	}
	t.all.add(b, hash, name)
}

func (m *manyNames) add(b *nameBook, hash uint64, name []byte) {
	g := int(m.guess[hash%uint64(len(m.guess))])
	if g < len(m.names) && m.names[g].name.hash == hash {
		m.names[g].n++
		return
	}
	if len(m.names) == tallySize && hash > m.names[tallySize-1].name.hash {
		m.dropped = true
		return
	}
	i, found := m.find(hash)
	if !found {
		m.insert(i, b.find(hash, name))
	}
	m.names[i].n++
	m.guess[hash%uint64(len(m.guess))] = uint8(i)
}

func (m *manyNames) find(hash uint64) (int, bool) {
	return slices.BinarySearchFunc(m.names, hash, func(c nameCount, hash uint64) int {
		switch {
		case c.name.hash < hash:
			return -1
		case c.name.hash > hash:
			return 1
		}
		return 0
	})
}

// insert makes room for a name at i, of which there are none yet.
func (m *manyNames) insert(i int, name *knownName) {
	m.names = insertTight(m.names, i, nameCount{name: name})
	if len(m.names) > tallySize {
		m.names = m.names[:tallySize]
		m.dropped = true
	}
}

// insert counts n events.
func (t *tally) insert(name *knownName, n uint64) {
	switch {
	case t.all != nil:
	case t.only.name == nil:
		t.only = nameCount{name, n}
		return
	case t.only.name.hash == name.hash:
		t.only.n += n
		return
	default:
		t.all = &manyNames{names: []nameCount{t.only}}
		t.only = nameCount{}
	}
	i, found := t.all.find(name.hash)
	if !found {
		if t.all.insert(i, name); i >= tallySize {
			return
		}
	}
	t.all.names[i].n += n
}

// names is what is counted, ascending by hash.
func (t *tally) names() []nameCount {
	switch {
	case t.all != nil:
		return t.all.names
	case t.only.name != nil:
		return []nameCount{t.only}
	}
	return nil
}

// more says whether there were names that are not kept.
func (t *tally) more() bool { return t.all != nil && t.all.dropped }

func (t *tally) setMore() {
	if t.all == nil {
		t.all = &manyNames{names: t.names()}
		t.only = nameCount{}
	}
	t.all.dropped = true
}

func (t *tally) merge(from *tally) {
	for _, n := range from.names() {
		t.insert(n.name, n.n)
	}
	if from.more() {
		t.setMore()
	}
}

// ranked is the names by count, largest first, ties by name.
func (t *tally) ranked() []nameCount {
	out := append([]nameCount(nil), t.names()...)
	sort.Slice(out, func(i, j int) bool {
		if out[i].n != out[j].n {
			return out[i].n > out[j].n
		}
		return out[i].name.text < out[j].name.text
	})
	return out
}

// insertTight is slices.Insert for lists of which there may be 100,000: it leaves a quarter of room, not twice the size.
func insertTight[T any](list []T, i int, v T) []T {
	if len(list) == cap(list) {
		list = append(make([]T, 0, len(list)+1+len(list)/4), list...)
	}
	var none T
	list = append(list, none)
	copy(list[i+1:], list[i:])
	list[i] = v
	return list
}

// appendTight is append for lists of which there may be 100,000.
func appendTight(list, more []byte) []byte {
	if n := len(list) + len(more); n > cap(list) {
		list = append(make([]byte, 0, n+len(list)/4), list...)
	}
	return append(list, more...)
}

// hashBytes is a 64-bit hash that is the same in every process and on every machine: what a tally keeps depends on it.
// It multiplies and folds eight bytes at a time, as wyhash does; it is not a defence against chosen collisions, which could
// only spoil the attacker's own names.
func hashBytes(b []byte) uint64 {
	const k0, k1 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	h := uint64(len(b)) ^ k1
	for len(b) >= 8 {
		h = fold(h^le64(b), k0)
		b = b[8:]
	}
	var tail uint64
	for i := len(b) - 1; i >= 0; i-- {
		tail = tail<<8 | uint64(b[i])
	}
	return fold(fold(h^tail, k0), k1)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func le64(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
