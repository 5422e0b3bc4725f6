package capture

// TCP avoids fragments, so they are rare: few are kept, and the oldest
// unfinished datagram gives way.
const (
	maxDatagrams = 32
	maxDatagram  = 64 << 10
)

type fragmentKey struct {
	src, dst [16]byte
	id       uint32
}

// fragments are the datagrams of which parts have come.
type fragments struct {
	waiting []datagram
}

// datagram is put together from its fragments. have counts bytes: fragments
// that overlap make it wrong, and then the datagram is never complete.
type datagram struct {
	key   fragmentKey
	data  []byte
	have  int
	total int // 0: the last fragment has not come
	seen  []int
}

func (t *tap) fragment(key fragmentKey, p pair, at int, more bool, body []byte, missing int) {
	if missing > 0 || at+len(body) > maxDatagram || len(body) == 0 {
		t.note(noFragments, 1)
		return
	}
	f := &t.fragments
	k := f.find(key)
	if k < 0 {
		if len(f.waiting) == maxDatagrams {
			f.waiting = f.waiting[:copy(f.waiting, f.waiting[1:])]
			t.note(noFragments, 1)
		}
		f.waiting = append(f.waiting, datagram{key: key})
		k = len(f.waiting) - 1
	}
	if g := &f.waiting[k]; g.add(at, more, body) {
		data := g.data[:g.total]
		f.waiting = append(f.waiting[:k], f.waiting[k+1:]...)
		t.ends = p
		t.tcp(&t.ends, data, 0)
	}
}

func (f *fragments) find(key fragmentKey) int {
	for k := range f.waiting {
		if f.waiting[k].key == key {
			return k
		}
	}
	return -1
}

// add puts a fragment in its place and says whether the datagram is complete.
func (g *datagram) add(at int, more bool, body []byte) bool {
	for _, s := range g.seen {
		if s == at {
			return false // captured twice
		}
	}
	g.seen = append(g.seen, at)
	if end := at + len(body); end > len(g.data) {
		g.data = append(g.data, make([]byte, end-len(g.data))...)
	}
	copy(g.data[at:], body)
	g.have += len(body)
	if !more {
		g.total = at + len(body)
	}
	return g.total > 0 && g.have == g.total && g.total <= len(g.data)
}
