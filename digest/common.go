package digest

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// What the classes have in common. Another host or another load moves all of them alike; it is divided out so that it is not
// blamed on each. But classes that became slower by themselves must not pass for a slower host, nor those that stood still
// for faster ones. So it is divided out only where the classes agree on it: nearly all of them moved by nearly the same, and
// they are many, or a witness says the same: one of them that does no work of its own (a COMMIT, a ping), or what the host was timed
// at while it was recorded (see probe.go).

const (
	fewClasses = 8    // fewer than these agree by chance
	agreeing   = 0.75 // of the classes, with each other

	// apartness is how much farther off a figure may be where the classes move apart: a burst of load that slows down some of
	// them, and lasts as long as the window, looks the same.
	apartness = 1.5
)

// shared is what the judged classes have in common.
type shared struct {
	divided bool
	apart   bool   // the classes did not move alike
	reason  string // why it was not divided out
	shift   figures
	belief  [figCount]*belief
	classes int
}

// share finds what is in common, and what is left to each class.
func (t *trial) share(b, a []waved, s *outlines) {
	t.shared = shared{}
	for _, j := range t.judged {
		if j {
			t.shared.classes++
		}
	}
	kept := map[int][]int{}
	shift := figures{}
	for _, f := range judgedFigures {
		shift[f], kept[f] = t.middle(f)
	}
	t.shared.reason = t.disagreement(shift)
	t.shared.divided = t.shared.reason == ""
	if t.shared.divided {
		t.shared.shift = shift
	}
	for i := range t.tests {
		t.tests[i].own, t.tests[i].ownBelief = t.tests[i].raw, t.tests[i].rawBelief
	}
	if t.shared.apart {
		for i := range t.tests {
			for f := range t.tests[i].rawBelief {
				t.tests[i].rawBelief[f].stretch(apartness)
			}
		}
	}
	for _, f := range judgedFigures {
		if !t.shared.divided || len(kept[f]) < 2 {
			t.shared.shift[f] = 0
			continue
		}
		t.divide(f, kept[f], b, a, s)
	}
}

// divide takes what is in common from one figure of every class.
func (t *trial) divide(f int, kept []int, b, a []waved, s *outlines) {
	cb, ca := meanMoves(kept, b, f), meanMoves(kept, a, f)
	common := s.fit(cb, ca)
	fits := make([]*fit, len(t.tests))
	for i := range t.tests {
		if t.judged[i] {
			fits[i] = s.fit(without(b[i].moves[f], cb), without(a[i].moves[f], ca))
		}
	}
	all := hearAll(fits)
	t.shared.belief[f] = common.believe(all, s)
	for i := range t.tests {
		if t.judged[i] {
			t.tests[i].own[f] -= t.shared.shift[f]
			t.tests[i].ownBelief[f] = fits[i].believe(all, s)
		}
	}
	t.calibrate(f)
}

// calibrate asks the classes for a second yardstick. Whatever lies between the two windows, however slow, has moved all of
// them: so their own changes, each by what its spectrum makes it expected to be, scatter as chance does in this very pair.
// A class is judged by the yardstick that is the shorter one. The lower three quarters stand for the scatter: a quarter of the
// classes may have changed, and where more have, the yardstick is a long one.
func (t *trial) calibrate(f int) {
	expected := t.moderated(f)
	if len(expected) < fewClasses {
		return
	}
	var far []float64
	for i, e := range expected {
		far = append(far, math.Abs(t.tests[i].own[f])/e.se)
	}
	scatter := takenScatter * max(scatterOf(far), leastScatter)
	level := t.o.Alpha / float64(6*len(far))
	for i, e := range expected {
		b := t.tests[i].ownBelief[f]
		// Two things are estimated, the scatter from the classes and what is expected of this one from its stretches (Satterthwaite 1946).
		df := 1 / (1/float64(len(far)-2) + 1/e.stretches)
		se := e.se * scatter * math.Sqrt(1+sharedDoubt/e.prior)
		second := &belief{tau: b.tau, lasts: b.lasts, parts: []beliefPart{{1, se, tailOf(min(df, 60))}}}
		if second.width(level) < b.width(level) {
			t.tests[i].ownBelief[f] = second
		}
	}
}

