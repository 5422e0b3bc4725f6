package mysql

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// positions draws positions with few domains and small numbers, so that
// overlaps, equalities and gaps are all common.
func positions() *rapid.Generator[Position] {
	return rapid.Custom(func(t *rapid.T) Position {
		p := Position{}
		for range rapid.IntRange(0, 4).Draw(t, "domains") {
			d := uint32(rapid.IntRange(0, 4).Draw(t, "domain"))
			g := GTID{d, uint32(rapid.IntRange(1, 3).Draw(t, "server")), uint64(rapid.IntRange(1, 5).Draw(t, "seq"))}
			p[OriginOf(d)] = Stretch{Last: g}
		}
		return p
	})
}

func TestPositionSurvivesItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := positions().Draw(t, "p")
		q, err := ParsePosition(p.String())
		if err != nil || q.String() != p.String() || !p.Equal(q) {
			t.Fatalf("%q came back as %q, %v", p, q, err)
		}
	})
}

// TestReachedIsAPartialOrder: reflexive, antisymmetric (that is Equal) and
// transitive; the empty position is the least of all.
func TestReachedIsAPartialOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q, r := positions().Draw(t, "p"), positions().Draw(t, "q"), positions().Draw(t, "r")
		if !p.Reached(p) || !p.Equal(p) {
			t.Fatalf("%s has not reached itself", p)
		}
		if !p.Reached(nil) || (Position{}).Reached(p) != (len(p) == 0) {
			t.Fatalf("the empty position is not the least, seen from %q", p)
		}
		if p.Equal(q) != (p.Reached(q) && q.Reached(p)) || p.Equal(q) != q.Equal(p) {
			t.Fatalf("Equal of %q and %q is not reaching both ways", p, q)
		}
		if p.Reached(q) && q.Reached(r) && !p.Reached(r) {
			t.Fatalf("%q reached %q reached %q, and yet not", p, q, r)
		}
	})
}

func TestReachedGoesDomainByDomain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := positions().Draw(t, "p"), positions().Draw(t, "q")
		all := true
		for _, d := range q.Domains() {
			all = all && p.Only(d).Reached(q.Only(d))
		}
		if p.Reached(q) != all {
			t.Fatalf("%q reached %q is %v, domain by domain %v", p, q, p.Reached(q), all)
		}
		// One more transaction in any domain is beyond, and not equal.
		for o, s := range p {
			more, _ := ParsePosition(p.String())
			more[o] = Stretch{Last: GTID{s.Last.Domain, s.Last.Server, s.Last.Seq + 1}}
			if p.Reached(more) || !more.Reached(p) || p.Equal(more) {
				t.Fatalf("%q does not tell itself from %q", p, more)
			}
		}
	})
}

func TestParsePosition(t *testing.T) {
	for _, test := range []struct{ text, want, fails string }{
		{"", "", ""},
		{" ", "", ""},
		{"0-1-1", "0-1-1", ""},
		{"2-5-7,\n1-4-9", "1-4-9,2-5-7", ""}, // any order, as servers print it
		{"1-4-9,1-5-12", "1-5-12", ""},       // gtid_binlog_state: the last of a domain is its position
		{"1-5-12,1-4-9", "1-5-12", ""},       // in whichever order
		{"1-2-18446744073709551615", "1-2-18446744073709551615", ""},      // 2^64-1
		{"4294967295-4294967295-1", "4294967295-4294967295-1", ""},        // 2^32-1
		{"1-2", "", "want domain-server-sequence"},                        // cut short
		{"1-2-3-4", "", "want domain-server-sequence"},                    //
		{"1-x-3", "", "not three numbers"},                                //
		{"4294967296-1-1", "", "not three numbers"},                       // does not fit
		{"3E11FA47-71CA-11E1-9E33-C80AA942956:1-5", "", "parse GTID set"}, // a digit short
		{"1-2-3;4-5-6", "", "parse GTID"},                                 //
		{"1-2-18446744073709551616", "", "not three numbers"},             //
		{"1-2--3", "", "want domain-server-sequence"},                     //
		{"1-2-3,,4-5-6", "1-2-3,4-5-6", ""},                               //
	} {
		p, err := ParsePosition(test.text)
		switch {
		case test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)):
			t.Errorf("%q: error %v, want %q", test.text, err, test.fails)
		case test.fails == "" && (err != nil || p.String() != test.want):
			t.Errorf("%q is %q, %v; want %q", test.text, p, err, test.want)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	f.Add("1-2-3,4-5-6")
	f.Add("0--1,-")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePosition(text)
		if err != nil {
			return
		}
		if again, err := ParsePosition(p.String()); err != nil || again.String() != p.String() {
			t.Errorf("%q is read as %q and that as %q, %v", text, p, again, err)
		}
	})
}
