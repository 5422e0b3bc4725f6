package placement

import (
	"math"
	"slices"

	"stowage/farm"
)

// dimension is one resource in one part of the day. A resource that no
// profile speaks of, and all of them in a farm without profiles, is one
// dimension; the others are one for each hour that differs from all others.
type dimension struct {
	resource farm.ResourceName
	hour     int     // -1: the whole day
	scale    float64 // units of the search in one base unit of the resource: the largest host is resolution units
}

// resolution is how many units of the search the largest capacity is. Needs
// are rounded to the nearest unit: six sixths may then be two units more than
// the whole.
const resolution = 1e10

// lenience is the part of a capacity that may be overdrawn, so that what fits
// exactly also fits when it is rounded. With four thousand things on a host it
// makes up for all rounding; package check forgives five times as much.
const lenience = 2e-7

// mostNeeded bounds the units of one need: what is larger fits on no host that
// limits it at all, and on the others sums stay countable.
const mostNeeded = 2 * resolution

// dimensions are what the hosts limit and something needs, in a fixed order.
// The number of instances and of shards are not among them.
func dimensions(f *farm.Farm, hosts []host, g Goals) []dimension {
	needed := farm.Resources{}
	needed.Add(g.Overhead)
	for _, p := range f.Pairs {
		for _, s := range p.Shards {
			needed.Add(s.Needs)
			if s.Growth > 0 && g.RunwayDays > 0 {
				needed[farm.Disk] += s.Growth
			}
		}
	}
	hours := differentHours(f)
	var dims []dimension
	for _, n := range needed.Names() {
		most, limited := 0.0, false
		for _, r := range hosts {
			if c, ok := r.offers(n, g); ok && !r.outside {
				most, limited = max(most, c), true
			}
		}
		if needed[n] <= 0 || !limited {
			continue
		}
		d := dimension{resource: n, hour: -1, scale: resolution / most}
		if most == 0 { // nothing has any: any need is too large
			d.scale = resolution / needed[n]
		}
		if !n.IsRate() || len(f.Profiles) == 0 {
			dims = append(dims, d)
			continue
		}
		for _, h := range hours {
			d.hour = h
			dims = append(dims, d)
		}
	}
	return dims
}

// differentHours are the hours of the day of which no earlier one is the same
// in all profiles.
func differentHours(f *farm.Farm) []int {
	var out []int
	for h := range 24 {
		same := func(e int) bool {
			for _, p := range f.Profiles {
				if p.Hours[e] != p.Hours[h] {
					return false
				}
			}
			return true
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, h)
		}
	}
	return out
}

// units is a need in units of the search: one at least, so that no need fits
// where there is nothing.
func (d dimension) units(v float64) int64 {
	if v <= 0 {
		return 0
	}
	return int64(max(1, math.Round(min(v*d.scale, mostNeeded))))
}

// offer is what a host offers out of its whole capacity, in units of the search.
func (d dimension) offer(offered, whole float64) int64 {
	if offered <= 0 {
		return 0
	}
	return int64(math.Round(min((offered+whole*lenience)*d.scale, float64(NoLimit-1))))
}

// amount is units of the search for people.
func (d dimension) amount(units int64) string {
	return farm.RoundQuantity(float64(units)/d.scale, d.resource.Kind())
}

// demand is what shards need in each dimension.
type demand struct {
	dims     []dimension
	needs    func(farm.Shard) farm.Resources
	profiles map[farm.ProfileName]farm.Profile
}

// later is what shards need at the end of the runway, today what they need now.
func later(f *farm.Farm, dims []dimension, g Goals) demand { return newDemand(f, dims, g.Needs) }
func today(f *farm.Farm, dims []dimension) demand {
	return newDemand(f, dims, func(s farm.Shard) farm.Resources { return s.Needs })
}

func newDemand(f *farm.Farm, dims []dimension, needs func(farm.Shard) farm.Resources) demand {
	d := demand{dims: dims, needs: needs, profiles: map[farm.ProfileName]farm.Profile{}}
	d.profiles[""], _ = f.Profile("")
	for _, p := range f.Profiles {
		d.profiles[p.Name] = p
	}
	return d
}

// add adds a shard's needs to v, in base units.
func (d demand) add(v []float64, s farm.Shard) {
	needs := d.needs(s)
	profile := d.profiles[s.Profile]
	for i, dim := range d.dims {
		need := needs[dim.resource]
		if dim.hour >= 0 {
			need *= profile.Hours[dim.hour]
		}
		v[i] += need
	}
}

// plain adds what is there all day.
func (d demand) plain(v []float64, r farm.Resources) {
	for i, dim := range d.dims {
		v[i] += r[dim.resource]
	}
}

// rounded is a vector in units of the search.
func (d demand) rounded(v []float64) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = d.dims[i].units(x)
	}
	return out
}
