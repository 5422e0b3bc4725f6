package claims

import (
	"fmt"
	"slices"

	"stowage/farm"
)

// presence finds subjects that a source lacks which should have them.
func (r *reconciler) presence() {
	subjects := make([]uint32, 0, len(r.listing))
	for sub := range r.listing {
		subjects = append(subjects, sub)
	}
	slices.Sort(subjects)
	var part mask
	for i, src := range r.sources {
		if src.IsPart {
			part |= bit(i)
		}
	}
	for _, n := range subjects {
		sub, has := r.set.subjects.things[n], r.listing[n]
		lacks := r.covers[sub.Kind] & r.fresh &^ part &^ has
		if lacks == 0 || has&r.fresh == 0 {
			continue
		}
		d := dispute{subject: sub, attribute: listed, groups: []side{{value: "listed", who: has}, {value: "not listed", who: lacks}}}
		d.verdict = r.judge(d)
		switch {
		case d.verdict.culprits&has != 0:
			d.verdict.check = "unknown"
			d.verdict.reason = fmt.Sprintf("only %s has it; %s", r.namesOf(has), d.verdict.reason)
		case d.verdict.culprits != 0:
			d.verdict.check = "missing"
		default:
			d.verdict.check = "listed"
		}
		r.open = append(r.open, d)
	}
}

// sharedErrors is how many errors two sources must have in common before one
// is taken for fed by the other.
const sharedErrors = 3

// findCopies looks for sources that are wrong in the same way. They count once
// from then on. Who is whose copy is not known by that: both stay culprits.
func (r *reconciler) findCopies() bool {
	type two struct{ a, b int }
	shared, errors := map[two]int{}, make([]int, len(r.sources))
	for _, d := range r.open {
		if !d.verdict.decided || d.attribute == listed || d.attribute == "name" {
			continue
		}
		for _, g := range d.groups {
			wrong := r.nameable(g.who & d.verdict.culprits)
			for i, a := range wrong {
				errors[a]++
				for _, b := range wrong[i+1:] {
					shared[two{a, b}]++
				}
			}
		}
	}
	found := false
	for a := range r.sources {
		for b := a + 1; b < len(r.sources); b++ {
			n := shared[two{a, b}]
			if n < sharedErrors || n*5 < min(errors[a], errors[b])*4 || r.root[a] == r.root[b] {
				continue
			}
			found = true
			r.report.Copies = append(r.report.Copies, Copy{Source: r.sources[b].Name, Of: r.sources[a].Name,
				Evidence: fmt.Sprintf("%s in common, of %d and %d: one of them feeds the other, or both are fed by one; they count once", farm.Counted(n, "error"), errors[b], errors[a])})
			for i := range r.root {
				if r.root[i] == b {
					r.root[i] = r.root[a]
				}
			}
		}
	}
	return found
}

// nameable are the roots in a mask that are not servers.
func (r *reconciler) nameable(m mask) []int {
	var out []int
	for i, src := range r.sources {
		if m.has(i) && r.root[i] == i && !src.IsLive {
			out = append(out, i)
		}
	}
	return out
}

// findSwaps joins two disputes of one attribute in which one source, against
// all others, has the values of two subjects exchanged.
func (r *reconciler) findSwaps() {
	type deviation struct {
		kind                    Kind
		attribute, said, others string
		source                  int
	}
	alone := map[deviation]int{}
	for i := range r.open {
		d := &r.open[i]
		groups := r.voting(r.freshOnly(d.groups))
		if d.attribute == listed || d.attribute == "name" || len(groups) != 2 {
			continue
		}
		for at := range groups {
			mine, others := groups[at], groups[1-at]
			if mine.votes.count() != 1 || others.votes.count() < 2 {
				continue
			}
			source := r.nameable(mine.who)
			if len(source) != 1 {
				continue
			}
			key := deviation{d.subject.Kind, d.attribute, mine.value, others.value, source[0]}
			back := deviation{d.subject.Kind, d.attribute, others.value, mine.value, source[0]}
			if j, ok := alone[back]; ok {
				r.swap(d, &r.open[j], mine.who)
				r.swap(&r.open[j], d, mine.who)
				delete(alone, back)
			} else {
				alone[key] = i
			}
		}
	}
}

// swap says so. An authority that stands alone has made a mistake: a move does
// not exchange two places. A switchover does exchange two roles.
func (r *reconciler) swap(d, with *dispute, who mask) {
	d.swapped = with.subject.Name
	v := &d.verdict
	if !v.decided && v.authority != "" && !slices.Contains([]string{"role", "replicates_from", "read_only", "primary"}, d.attribute) {
		at := slices.IndexFunc(d.groups, func(g side) bool { return g.who&who == 0 })
		*v = ruling{verdict: StaleOrWrong, culprits: who, holds: d.groups[at].value, decided: true, authority: v.authority, reason: "it has the values of two subjects exchanged, against everybody else"}
	}
	v.reason = join("exchanged with "+with.subject.Name, v.reason)
}
