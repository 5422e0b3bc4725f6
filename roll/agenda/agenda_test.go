package agenda_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/roll/agenda"
)

// aFarm is pairs whose sides are on any two hosts.
func aFarm(rng *rand.Rand) *farm.Farm {
	f := &farm.Farm{}
	for n := range 2 + rng.Intn(20) {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("db%02d", n)), Address: "10.0.0.1",
			Labels: map[string]string{"rack": fmt.Sprint("r", rng.Intn(4)), "power": fmt.Sprint("p", rng.Intn(2))}})
	}
	for n := range rng.Intn(40) {
		a := rng.Intn(len(f.Hosts))
		b := (a + 1 + rng.Intn(len(f.Hosts)-1)) % len(f.Hosts)
		f.Pairs = append(f.Pairs, farm.Pair{Name: farm.PairName(fmt.Sprint("p", n)), Topology: farm.ActiveActive,
			Sides: map[farm.SideName]farm.Side{farm.A: {Host: f.Hosts[a].Name, Port: n}, farm.B: {Host: f.Hosts[b].Name, Port: n}}})
	}
	return f
}

// wrong judges a plan by the farm alone.
func wrong(p agenda.Plan, f *farm.Farm, chosen func(farm.HostName) bool) string {
	seen := map[farm.HostName]int{}
	for n, b := range p.Batches {
		racks, feeds, legs := map[string]int{}, map[string]int{}, 0
		if len(b.Hosts) == 0 || len(b.Hosts) > p.Limits.Hosts {
			return fmt.Sprintf("batch %d has %d hosts, at most %d may be out", n, len(b.Hosts), p.Limits.Hosts)
		}
		for _, name := range b.Hosts {
			seen[name]++
			h, ok := f.Host(name)
			if !ok || !chosen(name) {
				return fmt.Sprintf("host %s was not asked for", name)
			}
			racks[h.Labels["rack"]]++
			feeds[h.Labels["power"]]++
		}
		for rack, n := range racks {
			if p.Limits.PerRack > 0 && n > p.Limits.PerRack {
				return fmt.Sprintf("%d hosts of rack %s", n, rack)
			}
		}
		for feed, n := range feeds {
			if p.Limits.PerFeed > 0 && n > p.Limits.PerFeed {
				return fmt.Sprintf("%d hosts of feed %s", n, feed)
			}
		}
		for _, pair := range f.Pairs {
			a, b2 := slices.Contains(b.Hosts, pair.Sides[farm.A].Host), slices.Contains(b.Hosts, pair.Sides[farm.B].Host)
			if a && b2 {
				return fmt.Sprintf("both sides of %s are out", pair.Name)
			}
			if a || b2 {
				legs++
				out := farm.A
				if b2 {
					out = farm.B
				}
				if !slices.Contains(b.OneLeg, agenda.OneLeg{Pair: pair.Name, Out: out, On: pair.Sides[out.Twin()].Host}) {
					return fmt.Sprintf("%s is served by one side, and the plan does not say so", pair.Name)
				}
			}
		}
		if legs != len(b.OneLeg) {
			return fmt.Sprintf("batch %d names %d pairs served by one side, %d are", n, len(b.OneLeg), legs)
		}
	}
	for _, h := range f.Hosts {
		if want := map[bool]int{true: 1}[chosen(h.Name)]; seen[h.Name] != want {
			return fmt.Sprintf("host %s is rolled %d times, want %d", h.Name, seen[h.Name], want)
		}
	}
	return ""
}

func TestPlansRespectEveryLimit(t *testing.T) {
	for seed := range int64(500) {
		rng := rand.New(rand.NewSource(seed))
		f := aFarm(rng)
		limits := agenda.Limits{Hosts: 1 + rng.Intn(6), PerRack: rng.Intn(3), PerFeed: rng.Intn(4)}
		pattern := []string{"*", "db0*", "db*[02468]"}[rng.Intn(3)]
		work := agenda.Work{Hosts: []string{pattern}, Steps: []agenda.Step{{Restart: true}}}
		p, problems, err := agenda.Make(f, work, agenda.Rules{Limits: limits}, agenda.Assumed)
		if err != nil || len(problems) > 0 {
			t.Fatal(seed, err, problems)
		}
		chosen := func(h farm.HostName) bool {
			return pattern == "*" || pattern == "db0*" && strings.HasPrefix(string(h), "db0") || pattern == "db*[02468]" && int(h[len(h)-1])%2 == 0
		}
		if text := wrong(p, f, chosen); text != "" {
			t.Fatalf("seed %d, %+v: %s", seed, limits, text)
		}
		again, _, _ := agenda.Make(f, work, agenda.Rules{Limits: limits}, agenda.Assumed)
		one, _ := json.Marshal(p)
		two, _ := json.Marshal(again)
		if string(one) != string(two) {
			t.Fatalf("seed %d: the same farm gives another plan", seed)
		}
		// No host could have been in an earlier batch: what keeps it out is there.
		for n, b := range p.Batches {
			for _, name := range b.Hosts {
				for m := range n {
					early := p
					early.Batches = slices.Clone(p.Batches)
					early.Batches[m].Hosts = append(slices.Clone(early.Batches[m].Hosts), name)
					early.Batches[n].Hosts = slices.DeleteFunc(slices.Clone(b.Hosts), func(h farm.HostName) bool { return h == name })
					for i := range early.Batches { // who is served by one side is not what is asked here
						early.Batches[i].OneLeg = legs(f, early.Batches[i].Hosts)
					}
					early.Batches = slices.DeleteFunc(early.Batches, func(b agenda.Batch) bool { return len(b.Hosts) == 0 })
					if wrong(early, f, chosen) == "" {
						t.Fatalf("seed %d: host %s of batch %d fits into batch %d", seed, name, n+1, m+1)
					}
				}
			}
		}
		if drift := agenda.Drift(p, f); len(drift) > 0 {
			t.Fatalf("seed %d: nothing has changed, and %q", seed, drift)
		}
	}
}

