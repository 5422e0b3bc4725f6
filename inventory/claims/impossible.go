package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// checked are the attributes whose agreed values are looked at again: whether
// they can all be true at once.
var checked = map[string]bool{
	"instance.host": true, "instance.port": true, "instance.server_id": true, "instance.domain": true, "instance.pair": true,
	"instance.lag": true, "instance.role": true, "instance.replicates_from": true, "instance.alive": true, "instance.errant": true,
	"instance.backup": true, "pair.backup": true, "host.backup": true,
	"pair.topology": true, "pair.primary": true, "shard.pair": true,
}

// impossible looks for what everybody agrees on, and what cannot be.
func (r *reconciler) impossible() {
	r.addressesTwice()
	r.idsTwice()
	r.domainsTwice()
	r.pointNowhere()
	r.deadPrimaries()
	r.errant()
	r.notBackedUp()
	slices.SortStableFunc(r.report.Conflicts, func(a, b Conflict) int {
		if n := slices.Index(Kinds, a.Kind) - slices.Index(Kinds, b.Kind); n != 0 {
			return n
		}
		if n := strings.Compare(a.Subject, b.Subject); n != 0 {
			return n
		}
		return strings.Compare(a.Attribute+a.Check, b.Attribute+b.Check)
	})
}

// find reports something impossible. subjects are all who take part; with one
// source behind all of them that source is named.
func (r *reconciler) find(check string, k Kind, attribute string, subjects []string, text, remedy string) {
	var who mask
	var claims []Shown
	for _, name := range subjects {
		n, ok := r.set.subjects.numbers[Subject{k, name}]
		if !ok {
			continue
		}
		for _, f := range r.factsOf(n, attribute) {
			who |= bit(int(f.source))
			shown := r.claim(f)
			if len(subjects) > 1 {
				shown.Value = name + ": " + shown.Value
			}
			claims = append(claims, shown)
		}
	}
	out := Conflict{Check: check, Kind: k, Subject: subjects[0], Attribute: attribute, Claims: claims, Verdict: Wrong, Culprits: []string{}, Reason: text, Remedy: remedy}
	roots := r.roots(who)
	// Who tells of transactions or of a dead server is not to blame for them. Of equal
	// ids either the one source is wrong or the servers are as it says; two names for
	// one address are a mistake of whoever has both.
	if roots.count() == 1 && roots&r.live() == 0 && check != "errant" && check != "dead-primary" {
		out.Culprits, out.IsSure = r.nameList(roots), check == "address-unique"
	}
	r.report.Conflicts = append(r.report.Conflicts, out)
}

// factsOf are the facts of one subject and attribute.
func (r *reconciler) factsOf(subject uint32, name string) []fact {
	key, ok := r.set.names.numbers[name]
	if !ok {
		return nil
	}
	start, _ := slices.BinarySearchFunc(r.facts, subject, func(f fact, n uint32) int { return int(int64(f.subject) - int64(n)) })
	var out []fact
	for _, f := range r.facts[start:] {
		if f.subject != subject {
			break
		}
		if uint32(f.attribute) == key {
			out = append(out, f)
		}
	}
	return out
}

// sameValue are the subjects by agreed value.
func (r *reconciler) sameValue(key string) map[string][]string {
	out := map[string][]string{}
	for _, name := range sortedKeys(r.agreed[key]) {
		out[r.agreed[key][name].value] = append(out[r.agreed[key][name].value], name)
	}
	return out
}

func (r *reconciler) addressesTwice() {
	at := map[string][]string{}
	hosts, ports := r.agreed["instance.host"], r.agreed["instance.port"]
	for _, name := range sortedKeys(hosts) {
		if p, ok := ports[name]; ok {
			at[hosts[name].value+":"+p.value] = append(at[hosts[name].value+":"+p.value], name)
		}
	}
	for _, spot := range sortedKeys(at) {
		if names := at[spot]; len(names) > 1 {
			r.find("address-unique", Instance, "host", names, fmt.Sprintf("%s are both at %s", strings.Join(names, " and "), spot), "correct one of them")
		}
	}
}

// idsTwice: a replica skips events that carry its own id. Many farms have
// server ids 1 and 2 in each pair, which harms nobody.
func (r *reconciler) idsTwice() {
	ids := r.sameValue("instance.server_id")
	rare := len(ids)*2 > len(r.agreed["instance.server_id"])
	for _, id := range sortedKeys(ids) {
		names := ids[id]
		if len(names) < 2 || id == "" {
			continue
		}
		if !rare && !r.inOnePair(names) {
			continue
		}
		r.find("server-id-unique", Instance, "server_id", names, fmt.Sprintf("%s have server_id %s", strings.Join(names, " and "), id), "give one another server_id; a replica skips events that carry its own")
	}
}

func (r *reconciler) inOnePair(names []string) bool {
	seen := map[string]bool{}
	for _, n := range names {
		if p, ok := r.agreed["instance.pair"][n]; ok {
			if seen[p.value] {
				return true
			}
			seen[p.value] = true
		}
	}
	return false
}

