package digest

import (
	"bytes"
	"slices"
	"sort"
)

// Verdict is what a comparison says about a class.
type Verdict string

const (
	VerdictFaster       Verdict = "faster"
	VerdictSlower       Verdict = "slower"
	VerdictUnchanged    Verdict = "unchanged"    // shown to be within the margin
	VerdictInconclusive Verdict = "inconclusive" // the captures cannot tell; Change.Reason says why
	VerdictNew          Verdict = "new"          // only in AFTER
	VerdictGone         Verdict = "gone"         // only in BEFORE
)

// CompareOptions say how sure a comparison must be. The zero value is what the command line does by default.
type CompareOptions struct {
	Alpha     float64 // share of false alarms that is accepted, over all classes (false discovery rate); default 0.05
	Margin    float64 // a change smaller than this is none; default 0.10
	SelfCheck int     // negative: halves of a side are not judged against each other
	// SameStatements: AFTER is the statements of BEFORE, sent again. One threshold chose both.
	SameStatements bool
}

func (o CompareOptions) withDefaults() CompareOptions {
	if o.Alpha <= 0 || o.Alpha >= 1 {
		o.Alpha = 0.05
	}
	if o.Margin <= 0 {
		o.Margin = 0.10
	}
	return o
}

const (
	wantBlocks  = 20 // blocks a side, below which nothing is claimed
	wantEvents  = 50 // events of a class a side
	wantPresent = 10 // blocks of a side in which the class occurs
	tailEvents  = 5  // events beyond a quantile that is to be judged

	// clockStep is the resolution of the slow log, 1 microsecond on either side: a median that moves less has not moved.
	clockStep = 2e-6
)

// Compare says which classes changed between two digests, and how sure that is.
//
// What the classes have in common (another host, another load) is divided out and reported as CommonFactor, where it can be
// told from what became of the classes themselves or from the host's own work (see common.go); then a class is judged by what is left, its own change.
// Otherwise every class is judged by its plain ratio. How far a figure may be off comes from the spectrum of what blocks of
// time do to it (see spectrum.go). A class is called slower or faster when its median, p95 or average moved by more than the
// margin, with false discoveries among all classes held at alpha (Benjamini and Hochberg 1995), never against its plain
// ratio, and unchanged when the intervals lie within the margin (two one-sided tests). Everything else is inconclusive.
func Compare(before, after *Digest, o CompareOptions) Comparison {
	o = o.withDefaults()
	out := Comparison{
		FormatVersion: FormatVersion, RuleSet: before.rules, GroupBy: before.groupBy, CommonFactor: 1,
		Alpha: o.Alpha, Margin: o.Margin, Overall: Overall{Verdict: VerdictInconclusive, CI: Interval{}},
		Classes: []Change{}, Notes: []string{},
		Before: before.side(), After: after.side(),
	}
	if before.rules != after.rules || before.groupBy != after.groupBy {
		out.Overall.Reason = "the digests were made with different rules or groups"
		out.Notes = append(out.Notes, out.Overall.Reason)
		return out
	}
	out.Notes = append(out.Notes, caveats(out.Before, out.After)...)
	out.Notes = append(out.Notes, caveatsOfSums(before, after)...)
	pairs := pairUp(before, after)
	b, a := gather(pairs.before, before.level), gather(pairs.after, after.level)
	t := trial{o: o, before: b, after: a}
	t.probe, t.isProbed = probeRatio(before, after)
	t.judge(pairs)
	if !o.SameStatements {
		low, high := pairs.cuts()
		t.heed(&out, low, high)
	}
	t.report(&out, pairs)
	if o.SelfCheck >= 0 && t.seconds > 0 {
		out.SelfCheck = selfCheck([]*evidence{b, a}, pairs, o)
	}
	return out
}

// caveats are reasons not to trust a comparison that are in the captures themselves.
func caveats(before, after Side) (out []string) {
	for _, s := range []struct {
		name string
		side Side
	}{{"BEFORE", before}, {"AFTER", after}} {
		for _, in := range s.side.Inputs {
			for _, n := range in.Notes {
				if n.Reason == noteSampled {
					out = append(out, s.name+" was sampled by the server: calls and load are those of the sample")
				}
			}
		}
	}
	return slices.Compact(out)
}

// pairing is the classes of both sides, those of the same fingerprint at the same place.
type pairing struct{ before, after []*class }

func pairUp(before, after *Digest) pairing {
	var p pairing
	for _, c := range before.byHash {
		p.before = append(p.before, c)
		p.after = append(p.after, after.find(c))
	}
	for _, c := range after.byHash {
		if before.find(c) == nil {
			p.before = append(p.before, nil)
			p.after = append(p.after, c)
		}
	}
	sort.Sort(&p)
	return p
}

func (p *pairing) Len() int { return len(p.before) }

func (p *pairing) Swap(i, j int) {
	p.before[i], p.before[j] = p.before[j], p.before[i]
	p.after[i], p.after[j] = p.after[j], p.after[i]
}

func (p *pairing) Less(i, j int) bool { return bytes.Compare(p.any(i).id[:], p.any(j).id[:]) < 0 }

func (p *pairing) any(i int) *class {
	if p.before[i] != nil {
		return p.before[i]
	}
	return p.after[i]
}
