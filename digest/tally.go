package digest

import (
	"math/bits"
	"sort"
)

// tallySize is how many different names a tally keeps.
const tallySize = 32

// tally counts names (users, hosts, databases, tables) in bounded memory. When there are more than tallySize names it
// keeps those with the smallest hash values: a name among the smallest of all is among the smallest of every part, so
// its count is exact and the result does not depend on the order in which parts were merged.
type tally struct {
	names []named // ascending by hash
	last  int     // where the previous event was counted: events of one session come in a row
	more  bool    // there were names that are not kept
}

type named struct {
	hash uint64
	n    uint64
	name string
}

func (t *tally) add(hash uint64, name []byte) {
	if t.last < len(t.names) && t.names[t.last].hash == hash {
		t.names[t.last].n++
		return
	}
	for i := range t.names {
		if t.names[i].hash == hash {
			t.names[i].n++
			t.last = i
			return
		}
	}
	if len(t.names) == tallySize && hash > t.names[tallySize-1].hash {
		t.more = true
		return
	}
	t.insert(named{hash, 1, string(name)})
}

func (t *tally) insert(n named) {
	i := sort.Search(len(t.names), func(i int) bool { return t.names[i].hash >= n.hash })
	if i < len(t.names) && t.names[i].hash == n.hash {
		t.names[i].n += n.n
		return
	}
	t.names = append(t.names, named{})
	copy(t.names[i+1:], t.names[i:])
	t.names[i] = n
	t.last = i
	if len(t.names) > tallySize {
		t.names = t.names[:tallySize]
		t.more = true
	}
}

func (t *tally) merge(from *tally) {
	for _, n := range from.names {
		t.insert(n)
	}
	t.more = t.more || from.more
}

// ranked is the names by count, largest first, ties by name.
func (t *tally) ranked() []named {
	out := append([]named(nil), t.names...)
	sort.Slice(out, func(i, j int) bool {
		if out[i].n != out[j].n {
			return out[i].n > out[j].n
		}
		return out[i].name < out[j].name
	})
	return out
}

// hashBytes is a 64-bit hash that is the same in every process and on every machine: what a tally keeps depends on it.
// It multiplies and folds eight bytes at a time, as wyhash does; it is no defence against chosen collisions, which could
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
