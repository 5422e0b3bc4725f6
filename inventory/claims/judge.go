package claims

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// dispute is one attribute of one subject of which sources say different things.
type dispute struct {
	subject   Subject
	attribute string
	facts     []fact // nil for being there at all
	groups    []side
	verdict   ruling
	swapped   string
	besides   []Shown // what follows from other claims
}

// ruling is what can be said about a dispute.
type ruling struct {
	verdict   Verdict
	culprits  mask
	sure      bool
	holds     string // the value that holds; "" where that is open
	decided   bool
	authority string
	reason    string
	check     string
}

// judge decides a dispute, by the first of these that can:
//
//  1. a source that says two things at once is at fault, whatever the others say;
//  2. a server that answers knows its own facts;
//  3. the declared authority, if somebody else confirms it;
//  4. a value that exists nowhere else, and is another one misspelt;
//  5. the majority of roots, never surely: after a move, the late ones are the
//     majority.
func (r *reconciler) judge(d dispute) ruling {
	twice := r.saysTwice(d.groups) &^ r.stale
	if live := r.live() & twice; live != 0 {
		return r.inTwoPlaces(d, live)
	}
	groups := without(d.groups, twice)
	if len(groups) == 0 {
		return ruling{check: "twice", verdict: Wrong, culprits: twice, sure: true, reason: "one source says both"}
	}
	var out ruling
	if fresh := r.freshOnly(groups); len(fresh) > 1 {
		out = r.decide(d, fresh)
		out.sure = out.sure && !isSilence(d, out.holds)
	} else if len(fresh) == 1 {
		out = ruling{verdict: Wrong, holds: fresh[0].value, decided: true}
		if len(groups) > 1 {
			out.verdict, out.reason = StaleOrWrong, "only a source that cannot be read now says otherwise"
		}
	}
	if twice != 0 {
		out.check, out.sure = "twice", out.sure || out.culprits == 0
		out.culprits |= twice
		out.verdict, out.reason = Wrong, join(r.namesOf(twice)+" says both", out.reason)
	}
	return out
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// live are the sources that are servers.
func (r *reconciler) live() mask {
	var out mask
	for i, src := range r.sources {
		if src.IsLive {
			out |= bit(i)
		}
	}
	return out &^ r.stale
}

// inTwoPlaces: servers of two pairs say that they have it, and both are right.
// Only who names a third place is wrong.
func (r *reconciler) inTwoPlaces(d dispute, live mask) ruling {
	out := ruling{check: "two-places", verdict: Wrong, reason: "servers in several places have it", authority: r.namesOf(live)}
	for _, g := range d.groups {
		if g.who&live == 0 {
			out.culprits |= g.who &^ r.stale
			out.sure = true
		}
	}
	return out
}

// saysTwice are sources on several sides.
func (r *reconciler) saysTwice(groups []side) mask {
	var seen, twice mask
	for _, g := range groups {
		twice |= seen & g.who
		seen |= g.who
	}
	return twice
}

// without are the sides with sources taken away; empty sides go.
func without(groups []side, gone mask) []side {
	if gone == 0 {
		return groups
	}
	var out []side
	for _, g := range groups {
		if g.who &^= gone; g.who != 0 {
			out = append(out, g)
		}
	}
	return out
}

func (r *reconciler) freshOnly(groups []side) []side { return without(groups, r.stale) }

// decide is judge for fresh sides that are at least two.
func (r *reconciler) decide(d dispute, groups []side) ruling {
	groups = r.voting(groups)
	if at := onlyVoter(groups); at >= 0 {
		return r.against(groups, at, Wrong, true, "a copy differs from what it is a copy of")
	}
	rule := ruleOf(d.subject.Kind, d.attribute)
	if rule.own || d.attribute == listed {
		if out, ok := r.byServer(d, groups); ok {
			return out
		}
	}
	if at, by := r.declared(d, groups); at >= 0 {
		return r.byAuthority(d, groups, at, by)
	}
	if at := r.soleSense(d, groups); at >= 0 {
		return r.against(groups, at, Wrong, true, "what the others are called is known; this is the same misspelt")
	}
	return r.byWeight(d, groups, rule)
}

// voting says who on each side has a vote: a copy has none where what it is a
// copy of speaks for itself.
func (r *reconciler) voting(groups []side) []side {
	var all mask
	for _, g := range groups {
		all |= g.who
	}
	out := slices.Clone(groups)
	for i := range out {
		out[i].votes = 0
		for n := range r.sources {
			if out[i].who.has(n) && (r.root[n] == n || !all.has(r.root[n])) {
				out[i].votes |= bit(r.root[n])
			}
		}
	}
	return out
}

// onlyVoter is the one side with a vote: the others are copies of its sources.
func onlyVoter(groups []side) int {
	at := -1
	for i, g := range groups {
		if g.votes != 0 {
			if at >= 0 {
				return -1
			}
			at = i
		}
	}
	return at
}

// against makes everybody a culprit who is not on one side.
func (r *reconciler) against(groups []side, at int, v Verdict, sure bool, reason string) ruling {
	out := ruling{verdict: v, sure: sure, holds: groups[at].value, decided: true, reason: reason}
	for i, g := range groups {
		if i != at {
			out.culprits |= g.who
		}
	}
	return out
}

// isSilence: that a server does not answer is what somebody saw who asked, who may
// have asked from the wrong place or at the wrong moment. It proves nobody wrong.
func isSilence(d dispute, value string) bool { return d.attribute == "alive" && value == "no" }

// byServer: servers speak of themselves.
func (r *reconciler) byServer(d dispute, groups []side) (ruling, bool) {
	at := -1
	for i, g := range groups {
		if isSilence(d, g.value) {
			continue
		}
		for n, src := range r.sources {
			if src.IsLive && g.who.has(n) {
				if at >= 0 && at != i {
					return ruling{}, false // two crawls that differ: one was late
				}
				at = i
			}
		}
	}
	if at < 0 {
		return ruling{}, false
	}
	out := r.against(groups, at, Wrong, true, "the server itself says so")
	for n, src := range r.sources {
		if src.IsLive && groups[at].who.has(n) {
			out.authority = src.Name
		}
	}
	return out, true
}

// declared is the side of the first declared authority that claims this.
func (r *reconciler) declared(d dispute, groups []side) (at, by int) {
	for _, name := range r.rules.authorities(d.subject.Kind, d.attribute) {
		n := -1
		for i, src := range r.sources {
			if strings.EqualFold(src.Name, name) {
				n = i
			}
		}
		for i, g := range groups {
			if n >= 0 && g.who.has(n) {
				return i, n
			}
		}
	}
	return -1, -1
}

// byAuthority: the declared authority holds, surely if somebody confirms it.
// Alone against several who agree, it may be the one to correct.
func (r *reconciler) byAuthority(d dispute, groups []side, at, by int) ruling {
	confirm := (groups[at].votes &^ bit(r.root[by])).count()
	against, most := 0, 0
	for i, g := range groups {
		if i != at {
			n := g.votes.count()
			against += n
			most = max(most, n)
		}
	}
	name := r.sources[by].Name
	var out ruling
	switch sense := r.soleSense(d, groups); {
	case sense >= 0:
		out = r.against(groups, sense, Wrong, true, "what the others are called is known; this is the same misspelt")
	case confirm > 0:
		out = r.against(groups, at, Wrong, confirm+1 >= most, fmt.Sprintf("%s decides, and %d more say the same", name, confirm))
		if !out.sure {
			out.verdict = StaleOrWrong
		}
	case against == 1:
		out = r.against(groups, at, StaleOrWrong, false, name+" decides, and nobody else is there to ask")
	case most == against:
		out = ruling{verdict: StaleOrWrong, reason: fmt.Sprintf("%s decides, and %d others agree on something else: either something was changed that only %s knows of, or %s is wrong", name, against, name, name)}
	default:
		out = r.against(groups, at, StaleOrWrong, false, name+" decides, and the others do not agree with each other")
	}
	out.authority = name
	return out
}

// soleSense is the one side that means something known, where all the others
// are misspellings of it that nobody else uses; -1 without one.
func (r *reconciler) soleSense(d dispute, groups []side) int {
	for at, g := range groups {
		sense := g.votes.count() > 1 || r.isUsed(d, g.value)
		for i, o := range groups {
			if i != at && isNear(g.value, o.value) && isWhole(g.value) && !isWhole(o.value) && isBroken(g.value, o.value) {
				sense = true // 10..00.7 is no address, whoever says so
				continue
			}
			if i != at && (!isSlip(g.value, o.value) || o.votes.count() > 1 || r.isUsed(d, o.value)) {
				sense = false
			}
		}
		if sense {
			return at
		}
	}
	return -1
}

// isUsed reports whether a value is the name of something, apart from this dispute.
func (r *reconciler) isUsed(d dispute, value string) bool {
	switch ruleOf(d.subject.Kind, d.attribute).shape {
	case place:
		if d.subject.Kind == Host {
			return r.hosts[value] != "" && r.hosts[value] != d.subject.Name
		}
		return r.isListed(Subject{Host, value})
	case spot:
		return r.isListed(Subject{Instance, value})
	case group:
		return r.isListed(Subject{Pair, value})
	}
	return false
}

// isListed reports whether two roots have a subject, or one that is alone.
func (r *reconciler) isListed(s Subject) bool {
	n, ok := r.set.subjects.numbers[s]
	return ok && r.listing[n] != 0
}

// byWeight: the side that most roots are on.
func (r *reconciler) byWeight(d dispute, groups []side, rule attribute) ruling {
	at := mostVotes(groups)
	if at < 0 {
		out := ruling{verdict: Tie, reason: fmt.Sprintf("%d against %d, and no authority is declared", groups[0].votes.count(), r.total(groups)-groups[0].votes.count())}
		if new := r.newest(groups); new >= 0 && rule.moves {
			out.reason += fmt.Sprintf("; %s were written last: a change that reached %d of %d sources?", r.namesOf(groups[new].who), groups[new].votes.count(), r.total(groups))
		}
		return out
	}
	weight := groups[at].votes.count()
	if weight < 2 {
		return ruling{verdict: Tie, reason: "every source says something else"}
	}
	if rule.moves {
		if new := r.newest(groups); new >= 0 && new != at {
			return ruling{verdict: StaleOrWrong, reason: fmt.Sprintf("%s: written last, and alone: a change that reached %d of %d sources, or a mistake", r.namesOf(groups[new].who), groups[new].votes.count(), r.total(groups))}
		}
	}
	return r.against(groups, at, StaleOrWrong, false, fmt.Sprintf("%d of %d independent sources say otherwise; no authority is declared", weight, r.total(groups)))
}

// mostVotes is the side with more votes than any other; -1 for none.
func mostVotes(groups []side) int {
	best, twice := 0, false
	for i := 1; i < len(groups); i++ {
		switch a, b := groups[i].votes.count(), groups[best].votes.count(); {
		case a > b:
			best, twice = i, false
		case a == b:
			twice = true
		}
	}
	if twice {
		return -1
	}
	return best
}

func (r *reconciler) total(groups []side) int {
	n := 0
	for _, g := range groups {
		n += g.votes.count()
	}
	return n
}

// newest is the side of which every source was written after all others; -1 for none.
func (r *reconciler) newest(groups []side) int {
	first, last := make([]time.Time, len(groups)), make([]time.Time, len(groups))
	for i, g := range groups {
		for m := g.votes; m != 0; m &= m - 1 {
			at := r.sources[bits.TrailingZeros64(uint64(m))].At
			if at.IsZero() {
				return -1
			}
			if first[i].IsZero() || at.Before(first[i]) {
				first[i] = at
			}
			if at.After(last[i]) {
				last[i] = at
			}
		}
	}
	for i := range groups {
		newest := true
		for j := range groups {
			newest = newest && (i == j || first[i].Sub(last[j]) > sameTime)
		}
		if newest {
			return i
		}
	}
	return -1
}

// sameTime: sources that were written within it were written together.
const sameTime = time.Hour

// namesOf are the sources of a mask, as a person reads them.
func (r *reconciler) namesOf(m mask) string { return strings.Join(r.nameList(m), ", ") }

func (r *reconciler) nameList(m mask) []string {
	out := []string{}
	for i, src := range r.sources {
		if m.has(i) {
			out = append(out, src.Name)
		}
	}
	return out
}
