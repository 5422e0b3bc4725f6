// Package student is the t distribution: how far may a mean of few values be off?
//
// It answers with numbers alone and knows nothing of what was measured. Values are compared with printed tables in the tests.
package student

import "math"

// TwoSided is the probability that a Student t variable with df degrees of freedom is farther from zero than t.
func TwoSided(t, df float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return incompleteBeta(df/2, 0.5, df/(df+t*t))
}

// Quantile is the t that is exceeded on both sides together with the given probability.
func Quantile(twoSided, df float64) float64 {
	if twoSided >= 1 {
		return 0
	}
	lo, hi := 0.0, 1.0
	for TwoSided(hi, df) > twoSided && hi < 1e6 {
		hi *= 2
	}
	for range 80 {
		mid := (lo + hi) / 2
		if TwoSided(mid, df) > twoSided {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// incompleteBeta is the regularised incomplete beta function I_x(a, b), by the continued fraction of Lentz (Numerical
// Recipes 6.4), good to about 1e-14.
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	if x < (a+1)/(a+b+2) {
		return front * betaFraction(a, b, x) / a
	}
	return 1 - front*betaFraction(b, a, 1-x)/b
}

func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300
	guard := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/guard(1-(a+b)*x/(a+1))
	h := d
	for m := 1.0; m < 500; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / guard(1+even*d)
		c = guard(1 + even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / guard(1+odd*d)
		c = guard(1 + odd/c)
		step := d * c
		h *= step
		if math.Abs(step-1) < 1e-15 {
			break
		}
	}
	return h
}
