package binlog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// GTID names a transaction: the domain it belongs to, the server that wrote it first, its number in the domain. MySQL has no domains: Source
// is the uuid of the server that wrote it first, with the tag behind a colon where it has one.
type GTID struct {
	Domain, Server uint32
	Source         string // empty: MariaDB
	Seq            uint64
}

func (g GTID) String() string {
	if g.Source != "" {
		return fmt.Sprintf("%s:%d", g.Source, g.Seq)
	}
	return fmt.Sprintf("%d-%d-%d", g.Domain, g.Server, g.Seq)
}

// ParseGTIDs reads domain-server-number, separated by commas. An empty text has none.
func ParseGTIDs(text string) ([]GTID, error) {
	var out []GTID
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		g, err := parseGTID(part)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

func parseGTID(text string) (GTID, error) {
	fields := strings.Split(text, "-")
	var n [3]uint64
	if len(fields) != len(n) {
		return GTID{}, fmt.Errorf("%q is not a GTID of MariaDB: domain-server-number is wanted", text)
	}
	for i, bits := range []int{32, 32, 64} {
		var err error
		if n[i], err = strconv.ParseUint(fields[i], 10, bits); err != nil {
			return GTID{}, fmt.Errorf("%q is not a GTID of MariaDB: %q is not a number of %d bits", text, fields[i], bits)
		}
	}
	return GTID{Domain: uint32(n[0]), Server: uint32(n[1]), Seq: n[2]}, nil
}

// State is what a binary log has had up to a place: per domain the last number of each server, and which of them came last. It is what the
// server calls gtid_binlog_state, and what it writes at the beginning of each file. The zero value is that of a server which never wrote.
// Of MySQL it is a set of transactions, with gaps where some came out of order.
type State struct {
	domains map[uint32]domain
	set     set // of MySQL; nil: MariaDB
}

type domain struct {
	last    uint32            // the server that wrote last
	servers map[uint32]uint64 // the last number of each
}

// ParseState reads what String prints.
func ParseState(text string) (State, error) {
	if strings.Contains(text, ":") {
		set, err := parseSet(text)
		return State{set: set}, err
	}
	all, err := ParseGTIDs(text)
	var s State
	for _, g := range all {
		s.Add(g)
	}
	return s, err
}

// Add is called with each transaction, in the order of the log.
func (s *State) Add(g GTID) {
	if g.Source != "" {
		s.add(g.Source, span{g.Seq, g.Seq})
		return
	}
	d, ok := s.domains[g.Domain]
	if !ok {
		if s.domains == nil {
			s.domains = map[uint32]domain{}
		}
		d.servers = map[uint32]uint64{}
	}
	d.last = g.Server
	d.servers[g.Server] = g.Seq
	s.domains[g.Domain] = d
}

// Clone is a state of its own.
func (s State) Clone() State {
	out := State{set: s.set.clone()}
	for _, g := range s.All() {
		out.Add(g)
	}
	return out
}

// IsSet: it is one of MySQL.
func (s State) IsSet() bool { return s.set != nil }

// All are its GTIDs by domain, none of a set; in a domain by server, and the one that came last at the end, as in the server's own list.
func (s State) All() []GTID {
	var out []GTID
	for number, d := range s.domains {
		for server, seq := range d.servers {
			out = append(out, GTID{Domain: number, Server: server, Seq: seq})
		}
	}
	slices.SortFunc(out, func(a, b GTID) int {
		last := s.domains[a.Domain].last
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), later(a, last)-later(b, last), cmp.Compare(a.Server, b.Server))
	})
	return out
}

func later(g GTID, last uint32) int {
	if g.Server == last {
		return 1
	}
	return 0
}

// String is the list of All, or the set.
func (s State) String() string {
	if s.IsSet() {
		return s.set.String()
	}
	return join(s.All())
}

// Position is the last GTID of each domain, as in gtid_binlog_pos. A set is a position by itself.
func (s State) Position() string {
	if s.IsSet() {
		return s.set.String()
	}
	var out []GTID
	for number, d := range s.domains {
		out = append(out, GTID{Domain: number, Server: d.last, Seq: d.servers[d.last]})
	}
	slices.SortFunc(out, func(a, b GTID) int { return cmp.Compare(a.Domain, b.Domain) })
	return join(out)
}

func join(all []GTID) string {
	words := make([]string, len(all))
	for i, g := range all {
		words[i] = g.String()
	}
	return strings.Join(words, ",")
}

// Last is the last GTID of a domain; ok is false when it has none.
func (s State) Last(domain uint32) (g GTID, ok bool) {
	d, ok := s.domains[domain]
	return GTID{Domain: domain, Server: d.last, Seq: d.servers[d.last]}, ok
}

// Lacks is the first GTID of other that s does not have: a transaction that is in other's log and not in that of s. Domains that only
// s has say nothing: a server can be told to forget a domain (FLUSH BINARY LOGS DELETE_DOMAIN_ID).
func (s State) Lacks(other State) (g GTID, lacks bool) {
	if g, lacks := s.set.lacks(other.set); lacks {
		return g, true
	}
	for _, g := range other.All() {
		if seq, has := s.domains[g.Domain].servers[g.Server]; !has || seq < g.Seq {
			return g, true
		}
	}
	return GTID{}, false
}

// HasAll reports whether a log in state s has all that one in state other has: of sets each transaction, else each domain as far.
func (s State) HasAll(other State) bool {
	if s.IsSet() || other.IsSet() {
		_, lacks := s.Lacks(other)
		return !lacks
	}
	return s.Reached(other.All())
}

// Without is what a set has and another has not. Of states of MariaDB, which have no sets, it is nothing.
func (s State) Without(other State) State {
	if !s.IsSet() {
		return State{}
	}
	return State{set: s.set.without(other.set)}
}

// With is what one of two sets has, or both.
func (s State) With(other State) State {
	out := s.Clone()
	for source, all := range other.set {
		for _, x := range all {
			out.add(source, x)
		}
	}
	return out
}

// IsNothing: there is no transaction in it.
func (s State) IsNothing() bool { return len(s.set) == 0 && len(s.domains) == 0 }

// Reached reports whether the log had all of these transactions by then, or later ones of their domains.
func (s State) Reached(all []GTID) bool {
	return !slices.ContainsFunc(all, func(g GTID) bool {
		last, ok := s.Last(g.Domain)
		return !ok || last.Seq < g.Seq
	})
}
