package placement

import (
	"math"

	"stowage/farm"
)

// grain is how many whole units the search and the bounds count a price (or a
// watt) as.
type grain float64

const (
	hundredths = 100  // what prices are counted in at least
	finest     = 1e8  // units of the dearest host, in which what has no last digit (1/3) is counted
	coarsest   = 1e11 // units that are still added up exactly, of a whole farm
)

// grains are those of what a farm's host types cost and draw.
func grains(f *farm.Farm) (price, watts grain) {
	prices, draws := make([]float64, len(f.HostTypes)), make([]float64, len(f.HostTypes))
	for i, t := range f.HostTypes {
		prices[i], draws[i] = t.Price, t.Watts
	}
	return grainOf(prices), grainOf(draws)
}

// grainOf is the coarsest grain, a power of ten, in which all amounts are
// whole: hundredths, or finer for a price of 0.126 an hour.
func grainOf(amounts []float64) grain {
	dearest := 0.0
	for _, v := range amounts {
		dearest = max(dearest, v)
	}
	g := grain(hundredths)
	for float64(g)*dearest > coarsest {
		g /= 10
	}
	for !g.exact(amounts) && float64(g)*10*dearest <= finest {
		g *= 10
	}
	return g
}

func (g grain) exact(amounts []float64) bool {
	for _, v := range amounts {
		if x := v * float64(g); math.Abs(x-math.Round(x)) > almost*x {
			return false
		}
	}
	return true
}

// almost is by how much 0.29 * 100 may miss a whole number.
const almost = 1e-12

// units is an amount as a whole number: rounded down, so that a sum of them is
// never more than what it is a bound of.
func (g grain) units(v float64) int64 { return int64(math.Floor(v * float64(g) * (1 + almost))) }

func (g grain) amount(units int64) float64 { return float64(units) / float64(g) }
