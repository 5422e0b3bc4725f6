package capacity

import "math"

// reached is the probability that a level which drifts by drift a day, with a variance of variance a day, has been at a limit
// that is room above it within days: first passage of a Brownian motion, whose time is inverse Gaussian
// (Schrödinger 1915; Folks and Chhikara, J. R. Statist. Soc. B 40, 1978). A drift below zero may still reach it by chance.
func reached(days, room, drift, variance float64) float64 {
	if days <= 0 {
		return 0
	}
	if variance <= 0 {
		if drift > 0 && room/drift <= days {
			return 1
		}
		return 0
	}
	sd := math.Sqrt(variance * days)
	return below((drift*days-room)/sd) + math.Exp(2*drift*room/variance+logBelow((-drift*days-room)/sd))
}

// below is the standard normal distribution function.
func below(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// logBelow is its logarithm, also where it is too small for a float.
func logBelow(z float64) float64 {
	if z > -30 {
		return math.Log(below(z))
	}
	return -z*z/2 - math.Log(-z*math.Sqrt(2*math.Pi))
}

// horizon is the farthest day that is looked at: behind it the answer is that there is no bound.
const horizon = 36500

// quantile is the time at which a rising probability of days reaches p, nil when it does not within the horizon.
func quantile(p float64, by func(days float64) float64) *float64 {
	if by(horizon) < p {
		return nil
	}
	lo, hi := math.Log(1e-3), math.Log(horizon)
	for range 26 { // to a millionth
		mid := (lo + hi) / 2
		if by(math.Exp(mid)) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	v := math.Exp(hi)
	return &v
}