// The shared yardstick is as long as the classes say, the less they differ in how noisy they are, and longer where they do: sharedDoubt
// is for how many stretches of time that doubt counts. Where they do not differ it was a little too long; it is taken by takenScatter.
// Both were chosen together, decision 0132 has the figures.
const (
	sharedDoubt  = 3
	takenScatter = 0.9
)

// leastScatter is the least that the classes' own changes may be said to scatter, of what their spectra make expected: that they lie
// together closer than that is luck.
const leastScatter = 0.3

// scatterOf is the scatter of values that are normal but for the farthest quarter, which may be anything.
func scatterOf(far []float64) float64 {
	const ofNormal = 0.4 // mean square of the lower three quarters of 8 to 40 normal variables
	slices.Sort(far)
	sum, n := 0.0, (3*len(far)+3)/4
	for _, x := range far[:n] {
		sum += x * x
	}
	return math.Sqrt(sum / float64(n) / ofNormal)
}

func meanMoves(kept []int, side []waved, f int) []float64 {
	var out []float64
	for _, i := range kept {
		if out == nil {
			out = make([]float64, len(side[i].moves[f]))
		}
		for k, m := range side[i].moves[f] {
			out[k] += m / float64(len(kept))
		}
	}
	return out
}

// middle is the mean change of the middle half of the classes, and which these are.
func (t *trial) middle(f int) (float64, []int) {
	var known []int
	for i := range t.tests {
		if t.judged[i] && !math.IsNaN(t.tests[i].raw[f]) && t.tests[i].rawBelief[f] != nil {
			known = append(known, i)
		}
	}
	if len(known) < 2 {
		return 0, nil
	}
	slices.SortFunc(known, func(x, y int) int {
		switch d := t.tests[x].raw[f] - t.tests[y].raw[f]; {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return x - y
	})
	cut := len(known) / 4
	known = known[cut : len(known)-cut]
	sum := 0.0
	for _, i := range known {
		sum += t.tests[i].raw[f]
	}
	return sum / float64(len(known)), known
}

// disagreement says why what is in common cannot be divided out, or nothing.
func (t *trial) disagreement(shift figures) string {
	if t.shared.classes < 2 {
		return "fewer than two classes with enough evidence"
	}
	for _, f := range judgedFigures {
		known, agree := 0, 0
		for i := range t.tests {
			if ct := &t.tests[i]; t.judged[i] && ct.rawBelief[f] != nil && !math.IsNaN(ct.raw[f]) {
				known++
				if math.Abs(ct.raw[f]-shift[f]) <= max(math.Log1p(2*t.o.Margin), math.Abs(shift[f])/3) {
					agree++
				}
			}
		}
		if known >= 2 && float64(agree) < agreeing*float64(known) {
			t.shared.apart = true
			return fmt.Sprintf("the classes did not move alike: by %s, %d of %d changed by about %.2fx", figureNames[f], agree, known, math.Exp(shift[f]))
		}
	}
	if t.shared.classes >= fewClasses || t.witnessed(shift) {
		return ""
	}
	few := fmt.Sprintf("%d classes are too few to tell a change of the host from a change of their own", t.shared.classes)
	if t.isProbed {
		few += fmt.Sprintf(", and by avg they changed by about %.2fx while the host's own work took %.2fx", math.Exp(shift[figMean]), math.Exp(t.probe))
	}
	return few
}

// witnessed says whether a class that does no work of its own, or the host's own work, moved as all did.
func (t *trial) witnessed(shift figures) bool {
	for i := range t.tests {
		if ct := &t.tests[i]; t.judged[i] && ct.witness && t.isNear(ct.raw[figMean], shift[figMean]) {
			return true
		}
	}
	return t.probeAgrees(shift)
}

// isWitness says whether a class does no work of its own.
func isWitness(fingerprint string) bool {
	switch strings.TrimSpace(fingerprint) {
	case "commit", "select ?", "administrator command: Ping", "do ?":
		return true
	}
	return false
}
