package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// fact is a claim after it is known who and what is meant.
type fact struct {
	subject   uint32
	value     uint32 // as it is compared
	row       uint32
	attribute uint16
	source    uint8
	unknown   bool
}

// reconciler compares one set with itself.
type reconciler struct {
	*resolver
	rules    Rules
	sources  []Source
	stale    mask
	facts    []fact
	listing  map[uint32]mask // by subject: who has it
	covers   map[Kind]mask
	tallies  map[string][]tally // by "instance.host", by source
	agreed   map[string]map[string]agreement
	open     []dispute
	report   *Report
	renamed  map[Subject]Subject
	overlaps []common   // by a*sources+b
	orders   [][]uint32 // by source, see order
	// firstRow is by source and subject the first row; nil until it is asked for.
	firstRow map[mention]int
}

// agreement is a value that holds, and who says so.
type agreement struct {
	value string
	who   mask
}

// tally counts how often a source said what the others say.
// disputed: somebody says otherwise; alone: nobody independent says anything.
type tally struct{ claims, checked, agreed, alone, disputed int }

// Reconcile holds the claims of a set against each other. Equal sets and rules
// give equal reports; taken is the time of the report.
func Reconcile(s *Set, rules Rules, taken time.Time) Report {
	out := Report{FormatVersion: FormatVersion, Taken: taken, Subjects: map[Kind]int{}, Claims: len(s.rows),
		Sources: []SourceState{}, Authorities: []Authority{}, Copies: []Copy{}, Conflicts: []Conflict{}, Faults: []Fault{}, Stale: []string{}}
	r := &reconciler{rules: rules, sources: s.sources, report: &out, tallies: map[string][]tally{}, agreed: map[string]map[string]agreement{}}
	root, fresh := make([]int, len(s.sources)), mask(0)
	for i, src := range s.sources {
		root[i] = i
		if src.IsStale {
			r.stale |= bit(i)
			out.Stale = append(out.Stale, src.Name)
		} else {
			fresh |= bit(i)
		}
	}
	for i, src := range s.sources {
		if of := r.sourceNamed(src.CopyOf); src.CopyOf != "" && of >= 0 && of != i {
			root[i] = of
			out.Copies = append(out.Copies, Copy{Source: src.Name, Of: s.sources[of].Name, Declared: true, Evidence: "declared with copy_of"})
		}
	}
	for i := range root { // a copy of a copy; a ring of copies ends somewhere
		for range s.sources {
			root[i] = root[root[i]]
		}
	}
	r.overlaps = make([]common, len(s.sources)*len(s.sources))
	r.resolver = newResolver(s, fresh, root)
	r.list()
	r.findCoverage()
	r.rename()
	r.resolveFacts()
	r.compare()
	r.inferredPairs()
	r.presence()
	if r.findCopies() { // votes have changed
		for i := range r.open {
			r.open[i].verdict = r.judge(r.open[i])
		}
	}
	r.findSwaps()
	r.write()
	r.impossible()
	r.describe(taken)
	r.describeOverlaps()
	r.describeMembers()
	return out
}

func (r *reconciler) sourceNamed(name string) int {
	return slices.IndexFunc(r.sources, func(s Source) bool { return s.Name == name })
}

// list learns which source has which subject.
func (r *reconciler) list() {
	r.listing = map[uint32]mask{}
	r.renamed = map[Subject]Subject{}
	memo, alive := r.subjectNumbers(), r.attribute("alive")
	for i := range r.set.rows {
		w := &r.set.rows[i]
		if r.sources[w.source].IsLive && w.attribute == alive {
			continue // we asked for it by a name of somebody else's; a server that lets us in says more
		}
		r.listing[memo[w.subject]] |= bit(int(w.source))
	}
}

// subjectNumbers is by subject the number of who is meant.
func (r *reconciler) subjectNumbers() []uint32 {
	out := make([]uint32, len(r.set.subjects.things))
	for i, sub := range slices.Clone(r.set.subjects.things) {
		to := r.subject(sub)
		if other, ok := r.renamed[to]; ok {
			to = other
		}
		out[i] = r.set.subjects.number(to)
	}
	return out
}

// someSubjects is as many as it takes to say that a source lists nearly all.
const someSubjects = 3

// findCoverage finds sources that should list every subject of a kind: those
// that say so, and those that have four of five of what two others have.
func (r *reconciler) findCoverage() {
	r.covers = map[Kind]mask{}
	has, of := map[Kind][]int{}, map[Kind]int{}
	for _, k := range Kinds {
		has[k] = make([]int, len(r.sources))
	}
	for sub, m := range r.listing {
		k := r.set.subjects.things[sub].Kind
		if has[k] == nil || r.roots(m).count() < 2 {
			continue
		}
		of[k]++
		for i := range r.sources {
			if m.has(i) {
				has[k][i]++
			}
		}
	}
	for i, src := range r.sources {
		for _, k := range Kinds {
			declared := slices.Contains(src.Covers, k)
			if (src.Covers == nil || src.CoversMore) && !src.IsLive {
				lacks := of[k] - has[k][i]
				declared = declared || of[k] >= someSubjects && (lacks*5 <= of[k] || lacks == 1 && has[k][i] > 1)
			}
			if declared {
				r.covers[k] |= bit(i)
			}
		}
	}
}

