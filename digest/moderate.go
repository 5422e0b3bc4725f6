package digest

import "math"

// How far off is a class's own change expected to be? What the spectrum of one class says of it rests on a handful of stretches of
// time where load lasts long beside the window, and two classes of the same noise get answers that differ threefold. What all
// classes say together is known better. So the word of each is moved towards that of all, the farther, the less the words differ
// beyond what so few stretches explain: the moderated variance of Smyth (2004). Where classes do differ, each keeps its own.

// mostPrior is for how many stretches the word of all classes counts at most.
const mostPrior = 60

// expectation is how far off a figure is expected to be, and on how many stretches of time that rests: its own, and those that the
// word of all classes counts for, which prior has alone.
type expectation struct{ se, stretches, prior float64 }

// moderated is what is expected of a figure, by class.
func (t *trial) moderated(f int) map[int]expectation {
	out := map[int]expectation{}
	mean, stretches, n := 0.0, 0.0, 0.0
	for i := range t.tests {
		b := t.tests[i].ownBelief[f]
		if !t.judged[i] || b == nil || math.IsNaN(t.tests[i].own[f]) {
			continue
		}
		e := expectation{b.typical(), b.stretches(), 1}
		out[i] = e
		mean, stretches, n = mean+2*math.Log(e.se), stretches+e.stretches, n+1
	}
	if n < fewClasses {
		return out
	}
	mean, stretches = mean/n, stretches/n
	spread := 0.0
	for i := range t.tests { // in one order: sums of fractions depend on it
		if se := out[i].se; se != 0 {
			spread += (2*math.Log(se) - mean) * (2*math.Log(se) - mean) / (n - 1)
		}
	}
	prior := float64(mostPrior)
	if beyond := spread - trigamma(stretches/2); beyond > 0 {
		prior = min(2*inverseTrigamma(beyond), mostPrior)
	}
	for i, e := range out {
		out[i] = expectation{math.Sqrt((prior*math.Exp(mean) + stretches*e.se*e.se) / (prior + stretches)), prior + e.stretches, prior}
	}
	return out
}

// stretches is how many stretches of time that do not depend on each other the belief rests on.
func (b *belief) stretches() (n float64) {
	for _, part := range b.parts {
		n += part.weight * part.tail.df
	}
	return n
}

// trigamma is the variance of the logarithm of a gamma variable of that shape.
func trigamma(shape float64) float64 {
	sum := 0.0
	for ; shape < 6; shape++ {
		sum += 1 / (shape * shape)
	}
	r := 1 / (shape * shape)
	return sum + 1/shape + r/2 + r/shape*(1.0/6-r*(1.0/30-r/42))
}

// inverseTrigamma is the shape with that trigamma, by bisection.
func inverseTrigamma(variance float64) float64 {
	low, high := 1e-3, 1e4
	for range 60 {
		if middle := math.Sqrt(low * high); trigamma(middle) > variance {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