// domainsTwice: two sides that both write must not write one GTID domain.
func (r *reconciler) domainsTwice() {
	by := map[string][]string{}
	for _, name := range sortedKeys(r.agreed["instance.domain"]) {
		p := r.agreed["instance.pair"][name].value
		if p != "" && r.agreed["pair.topology"][p].value == "active-active" {
			key := p + " " + r.agreed["instance.domain"][name].value
			by[key] = append(by[key], name)
		}
	}
	for _, key := range sortedKeys(by) {
		if names := by[key]; len(names) > 1 {
			_, domain, _ := strings.Cut(key, " ")
			r.find("gtid-domain-unique", Instance, "domain", names, fmt.Sprintf("%s write GTID domain %s, both", strings.Join(names, " and "), domain), "stowage domains separate")
		}
	}
}

// references are attributes that name somebody who has to be there.
var references = []struct {
	kind      Kind
	attribute string
	to        Kind
}{
	{Instance, "host", Host}, {Instance, "pair", Pair}, {Instance, "replicates_from", Instance}, {Pair, "primary", Instance}, {Shard, "pair", Pair},
}

func (r *reconciler) pointNowhere() {
	there := map[Kind]map[string]bool{}
	for sub := range r.listing {
		s := r.set.subjects.things[sub]
		if there[s.Kind] == nil {
			there[s.Kind] = map[string]bool{}
		}
		there[s.Kind][s.Name] = true
	}
	for _, ref := range references {
		key := attributeKey(ref.kind, ref.attribute)
		for _, name := range sortedKeys(r.agreed[key]) {
			to := r.agreed[key][name].value
			if plain := strings.TrimPrefix(to, nowhere); to == "" || plain == to && (there[ref.to] == nil || there[ref.to][to]) {
				continue
			}
			r.find("points-nowhere", ref.kind, ref.attribute, []string{name}, fmt.Sprintf("%s of %s leads to %s, which nobody lists", ref.attribute, name, strings.TrimPrefix(to, nowhere)), "correct it, or list what it leads to")
		}
	}
}

func (r *reconciler) deadPrimaries() {
	for _, name := range sortedKeys(r.agreed["instance.replicates_from"]) {
		from := r.agreed["instance.replicates_from"][name].value
		if a, ok := r.agreed["instance.alive"][from]; ok && a.value == "no" {
			r.find("dead-primary", Instance, "replicates_from", []string{name}, fmt.Sprintf("%s replicates from %s, which does not answer", name, from), "start "+from+", or promote a replica")
		}
	}
}

func (r *reconciler) errant() {
	for _, name := range sortedKeys(r.agreed["instance.errant"]) {
		if v := r.agreed["instance.errant"][name].value; v != "" && v != "0" && v != "no" {
			r.find("errant", Instance, "errant", []string{name}, fmt.Sprintf("%s has transactions that its source never had: %s", name, v), "find out who writes to the replica; bring the rows to the source, or rebuild the replica")
		}
	}
}

// notBackedUp: where there is a catalogue of backups, one side of each pair is in it.
func (r *reconciler) notBackedUp() {
	covered := map[string]bool{}
	var who mask
	for _, k := range []Kind{Instance, Pair, Host} {
		for name, a := range r.agreed[attributeKey(k, "backup")] {
			who |= a.who
			if a.value != "" && a.value != "no" && a.value != "never" {
				covered[string(k)+" "+name] = true
			}
		}
	}
	for i, src := range r.sources {
		if who.has(i) && (src.IsPart || src.IsStale) {
			return // it may be in what could not be read
		}
	}
	if who == 0 {
		return
	}
	pairs := map[string][]string{}
	for sub := range r.listing {
		s := r.set.subjects.things[sub]
		if s.Kind != Instance {
			continue
		}
		p := cmp.Or(r.pairs[s.Name], "of "+s.Name)
		pairs[p] = append(pairs[p], s.Name)
	}
	for _, p := range sortedKeys(pairs) {
		names := pairs[p]
		slices.Sort(names)
		if covered["pair "+p] || slices.ContainsFunc(names, func(n string) bool {
			return covered["instance "+n] || covered["host "+r.agreed["instance.host"][n].value]
		}) {
			continue
		}
		c := Conflict{Check: "no-backup", Kind: Instance, Subject: names[0], Attribute: "backup", Claims: []Shown{}, Verdict: Wrong, Culprits: []string{},
			Reason: fmt.Sprintf("no backup covers %s; %s knows of none", strings.Join(names, ", "), r.namesOf(who)), Remedy: "back up one of them"}
		for i, src := range r.sources {
			if who.has(i) {
				c.Claims = append(c.Claims, Shown{Value: "none", Source: src.Name, Place: src.Where, At: src.At})
			}
		}
		r.report.Conflicts = append(r.report.Conflicts, c)
	}
}