func legs(f *farm.Farm, hosts []farm.HostName) (out []agenda.OneLeg) {
	for _, p := range f.Pairs {
		for _, side := range farm.SideNames {
			if slices.Contains(hosts, p.Sides[side].Host) {
				out = append(out, agenda.OneLeg{Pair: p.Name, Out: side, On: p.Sides[side.Twin()].Host})
			}
		}
	}
	return out
}

func small() *farm.Farm {
	f := &farm.Farm{}
	for _, n := range []string{"db1", "db2", "db3"} {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(n), Address: "10.0.0." + n[2:], Labels: map[string]string{"rack": "r" + n[2:]}})
	}
	f.Pairs = []farm.Pair{{Name: "p1", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "db1", Port: 1}, farm.B: {Host: "db2", Port: 1}}}}
	return f
}

func make1(t *testing.T, f *farm.Farm, l agenda.Limits) (agenda.Plan, []farm.Problem) {
	t.Helper()
	p, problems, err := agenda.Make(f, agenda.Work{Hosts: []string{"db*"}, Steps: []agenda.Step{{Command: []string{"/bin/true"}}}, Takes: time.Minute}, agenda.Rules{Limits: l}, agenda.Assumed)
	if err != nil {
		t.Fatal(err)
	}
	return p, problems
}

