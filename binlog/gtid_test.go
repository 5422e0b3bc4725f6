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
