package claims

import (
	"fmt"
	"slices"
)

// mostPairs bounds how many unknown and missing names of one source are held
// against each other. A source with more is a source of another farm.
const mostPairs = 2_000_000

// rename finds subjects that one source has under a name of its own: it lacks
// somebody whom the others have, and has somebody whom nobody else has.
func (r *reconciler) rename() {
	type pairing struct{ unknown, missing []uint32 }
	by := map[int]map[Kind]*pairing{}
	subjects := make([]uint32, 0, len(r.listing))
	for sub := range r.listing {
		subjects = append(subjects, sub)
	}
	slices.Sort(subjects)
	for _, sub := range subjects {
		m, k := r.listing[sub], r.set.subjects.things[sub].Kind
		covers := r.covers[k] & r.fresh
		for n := range r.sources {
			if !covers.has(n) || r.root[n] != n {
				continue
			}
			if by[n] == nil {
				by[n] = map[Kind]*pairing{}
			}
			if by[n][k] == nil {
				by[n][k] = &pairing{}
			}
			switch others := r.roots(m) &^ bit(n); {
			case m.has(n) && others == 0:
				by[n][k].unknown = append(by[n][k].unknown, sub)
			case !m.has(n) && others != 0:
				by[n][k].missing = append(by[n][k].missing, sub)
			}
		}
	}
	wanted := map[uint32]bool{}
	for _, kinds := range by {
		for _, p := range kinds {
			if len(p.unknown) > 0 && len(p.missing) > 0 && len(p.unknown)*len(p.missing) <= mostPairs {
				for _, sub := range slices.Concat(p.unknown, p.missing) {
					wanted[sub] = true
				}
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	known := r.features(wanted)
	for n := range r.sources {
		for _, k := range Kinds {
			p := by[n][k]
			if p == nil || len(p.unknown)*len(p.missing) > mostPairs {
				continue
			}
			for _, u := range p.unknown {
				r.renameOne(n, u, p.missing, known)
			}
		}
	}
	r.renameFollow()
}

// feature is one value of a subject, as sources give it.
type feature map[string]map[string]mask

// features are the resolved values of some subjects.
func (r *reconciler) features(of map[uint32]bool) map[uint32]feature {
	memo, out := r.subjectNumbers(), map[uint32]feature{}
	add := func(sub uint32, name, value string, source uint8) {
		if out[sub] == nil {
			out[sub] = feature{}
		}
		if out[sub][name] == nil {
			out[sub][name] = map[string]mask{}
		}
		out[sub][name][value] |= bit(int(source))
	}
	for i := range r.set.rows {
		w := &r.set.rows[i]
		sub := memo[w.subject]
		if !of[sub] || w.unknown {
			continue
		}
		k, name, text := r.set.subjects.things[sub].Kind, r.set.names.things[w.attribute], r.set.words.things[w.value]
		switch {
		case name == "":
		case k == Instance && name == "address":
			add(sub, "spot", r.spot(text), w.source)
		case k == Shard && (name == "address" || name == "instance"):
			add(sub, "pair", r.value(k, name, group, text), w.source)
		default:
			add(sub, name, r.value(k, name, ruleOf(k, name).shape, text), w.source)
		}
	}
	return out
}

// identifying are features that two subjects do not share.
var identifying = map[Kind][]string{Instance: {"spot", "server_id"}, Host: {"address"}}

// renameOne looks for whom a source may mean by an unknown name.
func (r *reconciler) renameOne(source int, unknown uint32, missing []uint32, known map[uint32]feature) {
	u := r.set.subjects.things[unknown]
	var slips, fits []uint32
	same := map[uint32]bool{}
	for _, m := range missing {
		name := r.set.subjects.things[m].Name
		strong, agree, differ := alike(u.Kind, known[unknown], known[m])
		switch {
		case strong:
			fits = append(fits, m)
			same[m] = true
		case isSlip(u.Name, name):
			slips = append(slips, m)
		case (u.Kind == Instance || u.Kind == Host) && agree > 0 && differ == 0 && isNear(u.Name, name): // shards of one pair agree in all
			fits = append(fits, m)
		}
	}
	candidates := slices.Concat(fits, slips)
	if len(candidates) > 1 { // the one with an address of its own beats those that look alike
		candidates = slices.DeleteFunc(candidates, func(m uint32) bool { return !same[m] })
	}
	if len(candidates) != 1 {
		return
	}
	to := r.set.subjects.things[candidates[0]]
	if u.Kind == Host && r.mentions[u.Name]&^bit(source) != 0 {
		return // others know it by this name, too
	}
	if _, taken := r.listing[candidates[0]]; !taken || r.listing[candidates[0]].has(source) {
		return
	}
	r.renamed[u] = to
	sure := isSlip(u.Name, to.Name) || same[candidates[0]] && isNear(u.Name, to.Name)
	d := dispute{subject: to, attribute: "name"}
	d.groups = []side{{value: to.Name, who: r.listing[candidates[0]]}, {value: u.Name, who: r.listing[unknown]}}
	knows := r.listing[candidates[0]]
	if u.Kind == Host {
		knows |= r.mentions[to.Name]
	}
	if r.roots(knows&r.fresh).count() < 2 { // one says the one, one the other
		sure = false
		d.verdict = ruling{check: "name", verdict: Tie, reason: "two sources have one name each for what looks like one thing"}
	} else {
		d.verdict = ruling{check: "name", verdict: StaleOrWrong, culprits: r.listing[unknown], sure: sure, holds: to.Name, decided: true,
			reason: fmt.Sprintf("nobody else knows %s, and %s is missing there", u.Name, to.Name)}
	}
	if sure {
		d.verdict.verdict = Wrong
	}
	r.open = append(r.open, d)
	r.listing[candidates[0]] |= r.listing[unknown]
	delete(r.listing, unknown)
}

// alike counts the features that two subjects have in common.
func alike(k Kind, a, b feature) (strong bool, agree, differ int) {
	for name, values := range a {
		for v := range values {
			if _, ok := b[name][v]; ok {
				agree++
				strong = strong || slices.Contains(identifying[k], name)
			} else if len(b[name]) > 0 {
				differ++
			}
		}
	}
	return strong, agree, differ
}

// renameFollow lets what was learnt about names hold for values, too: an
// instance in a pair that is misspelt is in the pair.
func (r *reconciler) renameFollow() {
	for u, to := range r.renamed {
		if u.Kind == Host {
			r.hosts[u.Name] = to.Name
		}
	}
	for address, name := range r.hosts {
		if to, ok := r.renamed[Subject{Host, name}]; ok {
			r.hosts[address] = to.Name
		}
	}
	for spot, name := range r.instances {
		if to, ok := r.renamed[Subject{Instance, name}]; ok {
			r.instances[spot] = to.Name
		}
	}
	for name, p := range r.pairs {
		if to, ok := r.renamed[Subject{Pair, p}]; ok {
			r.pairs[name] = to.Name
		}
	}
}