// resolveFacts makes facts of rows, in the order of subject, attribute and source.
func (r *reconciler) resolveFacts() {
	type key struct {
		value     uint32
		attribute uint16
		kind      Kind
	}
	memo, values := r.subjectNumbers(), map[key]uint32{}
	address, pair, host, port := r.attribute("address"), r.attribute("pair"), r.attribute("host"), r.attribute("port")
	alias := map[uint16]bool{address: true, r.attribute("instance"): true}
	r.facts = make([]fact, 0, len(r.set.rows)+len(r.set.rows)/8)
	none := r.attribute("")
	for i := range r.set.rows {
		w := &r.set.rows[i]
		if w.attribute == none {
			continue
		}
		sub := r.set.subjects.things[memo[w.subject]]
		f := fact{subject: memo[w.subject], row: uint32(i), attribute: w.attribute, source: w.source, unknown: w.unknown}
		switch {
		case sub.Kind == Instance && w.attribute == address:
			h, p := splitSpot(r.set.words.things[w.value])
			f.attribute, f.value = host, r.set.words.number(r.host(h))
			r.facts = append(r.facts, f)
			f.attribute, f.value = port, r.set.words.number(plainValue(number, p))
		default:
			k := key{w.value, w.attribute, sub.Kind}
			v, ok := values[k]
			if !ok {
				name := r.set.names.things[w.attribute]
				rule := ruleOf(sub.Kind, name)
				if sub.Kind == Shard && alias[w.attribute] {
					rule = ruleOf(Shard, "pair")
				}
				v = r.set.words.number(r.value(sub.Kind, name, rule.shape, r.set.words.things[w.value]))
				values[k] = v
			}
			f.value = v
			if sub.Kind == Shard && alias[w.attribute] {
				f.attribute = pair
				f.unknown = f.unknown || r.set.words.things[v] == "" // an instance of no known pair
			}
		}
		r.facts = append(r.facts, f)
	}
	slices.SortFunc(r.facts, func(a, b fact) int {
		if a.subject != b.subject {
			return cmp.Compare(a.subject, b.subject)
		}
		if a.attribute != b.attribute {
			return cmp.Compare(a.attribute, b.attribute)
		}
		if a.source != b.source {
			return cmp.Compare(a.source, b.source)
		}
		return cmp.Compare(a.row, b.row)
	})
}

// compare walks the facts of one subject and attribute after the other.
func (r *reconciler) compare() {
	for start := 0; start < len(r.facts); {
		end := start + 1
		for end < len(r.facts) && r.facts[end].subject == r.facts[start].subject && r.facts[end].attribute == r.facts[start].attribute {
			end++
		}
		r.compareOne(r.facts[start:end])
		start = end
	}
}

func (r *reconciler) compareOne(facts []fact) {
	sub := r.set.subjects.things[facts[0].subject]
	d := dispute{subject: sub, attribute: r.set.names.things[facts[0].attribute], facts: facts}
	d.groups = r.group(sub.Kind, d.attribute, facts)
	if len(d.groups) == 0 {
		return
	}
	if ruleOf(sub.Kind, d.attribute).reading {
		r.agree(sub, d.attribute, d.groups[len(d.groups)-1]) // servers come last
		return
	}
	r.overlap(facts)
	if len(d.groups) > 1 {
		d.verdict = r.judge(d)
		r.count(d)
		r.open = append(r.open, d)
		return
	}
	r.agree(sub, d.attribute, d.groups[0])
	r.count(d)
}

// agree keeps values that the later checks look at.
func (r *reconciler) agree(sub Subject, name string, g side) {
	key := attributeKey(sub.Kind, name)
	if !checked[key] {
		return
	}
	if r.agreed[key] == nil {
		r.agreed[key] = map[string]agreement{}
	}
	r.agreed[key][sub.Name] = agreement{g.value, g.who}
}

func attributeKey(k Kind, name string) string { return string(k) + "." + name }

// side is who says one and the same.
type side struct {
	value string
	who   mask
	votes mask // of who: no copies of a source that speaks for itself
}

// group puts equal values together; unknown ones are left out.
func (r *reconciler) group(k Kind, name string, facts []fact) []side {
	same, first := true, -1
	for i := range facts {
		if facts[i].unknown {
			continue
		}
		if first < 0 {
			first = i
		}
		same = same && facts[i].value == facts[first].value
	}
	if first < 0 {
		return nil
	}
	var out []side
	if same {
		one := side{value: r.set.words.things[facts[first].value]}
		for _, f := range facts {
			if !f.unknown {
				one.who |= bit(int(f.source))
			}
		}
		return append(out, one)
	}
	for _, f := range facts {
		if f.unknown {
			continue
		}
		v := r.set.words.things[f.value]
		at := slices.IndexFunc(out, func(s side) bool { return s.value == v })
		if at < 0 {
			at = len(out)
			out = append(out, side{value: v})
		}
		out[at].who |= bit(int(f.source))
	}
	if t := r.rules.tolerance(k, name); t > 0 {
		out = within(out, t)
	}
	return out
}

