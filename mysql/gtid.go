package mysql

import (
	"fmt"
	"slices"
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

// Origin is where transactions are numbered together: a GTID domain of
// MariaDB ("7"), or a server of MySQL (its uuid, with ":tag" behind it where
// its transactions are tagged).
type Origin string

// OriginOf is that of a GTID domain of MariaDB.
func OriginOf(domain uint32) Origin { return Origin(strconv.FormatUint(uint64(domain), 10)) }

// Position is a place in the history of a farm: of each origin, the
// transactions that are held. Two positions are compared origin by origin;
// there is no order across origins. The zero value is the empty history.
type Position map[Origin]Stretch

// Stretch is what a position holds of one origin. In MariaDB the transactions
// of a domain come in order, so the last one stands for all before it; a
// MySQL server may have applied them with gaps, so each span is told.
type Stretch struct {
	Last  GTID   // MariaDB
	Spans []Span // MySQL: in order, none empty, none touching the next
}

// PositionOf is the MariaDB position that ends in these transactions.
func PositionOf(gtids ...GTID) Position {
	p := Position{}
	for _, g := range gtids {
		if old, twice := p[OriginOf(g.Domain)]; twice && old.Last.Seq > g.Seq {
			continue
		}
		p[OriginOf(g.Domain)] = Stretch{Last: g}
	}
	return p
}

// ParsePosition reads "1-2-3,4-5-6", as in MariaDB's gtid_slave_pos and
// gtid_binlog_pos, or a GTID set of MySQL, as in gtid_executed.
func ParsePosition(text string) (Position, error) {
	if strings.Contains(text, ":") {
		return parseGTIDSet(text)
	}
	gtids, err := parseGTIDs(text)
	return PositionOf(gtids...), err
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

// String is the form servers read, in order of origins.
func (p Position) String() string {
	parts := make([]string, 0, len(p))
	for _, o := range p.Origins() {
		parts = append(parts, p[o].text(o))
	}
	return strings.Join(parts, ",")
}

func (s Stretch) text(o Origin) string {
	if len(s.Spans) == 0 {
		return s.Last.String()
	}
	text := string(o)
	for _, span := range s.Spans {
		text += ":" + span.String()
	}
	return text
}

// Origins are the origins of p, sorted: domains by number.
func (p Position) Origins() []Origin {
	out := make([]Origin, 0, len(p))
	for o := range p {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Origin) int {
		if x, y := p[a].Last.Domain, p[b].Last.Domain; x != y {
			return int(int64(x) - int64(y))
		}
		return strings.Compare(string(a), string(b))
	})
	return out
}

// Domains are the GTID domains of a MariaDB position, sorted.
func (p Position) Domains() []uint32 {
	ds := make([]uint32, 0, len(p))
	for _, o := range p.Origins() {
		if len(p[o].Spans) == 0 {
			ds = append(ds, p[o].Last.Domain)
		}
	}
	return ds
}

// Last is the last transaction of a GTID domain that p holds; its sequence is
// 0 when there is none.
func (p Position) Last(domain uint32) GTID { return p[OriginOf(domain)].Last }

// Reached reports whether p holds at least all of goal.
func (p Position) Reached(goal Position) bool { return p.Missing(goal) == 0 }

// Missing is the number of transactions of goal that p does not hold.
func (p Position) Missing(goal Position) uint64 {
	var n uint64
	for o, want := range goal {
		if len(want.Spans) > 0 {
			n += missing(p[o].Spans, want.Spans)
		} else if has := p[o].Last.Seq; has < want.Last.Seq {
			n += want.Last.Seq - has
		}
	}
	return n
}

// Only is the part of p in one domain; empty when p has nothing there.
func (p Position) Only(domain uint32) Position { return p.From(OriginOf(domain)) }

// From is the part of p of one origin; empty when p has nothing of it.
func (p Position) From(o Origin) Position {
	if s, ok := p[o]; ok {
		return Position{o: s}
	}
	return Position{}
}

// crosses reports whether p and q end in transactions of different servers in one domain of MariaDB. Where several servers write it, a binary log has numbers that go
// back, and of the two nobody knows by their numbers which comes first.
func (p Position) crosses(q Position) bool {
	for o, s := range p {
		if t, both := q[o]; both && s.Last.Server != t.Last.Server {
			return true
		}
	}
	return false
}

// Equal reports whether p and q are the same place.
func (p Position) Equal(q Position) bool { return p.Reached(q) && q.Reached(p) }
