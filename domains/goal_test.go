package domains

import (
	"fmt"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/mysql"
)

// goals are the pairs' goals, "p0a 1, p0b 2". A server is "domain/server_id",
// with further domains it has seen behind it.
func goals(t *testing.T, pairs ...*pair) string {
	t.Helper()
	setGoals(pairs)
	var out []string
	for _, p := range pairs {
		for _, m := range p.members {
			out = append(out, fmt.Sprintf("%s %d", m.name, m.goal))
		}
	}
	return strings.Join(out, ", ")
}

func of(n int, topology farm.Topology, servers ...[]uint32) *pair {
	p := &pair{name: farm.PairName(fmt.Sprintf("p%d", n)), topology: topology}
	for i, s := range servers {
		f := mysql.DomainFacts{Domain: s[0], ServerID: s[1]}
		for _, d := range s[2:] {
			f.Written = append(f.Written, mysql.GTID{Domain: d, Server: 99, Seq: 1})
		}
		p.members = append(p.members, &member{pair: p, name: farm.InstanceName(fmt.Sprintf("p%d%c", n, 'a'+i)), side: farm.SideNames[i],
			version: mysql.Flavor{Vendor: "MariaDB"}, facts: f})
	}
	return p
}

func TestGoals(t *testing.T) {
	t.Parallel()
	type s = []uint32
	for _, x := range []struct {
		name  string
		pairs []*pair
		want  string
	}{
		{"everything in domain 0", []*pair{of(0, farm.ActiveActive, s{0, 11}, s{0, 12}), of(1, farm.PrimaryReplica, s{0, 13}, s{0, 14}), of(2, farm.Single, s{0, 15})},
			"p0a 11, p0b 12, p1a 13, p1b 13, p2a 15"},
		{"what nobody else writes stays", []*pair{of(0, farm.ActiveActive, s{0, 11}, s{5, 12}), of(1, farm.ActiveActive, s{7, 13}, s{8, 14})}, "p0a 0, p0b 5, p1a 7, p1b 8"},
		{"a replica writes what its primary does", []*pair{of(0, farm.PrimaryReplica, s{3, 11}, s{4, 12})}, "p0a 3, p0b 3"},
		{"a number that was a domain once is not given again", []*pair{of(0, farm.ActiveActive, s{0, 11, 12}, s{0, 12, 40})}, "p0a 11, p0b 41"},
		{"a server id that is another's domain", []*pair{of(0, farm.ActiveActive, s{0, 11}, s{0, 12}), of(1, farm.Single, s{11, 13})}, "p0a 14, p0b 12, p1a 11"},
	} {
		if got := goals(t, x.pairs...); got != x.want {
			t.Errorf("%s: %s\nwant %s", x.name, got, x.want)
		}
	}
	begun := of(0, farm.ActiveActive, s{0, 11}, s{0, 12})
	begun.record = &Record{State: Separating, Members: []Was{{Name: "p0a", Goal: 70}, {Name: "p0b", Goal: 71}}}
	if got := goals(t, begun); got != "p0a 70, p0b 71" {
		t.Errorf("a run that has begun: %s", got)
	}
}
