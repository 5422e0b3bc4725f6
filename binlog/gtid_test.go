package binlog

import (
	"strings"
	"testing"
)

const one, two = "e3e70682-c209-4cac-a29f-6fbed82c07cd", "f3e70682-c209-4cac-a29f-6fbed82c07cd" // sources of MySQL

func TestStates(t *testing.T) {
	parse := func(text string) State {
		s, err := ParseState(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, x := range []struct{ text, state, position string }{
		{"", "", ""},
		{"1-2-3", "1-2-3", "1-2-3"},
		{" 2-1-5, 1-9-4,1-2-7", "1-9-4,1-2-7,2-1-5", "1-2-7,2-1-5"},
		{"1-2-7,1-9-8", "1-2-7,1-9-8", "1-9-8"},
		{"0-4294967295-18446744073709551615", "0-4294967295-18446744073709551615", "0-4294967295-18446744073709551615"},
		{strings.ToUpper(one) + ":1-5:9:7-8:tag:2:1,\n" + two + ":6:6, " + one + ":6", one + ":1-9," + one + ":tag:1-2," + two + ":6", one + ":1-9," + one + ":tag:1-2," + two + ":6"},
	} {
		s := parse(x.text)
		if s.String() != x.state || s.Position() != x.position || s.Clone().String() != x.state {
			t.Errorf("%q: %q at %q; want %q at %q", x.text, s, s.Position(), x.state, x.position)
		}
	}
	for _, text := range []string{"1-2", "1-2-3-4", "a-1-1", "1-4294967296-1", "1-1-18446744073709551616", "-1-1-1", one, one + ":", one + ":0", one + ":5-4", one + ":tag", one + ":1,1-1-1", "e3e7:1"} {
		if s, err := ParseState(text); err == nil {
			t.Errorf("%q is %q", text, s)
		}
	}
	for _, x := range []struct{ has, other, lacks string }{
		{"1-1-5", "1-1-5", ""},
		{"1-1-5,2-2-2", "1-1-5", ""},
		{"1-1-5", "1-1-6", "1-1-6"},
		{"1-1-5", "1-1-5,2-1-1", "2-1-1"},
		{"1-1-5", "1-3-2,1-1-5", "1-3-2"},
		{one + ":1-5:7", one + ":2-3:7", ""},
		{one + ":1-5:7", one + ":2-7", one + ":6"},
		{one + ":1-5", two + ":4-6", two + ":4"},
		{one + ":1-5", one + ":tag:1", one + ":tag:1"},
		{one + ":1-5", "1-1-1", "1-1-1"},
		{"1-1-1", one + ":1-5", one + ":1"},
	} {
		g, lacks := parse(x.has).Lacks(parse(x.other))
		if lacks != (x.lacks != "") || lacks && g.String() != x.lacks {
			t.Errorf("%s lacks %v of %s; want %q", x.has, g, x.other, x.lacks)
		}
	}
	s := parse("1-1-5")
	clone := s.Clone()
	clone.Add(GTID{Domain: 1, Server: 1, Seq: 6})
	if s.String() != "1-1-5" || clone.String() != "1-1-6" {
		t.Errorf("%s and its clone %s", s, clone)
	}
}

// TestLastOf: the end of what came in pieces of any size.
func TestLastOf(t *testing.T) {
	all := []byte("0123456789abcdefghijklmnopqrstuvwxyz")
	for n := range all {
		for m := range n {
			var buf [keptAtEnd]byte
			was := append(buf[:0], all[max(0, m-keptAtEnd):m]...)
			if got := string(lastOf(was, all[m:n])); got != string(all[max(0, n-keptAtEnd):n]) {
				t.Fatalf("%d and %d bytes: %q", m, n-m, got)
			}
		}
	}
}

func TestSetsWithAndWithout(t *testing.T) {
	const a, b = "b9d5a1f0-0000-0000-0000-000000000001", "b9d5a1f0-0000-0000-0000-000000000002"
	for _, x := range []struct{ one, other, without, with string }{
		{a + ":1-9", a + ":3-4:7", a + ":1-2:5-6:8-9", a + ":1-9"},
		{a + ":1-9", a + ":1-20", "", a + ":1-20"},
		{a + ":5-9," + b + ":1", a + ":1-6", a + ":7-9," + b + ":1", a + ":1-9," + b + ":1"},
		{a + ":1-2", b + ":1-2", a + ":1-2", a + ":1-2," + b + ":1-2"},
		{a + ":1-2", "", a + ":1-2", a + ":1-2"},
		{"", a + ":1-2", "", a + ":1-2"},
		{"0-1-5", a + ":1-2", "", ""},
	} {
		one, _ := ParseState(x.one)
		other, _ := ParseState(x.other)
		if got := one.Without(other).String(); got != x.without {
			t.Errorf("%s without %s: %s", x.one, x.other, got)
		}
		if got := one.With(other).String(); x.with != "" && got != x.with {
			t.Errorf("%s with %s: %s", x.one, x.other, got)
		}
	}
}
