package serve

import (
	"net/netip"
	"sync"
	"time"
)

// How much guessing is let: from one address so many wrong tokens, then none is looked at until so long after the first of them.
const (
	mostMisses    = 10
	missesLast    = time.Minute
	mostAddresses = 4096 // that are remembered; further ones count as one
)

// misses are the wrong tokens of late, by where they came from. The same one again is no further guess: a script whose token was removed keeps nobody out who
// comes through the same tunnel.
type misses struct {
	mu sync.Mutex
	of map[string]*missed
}

type missed struct {
	since  time.Time
	tokens map[string]bool
}

// mayTry says for how long no token from an address is looked at; 0: it is.
func (m *misses) mayTry(address string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.of[placeOf(address)]
	if at == nil || len(at.tokens) < mostMisses {
		return 0
	}
	return max(0, missesLast-time.Since(at.since))
}

// note keeps a wrong token, in the form in which it may be kept. It reports whether this is a new one.
func (m *misses) note(address, token string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	place := placeOf(address)
	if m.of[place] == nil && len(m.of) >= mostAddresses {
		m.forget()
		if len(m.of) >= mostAddresses {
			place = ""
		}
	}
	at := m.of[place]
	if at == nil || time.Since(at.since) >= missesLast {
		at = &missed{since: time.Now(), tokens: map[string]bool{}}
		if m.of == nil {
			m.of = map[string]*missed{}
		}
		m.of[place] = at
	}
	if at.tokens[token] || len(at.tokens) >= mostMisses {
		return false
	}
	at.tokens[token] = true
	return true
}

// forget removes what is too old to count.
func (m *misses) forget() {
	for place, at := range m.of {
		if time.Since(at.since) >= missesLast {
			delete(m.of, place)
		}
	}
}

// placeOf is the address of a connection without its port. One machine has a whole network of IPv6 addresses to itself.
func placeOf(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	ip := at.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return ip.String()
	}
	return network.String()
}
