package claims_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/turns"
	. "stowage/inventory/claims" // workspace imports it, so that this cannot be a part of it
	"stowage/workspace"
)

// told is a source of a test: its claims, which a corruption changes.
type told struct {
	Source
	claims []Claim
}

func (s *told) say(k Kind, name, attribute, value string) {
	s.claims = append(s.claims, Claim{Subject: Subject{k, name}, Attribute: attribute, Value: value, Place: Place{s.Where, len(s.claims) + 1}})
}

var testDay = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// tellAll is what nine sources of a farm say when all of them are right.
func tellAll(f *farm.Farm) []*told {
	source := func(name, kind string) *told {
		return &told{Source: Source{Name: name, Kind: kind, Where: name + "." + kind, At: testDay, IsLive: kind == "live"}}
	}
	ours, ansible, cmdb, proxy := source("farm", "farm"), source("ansible", "yaml"), source("cmdb", "csv"), source("haproxy", "cfg")
	app, php, live, backups, metrics := source("app", "json"), source("php", "php"), source("live", "live"), source("backups", "json"), source("metrics", "prometheus")
	php.CopyOf = "app"
	for _, h := range f.Hosts {
		for _, s := range []*told{ours, ansible, cmdb} {
			s.say(Host, string(h.Name), "address", h.Address)
		}
		cmdb.say(Host, string(h.Name), "memory", "96GB")
		ours.say(Host, string(h.Name), "memory", "96GiB")
	}
	id := 1000
	for _, p := range f.Pairs {
		ours.say(Pair, string(p.Name), "topology", string(p.Topology))
		backups.say(Pair, string(p.Name), "backup", "2026-11-20")
		for _, side := range p.SideNames() {
			id++
			s, name, address := p.Sides[side], string(p.Instance(side)), f.Address(p.Sides[side])
			ours.say(Instance, name, "host", string(s.Host))
			ours.say(Instance, name, "port", fmt.Sprint(s.Port))
			ours.say(Instance, name, "pair", string(p.Name))
			ansible.say(Instance, name, "address", address)
			ansible.say(Instance, name, "server_id", fmt.Sprint(id))
			cmdb.say(Instance, name, "host", string(s.Host))
			cmdb.say(Instance, name, "server_id", fmt.Sprint(id))
			proxy.say(Instance, name, "address", address)
			metrics.say(Instance, address, "alive", "1")
			metrics.say(Instance, address, "server_id", fmt.Sprint(id))
			live.say(Instance, address, "server_id", fmt.Sprint(id))
			live.say(Instance, address, "alive", "yes")
			live.say(Instance, address, "replicates_from", f.Address(p.Sides[side.Twin()]))
			for _, shard := range p.Shards {
				live.say(Shard, string(shard.Name), "address", address)
				app.say(Shard, string(shard.Name), "address", address)
				php.say(Shard, string(shard.Name), "address", address)
			}
		}
		for _, shard := range p.Shards {
			ours.say(Shard, string(shard.Name), "pair", string(p.Name))
			cmdb.say(Shard, string(shard.Name), "pair", string(p.Name))
		}
	}
	return []*told{ours, ansible, cmdb, proxy, app, php, live, backups, metrics}
}

func reconcileTold(t *testing.T, sources []*told, rules Rules) Report {
	t.Helper()
	set := new(Set)
	for _, s := range sources {
		n, ok := set.AddSource(s.Source)
		if !ok {
			t.Fatal("too many sources")
		}
		for _, c := range s.claims {
			set.Add(n, c)
		}
	}
	return Reconcile(set, rules, testDay)
}

