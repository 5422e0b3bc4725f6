package capture

import (
	"bytes"
	"net/netip"
	"slices"
)

// flowKey names a connection whichever way a packet goes: the lower end first.
type flowKey [2]endpoint

func (a *endpoint) less(b *endpoint) bool {
	if c := bytes.Compare(a.addr[:], b.addr[:]); c != 0 {
		return c < 0
	}
	return a.port < b.port
}

func (a *endpoint) String() string {
	return netip.AddrPortFrom(netip.AddrFrom16(a.addr).Unmap(), a.port).String()
}

// keyOf is the key of a packet and which of its ends sent it.
func keyOf(p *pair) (key flowKey, dir int) {
	if p.dst.less(&p.src) {
		return flowKey{p.dst, p.src}, 1
	}
	return flowKey{p.src, p.dst}, 0
}

// table holds the connections, in a ring by the time of their last packet.
type table struct {
	sessions map[flowKey]*session
	ring     session // head of the ring: next is the latest, prev the oldest
	latest   [2]*session
	servers  map[endpoint]bool // that have been recognised
}

// maxServers bounds the servers that are remembered: a farm has some hundred.
const maxServers = 4096

func (t *table) init() {
	t.sessions = map[flowKey]*session{}
	t.servers = map[endpoint]bool{}
	t.ring.next, t.ring.prev = &t.ring, &t.ring
}

// find looks the connection up. Packets come in runs of one connection or of
// two, so those are tried before the map.
func (t *table) find(key *flowKey) *session {
	if s := t.latest[0]; s != nil && s.key == *key {
		return s
	}
	if s := t.latest[1]; s != nil && s.key == *key {
		t.latest[0], t.latest[1] = s, t.latest[0]
		return s
	}
	s := t.sessions[*key]
	if s != nil {
		t.latest[0], t.latest[1] = s, t.latest[0]
	}
	return s
}

func (t *table) add(s *session) {
	t.sessions[s.key] = s
	t.touch(s)
}

// touch makes s the latest.
func (t *table) touch(s *session) {
	if t.ring.next == s {
		return
	}
	if s.next != nil {
		s.prev.next, s.next.prev = s.next, s.prev
	}
	s.prev, s.next = &t.ring, t.ring.next
	s.prev.next, s.next.prev = s, s
}

func (t *table) oldest() *session {
	if t.ring.prev == &t.ring {
		return nil
	}
	return t.ring.prev
}

func (t *table) remove(s *session) {
	if i := slices.Index(t.latest[:], s); i >= 0 {
		t.latest[i] = nil
	}
	if t.latest[0] == t.latest[1] {
		t.latest[1] = nil
	}
	s.prev.next, s.next.prev = s.next, s.prev
	s.prev, s.next = nil, nil
	delete(t.sessions, s.key)
}

func (t *table) learn(e endpoint) {
	if len(t.servers) < maxServers {
		t.servers[e] = true
	}
}

// defaultPort is that of MySQL.
const defaultPort = 3306

// isServer says whether an end is known to be a server before a word is said.
func (t *tap) isServer(e *endpoint) bool {
	if t.ports != nil {
		return t.ports[e.port]
	}
	return e.port == defaultPort || t.table.servers[*e]
}

// maxMemory is what all connections together may hold in statements, waiting
// segments and unfinished packets. The garbage collector may need as much
// again, and the promise is 64 MB in all.
const maxMemory = 16 << 20

// relieve gives up the connections that were silent for the longest, until
// there is room again. keep is the one that needs it.
func (t *tap) relieve(keep *session) {
	for len(t.table.sessions) > t.o.MaxSessions || t.mem > maxMemory {
		s := t.table.oldest()
		if s == nil || s == keep {
			return
		}
		if s.state != stateClosed && s.state != stateBlind {
			t.note(evicted, 1)
		}
		t.end(s)
		t.table.remove(s)
	}
}
