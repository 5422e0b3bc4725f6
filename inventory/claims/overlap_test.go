package claims

import (
	"fmt"
	"testing"
	"time"
)

// TestOverlaps: two files in one order that is not that of names, and one that is sorted.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	var s Set
	order := []int{7, 3, 11, 0, 9, 4, 2, 8, 1, 10, 6, 5}
	sorted := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	for _, src := range []struct {
		name  string
		order []int
		host  string
	}{{"cmdb", order, "db%02d"}, {"export", order, "db%02d"}, {"list", sorted, "DB%02d."}} {
		n, _ := s.AddSource(Source{Name: src.name, Kind: "csv"})
		for _, i := range src.order {
			value := fmt.Sprintf(src.host, i)
			if src.name == "export" && i == 4 {
				value = "db05"
			}
			s.Add(n, Claim{Subject: Subject{Instance, fmt.Sprintf("x%02d", i)}, Attribute: "host", Value: value})
			if src.name == "cmdb" {
				s.Add(n, Claim{Subject: Subject{Instance, fmt.Sprintf("x%02d", i)}, Attribute: "owner", Value: "me"})
			}
		}
	}
	r := Reconcile(&s, Rules{}, time.Now())
	got := map[string]Overlap{}
	for _, o := range r.Overlaps {
		got[o.A+" "+o.B] = o
	}
	for key, want := range map[string]Overlap{
		"cmdb export": {"cmdb", "export", 12, 11, 11, true},
		"cmdb list":   {"cmdb", "list", 12, 12, 0, false},
		"export list": {"export", "list", 12, 11, 0, false},
	} {
		if got[key] != want {
			t.Errorf("%s: %+v, want %+v", key, got[key], want)
		}
	}
	for _, x := range r.Tallies {
		want := map[string][3]int{"cmdb instance.host": {12, 0, 1}, "cmdb instance.owner": {12, 12, 0}, "export instance.host": {12, 0, 1}, "list instance.host": {12, 0, 1}}[x.Source+" "+x.Attribute]
		if [3]int{x.Claims, x.Alone, x.Disputed} != want {
			t.Errorf("%+v, want %v", x, want)
		}
	}
}

// TestLagIsNoConflict: two looks at one replica see two lags, and nobody is wrong.
func TestLagIsNoConflict(t *testing.T) {
	t.Parallel()
	var s Set
	for i, name := range []string{"monitoring", "live"} {
		n, _ := s.AddSource(Source{Name: name, Kind: name, IsLive: name == "live"})
		for _, c := range [][2]string{{"host", "db1"}, {"pair", "p"}, {"alive", "yes"}, {"lag", fmt.Sprint(i * 7)}} {
			s.Add(n, Claim{Subject: Subject{Instance, "pa"}, Attribute: c[0], Value: c[1]})
		}
	}
	r := Reconcile(&s, Rules{}, time.Now())
	for _, c := range r.Conflicts {
		if c.Attribute == "lag" {
			t.Errorf("conflict %+v", c)
		}
	}
	if want := (Member{Instance: "pa", Pair: "p", Host: "db1", Alive: "yes", Lag: "7"}); len(r.Members) != 1 || r.Members[0] != want {
		t.Errorf("members %+v, want %+v", r.Members, want)
	}
}
