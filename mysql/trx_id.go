package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Trx is one transaction of either vendor, as the binary log names it.
type Trx struct {
	Origin Origin
	N      uint64 // its number there
	Server uint32 // MariaDB: who wrote it
}

// trxOf is a transaction of MariaDB.
func trxOf(g GTID) Trx { return Trx{Origin: OriginOf(g.Domain), N: g.Seq, Server: g.Server} }

// isMySQL: an origin of MySQL is a uuid, one of MariaDB a number.
func (o Origin) isMySQL() bool { return strings.Contains(string(o), "-") }

func (o Origin) domain() uint32 {
	n, _ := strconv.ParseUint(string(o), 10, 32)
	return uint32(n)
}

func (x Trx) gtid() GTID { return GTID{Domain: x.Origin.domain(), Server: x.Server, Seq: x.N} }

func (x Trx) String() string {
	if x.Origin.isMySQL() {
		return string(x.Origin) + ":" + strconv.FormatUint(x.N, 10)
	}
	return x.gtid().String()
}

// ParseTrx reads a transaction as String writes it: domain-server-sequence, or uuid:number.
func ParseTrx(text string) (Trx, error) {
	p, err := ParsePosition(text)
	if err != nil {
		return Trx{}, err
	}
	for origin, s := range p {
		switch {
		case len(p) > 1:
		case !origin.isMySQL():
			return trxOf(s.Last), nil
		case len(s.Spans) == 1 && s.Spans[0].From == s.Spans[0].To:
			return Trx{Origin: origin, N: s.Spans[0].From}, nil
		}
	}
	return Trx{}, fmt.Errorf("%q is not the GTID of one transaction", text)
}

// IsOf reports whether it is of a GTID domain of MariaDB's.
func (x Trx) IsOf(domain uint32) bool { return x.Origin == OriginOf(domain) }

// Holds reports whether p holds the transaction: in MariaDB, it or a later one
// of its domain.
func (p Position) Holds(x Trx) bool {
	s := p[x.Origin]
	if !x.Origin.isMySQL() {
		return s.Last.Seq >= x.N
	}
	return missing(s.Spans, []Span{{x.N, x.N}}) == 0
}

// WithLast is With for MariaDB.
func (p Position) WithLast(g GTID) Position { return p.With(trxOf(g)) }

// With is p with one more transaction; of MariaDB, and all before it in its
// domain.
func (p Position) With(x Trx) Position {
	q := maps.Clone(p)
	if q == nil {
		q = Position{}
	}
	if !x.Origin.isMySQL() {
		q[x.Origin] = Stretch{Last: x.gtid()}
		return q
	}
	spans := p[x.Origin].Spans
	if n := len(spans); n > 0 && spans[n-1].To+1 == x.N { // as it nearly always comes
		spans = slices.Clone(spans)
		spans[n-1].To = x.N
	} else {
		spans = tidy(append(slices.Clone(spans), Span{x.N, x.N}))
	}
	q[x.Origin] = Stretch{Spans: spans}
	return q
}
