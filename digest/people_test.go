package digest

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func apart(p *peopleApart) (out string) {
	for _, t := range []*tally{&p.users, &p.hosts, &p.dbs} {
		for _, n := range t.names() {
			out += fmt.Sprintf("%s %d, ", n.name.text, n.n)
		}
		out += fmt.Sprintln(t.more())
	}
	return out
}

// Users, hosts and databases come out as if each had been counted by itself, in whatever parts people were counted.
func TestPeopleEqualTallies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var want peopleApart
		var book nameBook
		parts := make([]people, 1+r.IntN(3))
		crowds := make([]crowd, len(parts))
		variety := 1 + r.IntN(40)
		for range r.IntN(60) {
			var e event
			for _, n := range []struct {
				name  *name
				tally *tally
				kind  string
			}{{&e.user, &want.users, "user"}, {&e.host, &want.hosts, "host"}, {&e.db, &want.dbs, "db"}} {
				if r.IntN(5) > 0 {
					*n.name = named1(fmt.Appendf(nil, "%s%d", n.kind, r.IntN(variety)))
					n.tally.add(&book, n.name.hash, n.name.text)
				}
			}
			i := r.IntN(len(parts))
			parts[i].add(crowds[i].find(&e), 1)
		}
		for i := range parts[1:] {
			parts[0].merge(&parts[1+i])
		}
		if got := apart(parts[0].view()); got != apart(&want) {
			t.Fatalf("got\n%swant\n%s", got, apart(&want))
		}
		var u unpacker
		back := u.crowd.people(parts[0].view())
		if got := apart(back.view()); got != apart(&want) {
			t.Fatalf("stored and read back\n%swant\n%s", got, apart(&want))
		}
	}
}