func exampleFarm(t *testing.T) *farm.Farm {
	t.Helper()
	w, err := workspace.Open("../../examples/etsy-2016")
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.Farm()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// clone is sources that a corruption may change.
func clone(sources []*told) []*told {
	var out []*told
	for _, s := range sources {
		c := *s
		c.claims = slices.Clone(s.claims)
		out = append(out, &c)
	}
	return out
}

// corruption is one mistake of one kind in one source.
type corruption func(r *rand.Rand, s *told) (what string, ok bool)

// change is an attribute of a source with which a mistake can be made.
func (s *told) change(r *rand.Rand) (indexes []int, key string) {
	by := map[string][]int{}
	for i, c := range s.claims {
		switch c.Attribute {
		case "alive", "backup", "memory", "port", "topology", "replicates_from":
			continue // said by one source alone, or the same of everybody
		}
		key := string(c.Subject.Kind) + "." + c.Attribute
		by[key] = append(by[key], i)
	}
	keys := slices.Sorted(maps.Keys(by))
	if len(keys) == 0 {
		return nil, ""
	}
	key = keys[r.IntN(len(keys))]
	return by[key], key
}

var corruptions = map[string]corruption{
	"swapped": func(r *rand.Rand, s *told) (string, bool) {
		of, key := s.change(r)
		if len(of) < 2 {
			return "", false
		}
		a, b := of[r.IntN(len(of))], of[r.IntN(len(of))]
		if s.claims[a].Value == s.claims[b].Value || s.claims[a].Subject == s.claims[b].Subject {
			return "", false
		}
		// All claims of the two subjects about this attribute: both addresses of a shard.
		one, other := s.claims[a].Subject, s.claims[b].Subject
		var of1, of2 []int
		for _, i := range of {
			switch s.claims[i].Subject {
			case one:
				of1 = append(of1, i)
			case other:
				of2 = append(of2, i)
			}
		}
		values := func(of []int) (out []string) {
			for _, i := range of {
				out = append(out, s.claims[i].Value)
			}
			return out
		}
		if len(of1) != len(of2) || slices.Equal(values(of1), values(of2)) { // two shards of one pair are not exchanged
			return "", false
		}
		for i := range of1 {
			s.claims[of1[i]].Value, s.claims[of2[i]].Value = s.claims[of2[i]].Value, s.claims[of1[i]].Value
		}
		return fmt.Sprintf("%s of %s and %s", key, one.Name, other.Name), true
	},
	"stale": func(r *rand.Rand, s *told) (string, bool) {
		of, key := s.change(r)
		if len(of) == 0 {
			return "", false
		}
		c := &s.claims[of[r.IntN(len(of))]]
		was := c.Value
		switch key {
		case "host.address":
			c.Value = fmt.Sprintf("10.9.%d.%d", r.IntN(200), r.IntN(200)+1)
		case "instance.server_id":
			c.Value = fmt.Sprint(r.IntN(900) + 1)
		default: // where another one is today
			c.Value = s.claims[of[r.IntN(len(of))]].Value
			for i := range s.claims { // both addresses of a shard were in one pair
				if o := &s.claims[i]; o != c && o.Subject == c.Subject && o.Attribute == c.Attribute {
					o.Value = c.Value
				}
			}
		}
		return fmt.Sprintf("%s of %s: %s, was %s", key, c.Subject.Name, c.Value, was), c.Value != was
	},
	"typo": func(r *rand.Rand, s *told) (string, bool) {
		of, key := s.change(r)
		if len(of) == 0 {
			return "", false
		}
		c := &s.claims[of[r.IntN(len(of))]]
		was := c.Value
		if r.IntN(2) == 0 && !strings.Contains(c.Subject.Name, ":") { // in the name, wherever the source has it
			name, was := c.Subject.Name, c.Subject
			to := misspell(r, name)
			for i := range s.claims {
				if s.claims[i].Subject == was {
					s.claims[i].Subject.Name = to
				}
			}
			return "name " + to + " for " + name, to != name
		}
		c.Value = misspell(r, was)
		return fmt.Sprintf("%s of %s: %s for %s", key, c.Subject.Name, c.Value, was), c.Value != was
	},
	"missing": func(r *rand.Rand, s *told) (string, bool) {
		of, _ := s.change(r)
		if len(of) == 0 {
			return "", false
		}
		gone := s.claims[of[r.IntN(len(of))]].Subject
		s.claims = slices.DeleteFunc(s.claims, func(c Claim) bool { return c.Subject == gone })
		return string(gone.Kind) + " " + gone.Name, true
	},
	"duplicate": func(r *rand.Rand, s *told) (string, bool) {
		of, key := s.change(r)
		if len(of) < 2 {
			return "", false
		}
		c := s.claims[of[r.IntN(len(of))]]
		was := c.Value
		c.Value = s.claims[of[r.IntN(len(of))]].Value
		s.claims = append(s.claims, c)
		return fmt.Sprintf("%s of %s: %s and %s", key, c.Subject.Name, was, c.Value), c.Value != was
	},
}

// misspell makes one slip of the keyboard.
func misspell(r *rand.Rand, text string) string {
	b := []byte(text)
	i := r.IntN(len(b))
	switch r.IntN(3) {
	case 0:
		return string(append(b[:i:i], b[i+1:]...))
	case 1:
		if i+1 < len(b) {
			b[i], b[i+1] = b[i+1], b[i]
		}
		return string(b)
	}
	b[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[r.IntN(36)]
	return string(b)
}

// TestCorruptionsHaveTheirCulprits makes mistakes in sources of the example
// farm, one at a time, and asks whose they are. The generator knows.
func TestCorruptionsHaveTheirCulprits(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	clean := tellAll(exampleFarm(t))
	settings := []struct {
		name  string
		rules Rules
		down  string
	}{
		{name: "nothing declared"},
		{name: "farm.yaml declared", rules: Rules{Authorities: map[string][]string{"*": {"farm", "ansible"}}}},
		{name: "nothing declared, servers down", down: "live"},
		{name: "farm.yaml declared, servers down", rules: Rules{Authorities: map[string][]string{"*": {"farm", "ansible"}}}, down: "live"},
	}
	each := 25
	if testing.Short() {
		each = 4
	}
	right, all := 0, 0
	for _, setting := range settings {
		sources := clone(clean)
		for _, s := range sources {
			s.IsStale = s.Name == setting.down
		}
		if r := reconcileTold(t, sources, setting.rules); len(r.Conflicts) > 0 {
			t.Errorf("%s: the clean farm has %s", setting.name, text(r.Conflicts))
		}
		for _, kind := range slices.Sorted(maps.Keys(corruptions)) {
			r := rand.New(rand.NewPCG(2016, uint64(len(kind)+len(setting.name))))
			for n := 0; n < each; {
				spoilt := clone(sources)
				s := spoilt[r.IntN(len(spoilt))]
				if s.IsLive || s.IsStale {
					continue
				}
				what, ok := corruptions[kind](r, s)
				if !ok {
					continue
				}
				n++
				all++
				report := reconcileTold(t, spoilt, setting.rules)
				if judged(t, setting.name+": "+kind+": "+s.Name+": "+what, report, s.Name) {
					right++
				}
			}
		}
	}
	t.Logf("culprits right in %d of %d", right, all)
	if right*100 < all*95 {
		t.Errorf("culprits right in %d of %d, want 95 %%", right, all)
	}
}

// judged reports whether a report has exactly one culprit.
func judged(t *testing.T, what string, r Report, culprit string) bool {
	t.Helper()
	named := map[string]bool{}
	for _, c := range r.Conflicts {
		for _, name := range c.Culprits {
			named[name] = true
			if c.IsSure && name != culprit {
				t.Errorf("%s: surely %s? %s", what, name, text(r.Conflicts))
			}
		}
	}
	ok := len(named) == 1 && named[culprit]
	if !ok {
		t.Logf("%s: %d conflicts %s", what, len(r.Conflicts), text(r.Conflicts))
	}
	return ok
}

func text(cs []Conflict) string {
	var b strings.Builder
	for i, c := range cs {
		if i == 5 {
			fmt.Fprintf(&b, "\n  and %d more", len(cs)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s %s %s %s: %s %v sure=%v (%s)", c.Check, c.Kind, c.Subject, c.Attribute, c.Verdict, c.Culprits, c.IsSure, c.Reason)
		for _, s := range c.Claims {
			fmt.Fprintf(&b, "\n      %s: %s (%s)", s.Source, s.Value, s.Place)
		}
	}
	return b.String()
}

// TestAMoveThatReachedSome: after a move some sources are late. With servers to
// ask they are the culprits; without, nobody is surely named.
func TestAMoveThatReachedSome(t *testing.T) {
	turns.One(t, 8)
	t.Parallel()
	f := exampleFarm(t)
	clean := tellAll(f)
	movers := []string{"farm", "ansible", "cmdb", "haproxy"}
	for n := range 60 {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		spoilt := clone(clean)
		down := n%2 == 0
		name := string(f.Pairs[r.IntN(len(f.Pairs))].Instance(farm.A))
		late := map[string]bool{}
		for _, s := range spoilt {
			switch {
			case s.IsLive:
				s.IsStale = down
			case slices.Contains(movers, s.Name) && r.IntN(2) == 0:
				late[s.Name] = true
				for i := range s.claims {
					c := &s.claims[i]
					if c.Subject == (Subject{Instance, name}) && c.Attribute == "host" {
						c.Value = "db120"
					}
					if c.Subject == (Subject{Instance, name}) && c.Attribute == "address" {
						c.Value = "10.0.0.120:" + strings.Split(c.Value, ":")[1]
					}
				}
			}
		}
		report := reconcileTold(t, spoilt, Rules{})
		for _, c := range report.Conflicts {
			for _, who := range c.Culprits {
				if c.IsSure && !late[who] {
					t.Errorf("late are %v, and surely named is %s: %s", slices.Sorted(maps.Keys(late)), who, text(report.Conflicts))
				}
			}
		}
		if len(late) > 0 && len(late) < len(movers) && len(report.Conflicts) == 0 {
			t.Errorf("late are %v, and nothing is found", slices.Sorted(maps.Keys(late)))
		}
	}
}

// TestReportIsTheSameTwice: maps are walked in no order, and reports are.
func TestReportIsTheSameTwice(t *testing.T) {
	t.Parallel()
	spoilt := clone(tellAll(exampleFarm(t)))
	r := rand.New(rand.NewPCG(1, 2))
	kinds := slices.Sorted(maps.Keys(corruptions))
	for range 40 {
		corruptions[kinds[r.IntN(len(kinds))]](r, spoilt[r.IntN(len(spoilt))])
	}
	first := reconcileTold(t, spoilt, Rules{})
	if len(first.Conflicts) < 10 {
		t.Fatalf("only %d conflicts", len(first.Conflicts))
	}
	for range 3 {
		if again := reconcileTold(t, spoilt, Rules{}); text(again.Conflicts) != text(first.Conflicts) || len(again.Conflicts) != len(first.Conflicts) {
			t.Errorf("once %s\nthen %s", text(first.Conflicts), text(again.Conflicts))
		}
	}
	if !sort.SliceIsSorted(first.Authorities, func(i, j int) bool { return first.Authorities[i].Attribute < first.Authorities[j].Attribute }) {
		t.Error("authorities are in no order")
	}
}
