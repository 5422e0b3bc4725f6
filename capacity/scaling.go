package capacity

import (
	"slices"

	"stowage/farm"
)

// Curve is what instances on one host cost as there are more of them, as somebody measured: stowage bench engine --n-instances.
type Curve struct {
	Source string  `json:"source"`
	Points []Point `json:"points"` // the fewest instances first
}

// Point is what a transaction costs with so many instances, by what it costs with the fewest. IOPS is nil where no operations were counted.
type Point struct {
	Instances int      `json:"instances"`
	CPU       float64  `json:"cpu_factor"`
	IOPS      *float64 `json:"iops_factor"`
}

// at is the factor for so many instances, on straight lines between the points; nil outside of what was measured.
func (c *Curve) at(n int, of func(Point) *float64) *float64 {
	if c == nil || len(c.Points) < 2 {
		return nil
	}
	for i, p := range c.Points {
		v := of(p)
		if v == nil || n < p.Instances && i == 0 {
			return nil
		}
		if n == p.Instances {
			return v
		}
		if n > p.Instances {
			continue
		}
		before := c.Points[i-1]
		from := *of(before)
		f := from + (*v-from)*float64(n-before.Instances)/float64(p.Instances-before.Instances)
		return &f
	}
	return nil
}

// Scaling is what so many instances need of a host, for one type of host.
type Scaling struct {
	HostType  farm.HostTypeName `json:"host_type"`
	Hosts     int               `json:"hosts"`     // of this type, in use
	Instances int               `json:"instances"` // on them
	CPULimit  *float64          `json:"cpu_limit"` // of one host; nil: not limited
	IOPSLimit *float64          `json:"iops_limit"`
	Rows      []Scaled          `json:"rows"`
}

// Scaled is one number of instances. Linear is so many times what the mean instance needs. Measured bends that by the curve; nil: not measured.
type Scaled struct {
	Instances    int      `json:"instances"`
	Hosts        int      `json:"hosts"` // that have so many now
	CPU          float64  `json:"cpu_linear"`
	IOPS         float64  `json:"iops_linear"`
	CPUMeasured  *float64 `json:"cpu_measured"`
	IOPSMeasured *float64 `json:"iops_measured"`
}

// mostInstances is up to how many instances Scale goes where nothing limits them.
const mostInstances = 12

// Scale says for each type of host in use how CPU and IOPS grow with the instances on it, up to one more than there are, or as
// many as it may hold.
func Scale(f *farm.Farm, c *Curve) []Scaling {
	all, on := indexed(f), map[farm.HostName]int{}
	needs := map[farm.HostTypeName]farm.Resources{}
	for _, p := range f.Pairs {
		for _, side := range p.Sides {
			on[side.Host]++
			kind := all.hosts[side.Host].Type
			if needs[kind] == nil {
				needs[kind] = farm.Resources{}
			}
			needs[kind].Add(p.Needs())
		}
	}
	var out []Scaling
	for _, t := range f.HostTypes {
		s := Scaling{HostType: t.Name, Rows: []Scaled{}}
		having, most := map[int]int{}, 0
		for host, n := range on {
			if all.hosts[host].Type == t.Name {
				s.Hosts, s.Instances = s.Hosts+1, s.Instances+n
				having[n]++
				most = max(most, n)
			}
		}
		if s.Instances == 0 {
			continue
		}
		s.CPULimit, s.IOPSLimit = has(t, farm.CPU), has(t, farm.IOPS)
		upTo := most + 1
		if t.MaxInstances > 0 {
			upTo = max(most, min(t.MaxInstances, mostInstances))
		}
		cpu, iops := needs[t.Name][farm.CPU]/float64(s.Instances), needs[t.Name][farm.IOPS]/float64(s.Instances)
		for n := 1; n <= upTo; n++ {
			x := Scaled{Instances: n, Hosts: having[n], CPU: cpu * float64(n), IOPS: iops * float64(n)}
			x.CPUMeasured = times(x.CPU, c.at(n, func(p Point) *float64 { return &p.CPU }))
			x.IOPSMeasured = times(x.IOPS, c.at(n, func(p Point) *float64 { return p.IOPS }))
			s.Rows = append(s.Rows, x)
		}
		out = append(out, s)
	}
	return slices.Clip(out)
}

func times(v float64, factor *float64) *float64 {
	if factor == nil {
		return nil
	}
	x := v * *factor
	return &x
}

func has(t farm.HostType, r farm.ResourceName) *float64 {
	v, ok := t.Capacity[r]
	if !ok {
		return nil
	}
	return &v
}
