package mysql

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const (
	uuidA = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	uuidB = "4e11fa47-71ca-11e1-9e33-c80aa9429562"
)

func TestParseGTIDSet(t *testing.T) {
	for _, test := range []struct{ text, want, fails string }{
		{uuidA + ":1", uuidA + ":1", ""},
		{uuidA + ":1-5", uuidA + ":1-5", ""},
		{strings.ToUpper(uuidA) + ":1-5", uuidA + ":1-5", ""},
		{strings.ReplaceAll(uuidA, "-", "") + ":1-5", uuidA + ":1-5", ""},
		{uuidB + ":7,\n" + uuidA + ":1-5", uuidA + ":1-5," + uuidB + ":7", ""}, // as servers print it, in any order
		{uuidA + ":1-5:7:9-12", uuidA + ":1-5:7:9-12", ""},                     // gaps: a replica with parallel appliers
		{uuidA + ":9-12:7:1-5", uuidA + ":1-5:7:9-12", ""},
		{uuidA + ":1-5:6-8", uuidA + ":1-8", ""},                                                       // they touch
		{uuidA + ":1-5:3-8," + uuidA + ":8", uuidA + ":1-8", ""},                                       // they overlap
		{uuidA + ":1-5:red:1-3:blue:2", uuidA + ":1-5," + uuidA + ":blue:2," + uuidA + ":red:1-3", ""}, // tags: MySQL 8.3
		{uuidA + ":1-9223372036854775806", uuidA + ":1-9223372036854775806", ""},
		{uuidA + ":1-9223372036854775807", "", "not a span"},
		{uuidA + ":0-5", "", "not a span"},
		{uuidA + ":5-1", "", "not a span"},
		{uuidA + ":1-2-3", "", "not a span"},
		{uuidA + ":", "", "not a span"},
		{uuidA + ":red", "", "no transaction numbers"},
		{"nobody:1-5", "", "want uuid"},
		{uuidA + ":1,1-2-3", "", "want uuid"}, // both forms in one text
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

// drawn is a set of transaction numbers, as a set, and as text in any order
// with overlaps.
func drawn(t *rapid.T, name string) (map[string]bool, Position) {
	set := map[string]bool{}
	var parts []string
	for range rapid.IntRange(0, 6).Draw(t, name) {
		origin := rapid.SampledFrom([]string{uuidA, uuidB, uuidA + ":tag"}).Draw(t, "origin")
		from := rapid.IntRange(1, 12).Draw(t, "from")
		to := from + rapid.IntRange(0, 4).Draw(t, "more")
		for n := from; n <= to; n++ {
			set[fmt.Sprintf("%s:%d", origin, n)] = true
		}
		parts = append(parts, fmt.Sprintf("%s:%d-%d", origin, from, to))
	}
	p, err := ParsePosition(strings.Join(parts, ","))
	if err != nil {
		t.Fatal(err)
	}
	return set, p
}

// TestGTIDSetsAreSets: Reached, Missing and Equal say what they would of sets of
// single numbers, and a set is the same after its text.
func TestGTIDSetsAreSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, p := drawn(t, "a")
		b, q := drawn(t, "b")
		var missing uint64
		for n := range b {
			if !a[n] {
				missing++
			}
		}
		if got := p.Missing(q); got != missing || p.Reached(q) != (missing == 0) {
			t.Fatalf("%s lacks %d of %s, got %d and Reached %v", p, missing, q, got, p.Reached(q))
		}
		again, err := ParsePosition(p.String())
		if err != nil || again.String() != p.String() || !again.Equal(p) {
			t.Fatalf("%s came back as %s, %v", p, again, err)
		}
		for o, s := range p {
			both := tidy(append(slices.Clone(s.Spans), p.rest()[o].Spans...))
			if len(both) != 1 || both[0] != (Span{1, maxGTID}) || count(s.Spans)+count(p.rest()[o].Spans) != maxGTID {
				t.Fatalf("%s and its rest %s are together %v", p, p.rest(), both)
			}
			for i := 1; i < len(s.Spans); i++ {
				if s.Spans[i].From <= s.Spans[i-1].To+1 {
					t.Fatalf("%v is not tidy", s.Spans)
				}
			}
		}
	})
}

func count(spans []Span) uint64 { return missing(nil, spans) }

// TestTheTwoKindsDoNotMix: a position of one flavor is never reached by one of
// the other, so a mistake waits or fails and never passes.
func TestTheTwoKindsDoNotMix(t *testing.T) {
	m, _ := ParsePosition("1-2-3")
	s, _ := ParsePosition(uuidA + ":1-3")
	if m.Reached(s) || s.Reached(m) || m.Equal(s) {
		t.Error("a GTID list and a GTID set reach each other")
	}
}
