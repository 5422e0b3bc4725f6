package decide

import "math"

// What Judge finds, found as Judge finds it, without all that it says besides: most of its time goes into what would change the outcome.

// Order is who is left, the best first.
func Order(d Decision) []string {
	var out []string
	for _, i := range newTable(d).order() {
		out = append(out, d.Candidates[i].Name)
	}
	return out
}

// Ahead is who is first.
func Ahead(d Decision) string {
	t := newTable(d)
	if at := t.first(); at >= 0 {
		return d.Candidates[at].Name
	}
	return ""
}

// By is by which factor one candidate is worth more than another.
func By(d Decision, a, b int) float64 {
	by, _, _ := newTable(d).lead(a, b)
	return math.Exp(by)
}

// Briefly is Judge without the sensitivity.
func Briefly(d Decision) *Outcome {
	o, _, _ := judge(d)
	return o
}