func TestWhatKeepsHostsFromBeingRolled(t *testing.T) {
	f := small()
	f.Hosts[2].Labels = nil
	_, problems := make1(t, f, agenda.Limits{PerRack: 1})
	if len(problems) != 1 || problems[0].Path != "hosts[2]" || !strings.Contains(problems[0].Text, "has no label rack") {
		t.Errorf("%v", problems)
	}
	f = small()
	f.Pairs[0].Sides[farm.B] = farm.Side{Host: "db1", Port: 2}
	if _, problems = make1(t, f, agenda.Limits{}); len(problems) != 2 || !strings.Contains(problems[0].Text, "both sides of p1") {
		t.Errorf("%v", problems)
	}
	f = small()
	f.Pairs[0].Topology = farm.PrimaryReplica
	f.Pairs[0].Sides[farm.B] = farm.Side{Host: "db1", Port: 2}
	if _, problems = make1(t, f, agenda.Limits{}); len(problems) != 2 || !strings.Contains(problems[0].Text, "both sides of p1") {
		t.Errorf("%v", problems)
	}
	f = small()
	f.Pairs[0].Topology = farm.Single
	delete(f.Pairs[0].Sides, farm.B)
	if _, problems = make1(t, f, agenda.Limits{}); len(problems) != 1 || problems[0].Path != "hosts[0]" || !strings.Contains(problems[0].Text, "--allow-downtime") {
		t.Errorf("%v", problems)
	}
	for pattern, want := range map[string]string{"web*": "no host of farm.yaml is called web*", "[": "is not a pattern"} {
		if _, _, err := agenda.Make(small(), agenda.Work{Hosts: []string{"db1", pattern}}, agenda.Rules{}, agenda.Assumed); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestDriftIsNamed(t *testing.T) {
	p, _ := make1(t, small(), agenda.Limits{PerRack: 1})
	for want, change := range map[string]func(*farm.Farm){
		"address of host db1":                       func(f *farm.Farm) { f.Hosts[0].Address = "10.0.0.9" },
		`rack of host db2 is "r9", was "r2"`:        func(f *farm.Farm) { f.Hosts[1].Labels["rack"] = "r9" },
		"host db3 is not in farm.yaml any more":     func(f *farm.Farm) { f.Hosts = f.Hosts[:2] },
		"host db4 is one of db*, and the plan does": func(f *farm.Farm) { f.Hosts = append(f.Hosts, farm.Host{Name: "db4"}) },
		"is elsewhere now":                          func(f *farm.Farm) { f.Pairs[0].Sides[farm.B] = farm.Side{Host: "db3", Port: 1} },
		"which the plan does not know": func(f *farm.Farm) {
			f.Pairs = append(f.Pairs, farm.Pair{Name: "p2", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "db3"}, farm.B: {Host: "db1"}}})
		},
		"has no label rack": func(f *farm.Farm) { f.Hosts[0].Labels = nil },
	} {
		f := small()
		change(f)
		if got := strings.Join(agenda.Drift(p, f), "\n"); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

func TestPlanInWords(t *testing.T) {
	p, _, err := agenda.Make(small(), agenda.Work{Hosts: []string{"db*"}, Changes: []string{"time_zone"}, Takes: 90 * time.Second, Steps: []agenda.Step{
		{Command: []string{"/usr/local/sbin/patch", "all of it"}, Limit: 10 * time.Minute, MustPass: []string{"/bin/true"}, OnFailure: agenda.GoOn},
		{Options: map[string]string{"innodb-io-capacity": "2000"}}, {Restart: true},
		{Packages: map[string]string{"mariadb-server": "1:10.11.19-1", "galera-4": "26-1"}, WayBack: agenda.OldPackages, Limit: time.Minute}, {Packages: map[string]string{"mysql-server": "8.4.5-1"}, Upgrade: agenda.NoUpgrade},
	}}, agenda.Rules{Limits: agenda.Limits{Hosts: 2, PerRack: 1, PerFeed: 0}}, agenda.Assumed)
	if err != nil {
		t.Fatal(err)
	}
	p.Name = "kernel-001"
	var b strings.Builder
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `roll kernel-001: 3 hosts in 2 batches, about 3m (1m30s a host, as said)
at once: at most 2 hosts, 1 of a rack, never both sides of a pair
on each host, while all its instances are out of rotation:
  1. run: /usr/local/sbin/patch "all of it"; at most 10m0s; then must succeed: /bin/true; a failure is noted only
  2. write options: innodb-io-capacity = 2000
  3. restart its instances
  4. bring packages to galera-4 26-1, mariadb-server 1:10.11.19-1, with all that was built from the same source; at most 1m0s; then mariadb-upgrade where a server needs it
     way back: the packages of before are installed again. An older server need not start on files that a newer one has written: if it does not, rebuild its sides from their twins (stowage move instance)
  5. bring packages to mysql-server 8.4.5-1, with all that was built from the same source
     no way back: a host on which it fails stays out as it is; its sides can be rebuilt from their twins (stowage move instance)
may differ afterwards: innodb_io_capacity, time_zone, version
batch 1, from 0s to 1m30s: db1, db3
  p1 is served by one side: p1/A is out, db2 serves all its clients
batch 2, from 1m30s to 3m: db2
  p1 is served by one side: p1/B is out, db1 serves all its clients
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// A replica is rolled before its primary, whatever the order of farm.yaml; a primary gives its writes to a replica on another host; where hosts carry
// primaries of each other the order stays.
func TestReplicasGoFirst(t *testing.T) {
	at := func(a, b, c string) map[farm.SideName]farm.Side {
		out := map[farm.SideName]farm.Side{farm.A: {Host: farm.HostName(a), Port: 1}, farm.B: {Host: farm.HostName(b), Port: 1}}
		if c != "" {
			out["C"] = farm.Side{Host: farm.HostName(c), Port: 2}
		}
		return out
	}
	order := func(p agenda.Plan) (out string) {
		for _, h := range p.Hosts {
			out += string(h.Name) + " "
		}
		return out
	}
	f := small()
	f.Pairs[0].Topology = farm.PrimaryReplica
	if p, problems := make1(t, f, agenda.Limits{}); len(problems) > 0 || order(p) != "db2 db1 db3 " {
		t.Errorf("%s%v", order(p), problems)
	}
	f.Pairs[0].Sides = at("db1", "db1", "db3")
	if _, wrong := make1(t, f, agenda.Limits{}); len(wrong) != 1 { // B is on its primary's host
		t.Errorf("%v", wrong)
	}
	f.Pairs[0].Sides = at("db1", "db2", "db3")
	f.Pairs = append(f.Pairs, farm.Pair{Name: "p2", Topology: farm.PrimaryReplica, Sides: at("db2", "db1", "")})
	p, problems := make1(t, f, agenda.Limits{Hosts: 3})
	if len(problems) > 0 || order(p) != "db3 db1 db2 " || len(p.Batches) != 3 {
		t.Errorf("%s%v %+v", order(p), problems, p.Batches)
	}
	var b strings.Builder
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"p1 is served by one side: p1/A is out, the replica on db2 takes the writes: two pauses of writes", "p1 is served by one side: p1/C is out, no write waits"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
}
