package farm

import "sort"

// ResourceName names one dimension of need or capacity. The set is open: a
// farm may add its own ("licences"), and every package treats the known ones
// and the added ones alike.
type ResourceName string

const (
	Disk    ResourceName = "disk"    // bytes
	Memory  ResourceName = "memory"  // bytes
	CPU     ResourceName = "cpu"     // cores
	IOPS    ResourceName = "iops"    // operations a second
	Network ResourceName = "network" // bits a second
)

// Resources is an amount of each named resource, in base units (bytes, cores,
// operations a second, bits a second). A resource that is absent is zero when
// it is a need and unlimited when it is a capacity.
type Resources map[ResourceName]float64

// Add adds each amount of more to r.
func (r Resources) Add(more Resources) {
	for n, v := range more {
		r[n] += v
	}
}

// Names are the resources present, sorted, for stable output.
func (r Resources) Names() []ResourceName {
	names := make([]ResourceName, 0, len(r))
	for n := range r {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool { return names[i] < names[j] })
	return names
}
