package bound

import (
	"math"
	"slices"
)

// apply is the image of size x in room c. It is exact as long as c times the
// parameter of Stairs fits into an int64, which shapes sees to.
func (f Function) apply(x, c, parameter int64) int64 {
	switch f {
	case Threshold:
		switch {
		case x > c-parameter:
			return c
		case x < parameter:
			return 0
		default:
			return x
		}
	case Stairs:
		if (parameter+1)*x%c == 0 {
			return parameter * x
		}
		return (parameter + 1) * x / c * c
	default:
		switch {
		case 2*x > c:
			return 2 * (c/parameter - (c-x)/parameter)
		case 2*x == c:
			return c / parameter
		default:
			return 2 * (x / parameter)
		}
	}
}

// shapes is the best cut of each dual feasible function, over the dimensions
// and sums of dimensions given by factors. With bins of different room the
// largest one is C: the images of what fits into a smaller bin fit as well.
func (m *model) shapes(factors [][]int64, most int) []Cut {
	var cuts []Cut
	for _, f := range factors {
		sizes, c := m.sizes(f)
		if c <= 0 || c > math.MaxInt64/512 {
			continue
		}
		for _, fn := range []Function{Threshold, Stairs, Halves} {
			best, bestParameter := 0.0, int64(0)
			for _, parameter := range fn.parameters(sizes, c, most) {
				total := 0.0
				for i, x := range sizes {
					total += float64(fn.apply(x, c, parameter)) * float64(m.count[i])
				}
				if v := total / float64(fn.apply(c, c, parameter)); v > best {
					best, bestParameter = v, parameter
				}
			}
			if bestParameter > 0 {
				cut := Cut{Kind: Shape, Factors: f, Function: fn, Parameter: bestParameter}
				for range m.price {
					cut.Most = append(cut.Most, fn.apply(c, c, bestParameter))
				}
				cuts = append(cuts, cut)
			}
		}
	}
	return cuts
}

// sizes are the sums of the needs of each item times the factors, and the
// largest room of all types of bin in that sum.
func (m *model) sizes(factors []int64) ([]int64, int64) {
	sizes := make([]int64, m.n)
	for i, need := range m.need {
		sizes[i] = dot(factors, need)
	}
	largest := int64(0)
	for _, room := range m.room {
		largest = max(largest, dot(factors, room))
	}
	return sizes, largest
}

func dot(a, b []int64) int64 {
	var sum int64
	for k, f := range a {
		sum += f * b[k]
	}
	return sum
}

// parameters are the ones at which a function changes, at most so many.
func (f Function) parameters(sizes []int64, c int64, most int) []int64 {
	var list []int64
	if f == Stairs {
		for k := int64(1); k <= 100 && int(k) <= most; k++ {
			list = append(list, k)
		}
		return list
	}
	for _, x := range sizes {
		for _, p := range []int64{x, c - x, c - x + 1} {
			if p > 0 && 2*p <= c {
				list = append(list, p)
			}
		}
	}
	if f == Halves {
		for k := int64(2); k < 60; k++ {
			list = append(list, c/k)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	list = slices.DeleteFunc(list, func(p int64) bool { return p < 1 })
	if len(list) <= most {
		return list
	}
	picked := make([]int64, 0, most)
	for k := range most {
		picked = append(picked, list[k*len(list)/most])
	}
	return picked
}

// directions are the weighted sums of dimensions that shapes looks at: each
// dimension, and for few dimensions each pair and all together, with rooms
// made alike. Only bins of one type have sums that mean the same for all.
func (m *model) directions() [][]int64 {
	d := m.dims
	var list [][]int64
	unit := func(k int) []int64 {
		f := make([]int64, d)
		f[k] = 1
		return f
	}
	for k := range d {
		list = append(list, unit(k))
	}
	if len(m.room) > 1 || d > 8 {
		return list
	}
	factor := make([]int64, d)
	for k := range d {
		if r := m.room[0][k]; r > 0 {
			factor[k] = max(1, (1<<40)/r)
		}
	}
	for a := range d {
		for b := range a {
			f := make([]int64, d)
			f[a], f[b] = factor[a], factor[b]
			list = append(list, f)
		}
	}
	list = append(list, factor)
	return slices.DeleteFunc(list, func(f []int64) bool { return !m.countable(f) })
}

// countable reports whether sums with these factors stay far from overflow.
func (m *model) countable(factors []int64) bool {
	for _, room := range m.room {
		sum := 0.0
		for k, f := range factors {
			sum += float64(f) * float64(room[k])
		}
		if sum > math.MaxInt64/1024 {
			return false
		}
	}
	return true
}
