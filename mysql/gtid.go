package mysql

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// GTID is one MariaDB global transaction id: domain-server-sequence.
type GTID struct {
	Domain uint32
	Server uint32
	Seq    uint64
}

func (g GTID) String() string { return fmt.Sprintf("%d-%d-%d", g.Domain, g.Server, g.Seq) }

// Position is a place in the history of a farm: the last GTID of each domain.
// Two positions are compared domain by domain; there is no order across
// domains. The zero value is the empty history.
type Position map[uint32]GTID

// ParsePosition reads "1-2-3,4-5-6", as in gtid_slave_pos and gtid_binlog_pos.
func ParsePosition(text string) (Position, error) {
	p := Position{}
	gtids, err := parseGTIDs(text)
	for _, g := range gtids {
		if old, twice := p[g.Domain]; twice && old.Seq > g.Seq {
			continue
		}
		p[g.Domain] = g
	}
	return p, err
}

func parseGTIDs(text string) ([]GTID, error) {
	var out []GTID
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		numbers := strings.Split(part, "-")
		if len(numbers) != 3 {
			return nil, fmt.Errorf("parse GTID %q: want domain-server-sequence", part)
		}
		domain, e1 := strconv.ParseUint(numbers[0], 10, 32)
		server, e2 := strconv.ParseUint(numbers[1], 10, 32)
		seq, e3 := strconv.ParseUint(numbers[2], 10, 64)
		if e1 != nil || e2 != nil || e3 != nil {
			return nil, fmt.Errorf("parse GTID %q: not three numbers", part)
		}
		out = append(out, GTID{uint32(domain), uint32(server), seq})
	}
	return out, nil
}

// String is the form servers read, in order of domains.
func (p Position) String() string {
	parts := make([]string, 0, len(p))
	for _, d := range p.Domains() {
		parts = append(parts, p[d].String())
	}
	return strings.Join(parts, ",")
}

// Domains are the domains of p, sorted.
func (p Position) Domains() []uint32 {
	ds := make([]uint32, 0, len(p))
	for d := range p {
		ds = append(ds, d)
	}
	sort.Slice(ds, func(i, j int) bool { return ds[i] < ds[j] })
	return ds
}

// Reached reports whether p holds at least all of goal.
func (p Position) Reached(goal Position) bool {
	for d, g := range goal {
		if p[d].Seq < g.Seq {
			return false
		}
	}
	return true
}

// Only is the part of p in one domain; empty when p has nothing there.
func (p Position) Only(domain uint32) Position {
	if g, ok := p[domain]; ok {
		return Position{domain: g}
	}
	return Position{}
}

// Equal reports whether p and q are the same place.
func (p Position) Equal(q Position) bool { return p.Reached(q) && q.Reached(p) }
