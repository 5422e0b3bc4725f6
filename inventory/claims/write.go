package claims

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// write makes conflicts of disputes.
func (r *reconciler) write() {
	for i := range r.open {
		d := &r.open[i]
		if d.verdict.decided && d.facts != nil {
			for _, g := range d.groups {
				if g.value == d.verdict.holds {
					r.agree(d.subject, d.attribute, g)
				}
			}
		}
		if fresh := r.freshOnly(d.groups); len(fresh) == 1 && d.verdict.check == "" && r.roots(fresh[0].who).count() > 1 {
			continue // several agree, and only one that cannot be read said otherwise
		}
		if d.attribute == "port" && r.isSaid(d, "host") {
			continue
		}
		r.report.Conflicts = append(r.report.Conflicts, r.conflict(*d))
	}
}

// isSaid reports whether a dispute about another attribute of the same subject
// names the same culprits: host and port are one address.
func (r *reconciler) isSaid(d *dispute, attribute string) bool {
	return slices.ContainsFunc(r.open, func(o dispute) bool {
		return o.subject == d.subject && o.attribute == attribute && o.verdict.culprits == d.verdict.culprits
	})
}

func (r *reconciler) conflict(d dispute) Conflict {
	v := d.verdict
	out := Conflict{Check: cmp.Or(v.check, "conflict"), Kind: d.subject.Kind, Subject: d.subject.Name, Attribute: r.called(d), Claims: r.shown(d),
		Authority: v.authority, Verdict: v.verdict, IsSure: v.sure && v.culprits != 0, SwappedWith: d.swapped, Reason: v.reason, Culprits: []string{}}
	if v.decided {
		out.Value = v.holds
	}
	for i, src := range r.sources {
		switch {
		case !v.culprits.has(i):
		case src.CopyOf != "" && r.declaredCopy(i) && v.culprits.has(r.root[i]):
			out.Repeats = append(out.Repeats, src.Name)
		default:
			out.Culprits = append(out.Culprits, src.Name)
		}
	}
	out.Remedy = remedy(out)
	return out
}

func (r *reconciler) declaredCopy(i int) bool { return r.sourceNamed(r.sources[i].CopyOf) >= 0 }

// called is the attribute in the words of the culprits, or of whoever speaks.
func (r *reconciler) called(d dispute) string {
	name := ""
	for _, f := range d.facts {
		said := r.set.names.things[r.set.rows[f.row].attribute]
		switch {
		case d.verdict.culprits.has(int(f.source)):
			return said
		case name == "":
			name = said
		case name != said:
			name = d.attribute
		}
	}
	return cmp.Or(name, d.attribute)
}

// shown are all claims of a dispute, as their sources made them.
func (r *reconciler) shown(d dispute) []Shown {
	out := []Shown{}
	if d.facts == nil {
		for _, g := range d.groups {
			for i, src := range r.sources {
				if g.who.has(i) {
					out = append(out, Shown{Value: g.value, Source: src.Name, Place: r.placeOf(i, d.subject, g.value), At: src.At, Stale: src.IsStale})
				}
			}
		}
		return out
	}
	for _, f := range d.facts {
		out = append(out, r.claim(f))
	}
	return append(out, d.besides...)
}

func (r *reconciler) claim(f fact) Shown {
	w, src := r.set.rows[f.row], r.sources[f.source]
	at := src.At
	if n := r.set.times.things[w.at]; n != 0 {
		at = time.Unix(0, n).UTC()
	}
	value := r.set.words.things[w.value]
	if w.unknown {
		value = "(not readable: " + cmp.Or(value, "secret") + ")"
	}
	return Shown{Value: value, Source: src.Name, Place: Place{r.set.words.things[w.where], int(w.line)}.String(), At: at, Stale: src.IsStale}
}

// placeOf is where a source has a subject, or where it should.
func (r *reconciler) placeOf(source int, sub Subject, value string) string {
	if value == "not listed" {
		return r.sources[source].Where
	}
	if r.firstRow == nil {
		r.findFirstRows()
	}
	for _, name := range []string{sub.Name, value} {
		if n, ok := r.firstRow[mention{source, Subject{sub.Kind, name}}]; ok {
			w := r.set.rows[n]
			return Place{r.set.words.things[w.where], int(w.line)}.String()
		}
	}
	return r.sources[source].Where
}

// mention is a subject in a source.
type mention struct {
	source int
	sub    Subject
}

// findFirstRows learns where each source first speaks of the subjects that a
// report says are there or not.
func (r *reconciler) findFirstRows() {
	wanted := map[Subject]bool{}
	for _, d := range r.open {
		if d.facts == nil {
			for _, g := range d.groups {
				wanted[Subject{d.subject.Kind, g.value}] = true
			}
			wanted[d.subject] = true
		}
	}
	r.firstRow = map[mention]int{}
	of := make([][]Subject, len(r.set.subjects.things))
	for i, sub := range slices.Clone(r.set.subjects.things) {
		for _, s := range []Subject{sub, r.subject(sub)} {
			if wanted[s] {
				of[i] = append(of[i], s)
			}
		}
	}
	for i := range r.set.rows {
		w := &r.set.rows[i]
		for _, s := range of[w.subject] {
			key := mention{int(w.source), s}
			if _, ok := r.firstRow[key]; !ok {
				r.firstRow[key] = i
			}
		}
	}
}

// remedy is what to do next.
func remedy(c Conflict) string {
	who := strings.Join(c.Culprits, ", ")
	switch {
	case c.Check == "missing" && c.Kind == Shard && slices.Contains(c.Culprits, "farm") && !farm.IsName(c.Subject):
		return "rename it, or leave it: farm.yaml takes " + farm.NamesAre
	case c.Check == "missing" && who != "":
		return "add it to " + who
	case c.Check == "unknown" && who != "":
		return "take it out of " + who + ", or add it to the others"
	case c.Check == "name" && who != "":
		return "call it " + c.Value + " in " + who
	case c.Check == "two-places":
		return "see which copy clients use, and drop the other"
	case c.Check == "twice" && c.Value == "":
		return "leave one of them in " + who
	case who != "" && c.Value != "":
		return "write " + c.Value + " into " + who
	case c.Authority == "":
		return "see which is right, and declare the authority in inventory.yaml: authorities: {" + string(c.Kind) + "." + c.Attribute + ": SOURCE}"
	}
	return "see which is right, and correct the others"
}
