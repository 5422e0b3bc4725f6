package window

import (
	"cmp"
	"slices"

	"stowage/farm"
)

// Backup is one backup in its place on paper.
type Backup struct {
	Pair     farm.PairName     `json:"pair"`
	Side     farm.SideName     `json:"side"`
	Instance farm.InstanceName `json:"instance"`
	Host     farm.HostName     `json:"host"` // whose disks are read
	Bytes    float64           `json:"bytes"`
	Begin    float64           `json:"begin_seconds"` // from the begin of the window
	Seconds  float64           `json:"seconds"`
}

// End is when it is done, in seconds from the begin of the window.
func (b Backup) End() float64 { return b.Begin + b.Seconds }

// Binding is what sets the bound: all of these together carry so many bytes and no more in a second.
type Binding struct {
	Names []string `json:"names"`
	Bytes float64  `json:"bytes"`
	Rate  float64  `json:"bytes_per_second"`
}

// Window is a backup of all pairs of a farm, one side of each.
type Window struct {
	Limits  Limits   `json:"limits"`
	Backups []Backup `json:"backups"` // by begin
	Bytes   float64  `json:"bytes"`
	Seconds float64  `json:"seconds"`
	// Bound is the least that any order takes, from whichever sides; Binding says why.
	Bound   float64 `json:"bound_seconds"`
	Binding Binding `json:"binding"`
	// Largest is the pair with the most bytes.
	Largest farm.PairName `json:"largest_pair"`
}

// Lane are the backups that read from one host.
type Lane struct {
	Host    farm.HostName `json:"host"`
	Bytes   float64       `json:"bytes"`
	End     float64       `json:"end_seconds"`
	Backups []Backup      `json:"backups"` // by begin
}

// Lanes are the backups by host, those that end last first.
func (w Window) Lanes() []Lane {
	at := map[farm.HostName]int{}
	var out []Lane
	for _, b := range w.Backups {
		i, ok := at[b.Host]
		if !ok {
			i = len(out)
			at[b.Host] = i
			out = append(out, Lane{Host: b.Host})
		}
		l := &out[i]
		l.Backups, l.Bytes, l.End = append(l.Backups, b), l.Bytes+b.Bytes, max(l.End, b.End())
	}
	slices.SortStableFunc(out, func(a, b Lane) int { return cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(a.Host, b.Host)) })
	return out
}

// job is a pair to be backed up.
type job struct {
	pair  *farm.Pair
	bytes float64
	sides []option
	chose int
}

// option is a side it may be read from.
type option struct {
	side farm.SideName
	host farm.HostName
	path []int
	own  []int   // of path: what not all sides of the pair use
	most float64 // that all backups of the path together can carry
	rate float64 // of this backup alone
}

// Of is the window of a farm by the sizes in it. Pairs without bytes take no time.
func Of(f *farm.Farm, l Limits) Window {
	a := newAtlas(f, l)
	jobs := a.jobs()
	w := Window{Limits: l, Backups: []Backup{}}
	for _, j := range jobs {
		w.Bytes += j.bytes
	}
	if len(jobs) > 0 {
		w.Largest = jobs[0].pair.Name
	}
	w.Bound, w.Binding = a.bound(jobs)
	a.choose(jobs)
	w.Backups, w.Seconds = a.simulate(jobs)
	return w
}

// unlimited is a rate that nothing has: without any limit loads are compared as they are.
const unlimited = 1e18

// jobs are all pairs, the largest first, so that the small ones even out.
func (a *atlas) jobs() []*job {
	var out []*job
	for i := range a.farm.Pairs {
		p := &a.farm.Pairs[i]
		j := &job{pair: p, bytes: p.Needs()[farm.Disk]}
		given, ok := a.limits.Sides[p.Name]
		if _, has := p.Sides[given]; !ok || !has {
			given = ""
		}
		for _, side := range p.SideNames() {
			if given != "" && side != given {
				continue
			}
			h := p.Sides[side].Host
			o := option{side: side, host: h, path: a.path(h)}
			o.most = min(a.narrowest(o.path), unlimited)
			o.rate = min(a.limits.Stream, o.most)
			j.sides = append(j.sides, o)
		}
		if len(j.sides) > 0 {
			out = append(out, j)
		}
	}
	slices.SortStableFunc(out, func(x, y *job) int { return cmp.Compare(y.bytes, x.bytes) })
	return out
}