// within joins amounts that are as good as equal. The larger side gives its
// value to what is near it.
func within(sides []side, tolerance float64) []side {
	slices.SortStableFunc(sides, func(a, b side) int { return cmp.Compare(b.who.count(), a.who.count()) })
	var out []side
next:
	for _, s := range sides {
		v, err := strconv.ParseFloat(s.value, 64)
		for i := range out {
			w, errW := strconv.ParseFloat(out[i].value, 64)
			if err == nil && errW == nil && max(v, w) <= min(v, w)*(1+tolerance) {
				out[i].who |= s.who
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

// count keeps how often each source said what holds.
func (r *reconciler) count(d dispute) {
	key := attributeKey(d.subject.Kind, d.attribute)
	t := r.tallies[key]
	if t == nil {
		t = make([]tally, len(r.sources))
		r.tallies[key] = t
	}
	var all mask
	for _, g := range d.groups {
		all |= g.who
	}
	for _, g := range d.groups {
		for i := range r.sources {
			if !g.who.has(i) {
				continue
			}
			t[i].claims++
			others := r.roots(all&r.fresh) &^ bit(r.root[i])
			if len(d.groups) > 1 {
				t[i].disputed++
			}
			if others == 0 {
				t[i].alone++
			}
			if others.count() < 2 {
				continue
			}
			t[i].checked++
			if most := r.most(d.groups, bit(r.root[i])); most >= 0 && d.groups[most].value == g.value {
				t[i].agreed++
			}
		}
	}
}

// most is the side that most roots are on, without some; -1 for none above all others.
func (r *reconciler) most(groups []side, without mask) int {
	best, weight, twice := -1, 0, false
	for i, g := range groups {
		w := (r.roots(g.who&r.fresh) &^ without).count()
		switch {
		case w > weight:
			best, weight, twice = i, w, false
		case w == weight:
			twice = true
		}
	}
	if twice {
		return -1
	}
	return best
}

// describe fills in what the report says of sources and authorities.
func (r *reconciler) describe(taken time.Time) {
	counts := make([]int, len(r.sources))
	for i := range r.set.rows {
		counts[r.set.rows[i].source]++
	}
	for i, src := range r.sources {
		state := SourceState{Name: src.Name, Kind: src.Kind, Where: src.Where, At: src.At, Claims: counts[i], CopyOf: src.CopyOf, IsPart: src.IsPart, IsStale: src.IsStale, Why: src.Why}
		for _, k := range Kinds {
			if r.covers[k].has(i) {
				state.Covers = append(state.Covers, k)
			}
		}
		r.report.Sources = append(r.report.Sources, state)
	}
	for sub := range r.listing {
		r.report.Subjects[r.set.subjects.things[sub].Kind]++
	}
	for _, key := range sortedKeys(r.tallies) {
		who := 0
		for _, t := range r.tallies[key] {
			who += min(1, t.claims)
		}
		if who < 2 {
			continue // nobody to disagree with
		}
		r.report.Authorities = append(r.report.Authorities, r.authority(key))
	}
}

// authority is the declared one of an attribute, or who was right most often.
func (r *reconciler) authority(key string) Authority {
	k, name := splitKey(key)
	out := Authority{Attribute: key}
	if list := r.rules.authorities(k, name); len(list) > 0 {
		out.Sources, out.Declared = list, true
	} else if best := r.mostRight(key); best >= 0 {
		out.Sources = []string{r.sources[best].Name}
	}
	if len(out.Sources) == 0 {
		return out
	}
	if at := r.sourceNamed(out.Sources[0]); at >= 0 {
		t := r.tallies[key][at]
		out.Claims, out.Checked, out.Agreed = t.claims, t.checked, t.agreed
		out.Evidence = fmt.Sprintf("claims %d; of %d that two others claim, too, it agrees with them in %d", t.claims, t.checked, t.agreed)
	}
	return out
}

// mostRight is the source with the best record for an attribute: servers for
// what is their own, else who agreed most, then who claims most.
func (r *reconciler) mostRight(key string) int {
	k, name := splitKey(key)
	best := -1
	score := func(i int) (float64, int) {
		t := r.tallies[key][i]
		if r.sources[i].IsLive && ruleOf(k, name).own && t.claims > 0 {
			return 2, t.claims
		}
		// A source that was asked seldom has not shown much.
		return float64(t.agreed+1) / float64(t.checked+2), t.claims
	}
	for i := range r.sources {
		if r.tallies[key][i].claims == 0 || r.root[i] != i || r.stale.has(i) {
			continue
		}
		if best < 0 {
			best = i
			continue
		}
		a, n := score(i)
		b, m := score(best)
		if a > b || a == b && n > m {
			best = i
		}
	}
	return best
}

func splitKey(key string) (Kind, string) {
	for i := range len(key) {
		if key[i] == '.' {
			return Kind(key[:i]), key[i+1:]
		}
	}
	return "", key
}
