package digest

import "testing"

// Nine of twelve classes that became slower by themselves look like a slower host to the other three, which were "faster" in 3 of
// 100 pairs: a class that moved against the others has to show the margin to all.
func TestAgainstTheOthersTheMarginIsAskedOfAll(t *testing.T) {
	p := func(own, shift float64) float64 {
		tr := trial{o: CompareOptions{}.withDefaults(), tests: make([]classTest, 1)}
		tr.shared.divided, tr.shared.shift[figMean] = true, shift
		ct := &tr.tests[0]
		ct.own[figMean], ct.raw[figMean] = own, own+shift
		ct.ownBelief[figMean] = &belief{parts: []beliefPart{{1, 0.07, tailOf(10)}}}
		ct.rawBelief[figMean] = ct.ownBelief[figMean]
		return tr.pValue(0, figMean)
	}
	along, against, alone := p(0.34, 0.08), p(-0.34, 0.08), p(-0.34, 0.01)
	if along != alone || against < 4*along {
		t.Errorf("along %v, against %v, alone %v", along, against, alone)
	}
	if got := p(0.2, 0); got != 1 { // sure to have changed, not sure to be beyond the margin
		t.Errorf("within reach of the margin: %v", got)
	}
}

// A p near 1 cancelled two that were near nothing: a class twice as slow was missed when its p50 said nothing.
func TestAFigureThatSaysNothingDoesNotSpeakAgainstTheOthers(t *testing.T) {
	for _, c := range []struct {
		ps       []float64
		low, top float64
	}{
		{[]float64{1e-5, 1e-5, 1}, 1e-5, 2e-5},
		{[]float64{1e-3, 1e-3, 1e-3}, 0.99e-3, 1.01e-3},
		{[]float64{1, 1, 1}, 0.5, 1},
		{[]float64{1e-300, 1}, 0, 1e-299},
		{nil, 1, 1},
	} {
		if got := together(c.ps); got < c.low || got > c.top {
			t.Errorf("%v together are %v, want %v to %v", c.ps, got, c.low, c.top)
		}
	}
}
