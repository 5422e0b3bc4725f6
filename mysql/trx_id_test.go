package mysql

import "testing"

// TestPositionsGrowByTransactions: of both vendors, in order and with gaps.
func TestPositionsGrowByTransactions(t *testing.T) {
	const u, v = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
	for _, c := range []struct {
		from string
		more []Trx
		want string
	}{
		{"", []Trx{{u, 1, 0}, {u, 2, 0}}, u + ":1-2"},
		{u + ":1-5", []Trx{{u, 7, 0}, {v, 1, 0}}, u + ":1-5:7," + v + ":1"},
		{u + ":1-5:7", []Trx{{u, 6, 0}}, u + ":1-7"},
		{u + ":1-5:7", []Trx{{u, 3, 0}}, u + ":1-5:7"},
		{u + ":1", []Trx{{u + ":tag", 1, 0}}, u + ":1," + u + ":tag:1"},
		{"1-2-3", []Trx{{"1", 9, 4}, {"7", 1, 4}}, "1-4-9,7-4-1"},
	} {
		was, err := ParsePosition(c.from)
		must(t, err)
		p := was
		for _, x := range c.more {
			if p.Holds(x) && x.N != 3 {
				t.Errorf("%s holds %s before it has come", p, x)
			}
			if p = p.With(x); !p.Holds(x) {
				t.Errorf("%s does not hold %s", p, x)
			}
		}
		if p.String() != c.want || was.String() != c.from {
			t.Errorf("%q grown: %q, want %q (and it is %q now)", c.from, p, c.want, was)
		}
	}
	if s := (Trx{u, 5, 0}).String(); s != u+":5" {
		t.Error(s)
	}
	if s := (Trx{"7", 5, 3}).String(); s != "7-3-5" {
		t.Error(s)
	}
}
