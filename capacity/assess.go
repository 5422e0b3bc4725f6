package capacity

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"stowage/farm"
)

// Kind says what a series belongs to.
type Kind string

// The kinds of subjects.
const (
	OfHost  Kind = "host"
	OfPair  Kind = "pair"
	OfShard Kind = "shard"
)

// Series is one resource of one subject over time, from one source.
type Series struct {
	Kind     Kind
	Name     string
	Resource farm.ResourceName
	Source   string   // where it was read
	Limit    *float64 // what it may grow to, where the source says; else the farm does
	Samples  []Sample
	Peaks    bool   // of a rate, and each sample is the peak of a day
	Remark   string // says in its row why this series was taken, or what else was measured
}

// Row is the outlook of one resource of one subject.
type Row struct {
	Kind     Kind              `json:"kind"`
	Name     string            `json:"name"`
	Resource farm.ResourceName `json:"resource"`
	Source   string            `json:"source"`
	Used     float64           `json:"used"` // base units: bytes, cores, operations a second
	// DeclaredDays is what farm.yaml's own growth gives, nil where it declares none. Nobody measured it.
	DeclaredDays *float64 `json:"declared_days"`
	Forecast
}

// Side is what a farm has and costs, before or after a plan.
type Side struct {
	Hosts     int     `json:"hosts"` // in use
	Instances int     `json:"instances"`
	Disk      float64 `json:"disk_bytes"`   // in all hosts in use
	Memory    float64 `json:"memory_bytes"` // in all hosts in use
	// What an instance gets: as much as its shards ask for, or less where its host has less than all there ask for together.
	MemoryLeast   float64 `json:"memory_per_instance_least_bytes"`
	MemoryMost    float64 `json:"memory_per_instance_most_bytes"`
	DiskUsed      float64 `json:"disk_used_bytes"`
	DiskGrowth    float64 `json:"disk_growth_bytes_per_day"` // as farm.yaml declares
	Watts         float64 `json:"watts"`
	Cost          float64 `json:"cost"`
	DeclaredDays  float64 `json:"declared_days"`        // until the first host is full, as farm.yaml declares; 0: it does not grow
	DeclaredFirst string  `json:"declared_days_of"`     // that host
	WholeDays     float64 `json:"declared_days_of_all"` // until all disks together are
}

// Of sums a farm up.
func Of(f *farm.Farm) Side {
	s := Side{}
	x := indexed(f)
	for _, name := range f.HostsInUse() {
		t, l := x.types[x.hosts[name].Type], x.on[name]
		s.Hosts++
		s.Instances += l.instances
		s.Disk += t.Capacity[farm.Disk]
		s.Memory += t.Capacity[farm.Memory]
		s.Watts += t.Watts
		s.Cost += t.Price
		s.DiskUsed += l.used[farm.Disk]
		s.DiskGrowth += l.growth
		for _, gets := range l.memory(x.limit(name, farm.Memory)) {
			if s.MemoryMost == 0 || gets < s.MemoryLeast {
				s.MemoryLeast = gets
			}
			s.MemoryMost = max(s.MemoryMost, gets)
		}
		if days := l.days(x.limit(name, farm.Disk)); days != nil && (s.DeclaredFirst == "" || *days < s.DeclaredDays) {
			s.DeclaredDays, s.DeclaredFirst = *days, string(name)
		}
	}
	if s.DiskGrowth > 0 {
		s.WholeDays = (s.Disk - s.DiskUsed) / s.DiskGrowth
	}
	return s
}

type hostLoad struct {
	instances int
	used      farm.Resources
	growth    float64
	asked     []float64 // memory, by instance
}

// memory is what each instance gets of a host that has so much for them. Where no shard says what it asks for, all get the same.
func (l hostLoad) memory(has float64) []float64 {
	gets := slices.Clone(l.asked)
	all := l.used[farm.Memory]
	for i := range gets {
		switch {
		case all == 0 && !math.IsInf(has, 1):
			gets[i] = has / float64(len(gets))
		case all > has:
			gets[i] *= has / all
		}
	}
	return gets
}

// days until the declared growth fills the room; nil without growth.
func (l hostLoad) days(limit float64) *float64 {
	if l.growth <= 0 || math.IsInf(limit, 1) {
		return nil
	}
	d := max(0, (limit-l.used[farm.Disk])/l.growth)
	return &d
}

func load(f *farm.Farm) map[farm.HostName]hostLoad {
	on := map[farm.HostName]hostLoad{}
	for _, p := range f.Pairs {
		needs, growth := p.Needs(), 0.0
		for _, s := range p.Shards {
			growth += s.Growth
		}
		for _, side := range p.Sides {
			l := on[side.Host]
			if l.used == nil {
				l.used = farm.Resources{}
			}
			l.instances++
			l.used.Add(needs)
			l.asked = append(l.asked, needs[farm.Memory])
			l.growth += growth
			on[side.Host] = l
		}
	}
	return on
}

// stale is how much older than the newest sample of all the last one of a series may be before its row says so.
const stale = 2 * 24 * time.Hour

// Assess forecasts every series, and the disk of each host in use by what the farm declares where no series tells more. The most
// urgent rows come first, those that nothing is known of last.
func Assess(f *farm.Farm, all []Series) []Row {
	x, measured := indexed(f), map[farm.HostName]bool{}
	now := newest(all)
	rows := make([]Row, len(all))
	var workers sync.WaitGroup
	turns := runtime.GOMAXPROCS(0)
	for turn := range turns { // each forecast stands alone, and thousands of them take a while
		workers.Go(func() {
			for i := turn; i < len(all); i += turns {
				rows[i] = x.row(all[i])
				rows[i].from(all[i].last(), now)
			}
		})
	}
	workers.Wait()
	for _, s := range all {
		if s.Kind == OfHost && s.Resource == farm.Disk {
			measured[farm.HostName(s.Name)] = true
		}
	}
	for _, name := range f.HostsInUse() {
		if l := x.on[name]; !measured[name] && !math.IsInf(x.limit(name, farm.Disk), 1) {
			rows = append(rows, Row{Kind: OfHost, Name: string(name), Resource: farm.Disk, Source: "farm.yaml", Used: l.used[farm.Disk], DeclaredDays: l.days(x.limit(name, farm.Disk)),
				Forecast: Forecast{Limit: x.limit(name, farm.Disk), Level: l.used[farm.Disk], Steps: []Step{}, Remarks: []string{}, Reason: "not measured"}})
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.urgency(), b.urgency()), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Resource, b.Resource))
	})
	return rows
}

// newest is when the last sample of all series was taken.
func newest(all []Series) (at time.Time) {
	for _, s := range all {
		if last := s.last(); last.After(at) {
			at = last
		}
	}
	return at
}

// from counts the days of a series that has not been measured for a while from now, and says when it was.
func (r *Row) from(last, now time.Time) {
	age := now.Sub(last)
	if last.IsZero() || age <= stale {
		return
	}
	r.Remarks = append(r.Remarks, fmt.Sprintf("last measured %s, %s before the newest sample of all", last.UTC().Format(time.DateOnly), wholeDays(age)))
	r.Days, r.IfStepsGoOn = r.Days.less(age.Hours()/24), r.IfStepsGoOn.less(age.Hours()/24)
}

// row is the outlook of one series.
func (x index) row(s Series) Row {
	row := Row{Kind: s.Kind, Name: s.Name, Resource: s.Resource, Source: s.Source}
	var to float64
	if s.Limit != nil {
		to = *s.Limit
	} else {
		to = x.limitOf(s)
	}
	switch {
	case math.IsInf(to, 1):
		row.Forecast = Forecast{Samples: len(s.Samples), Steps: []Step{}, Remarks: []string{}, Reason: "no limit is known: give " + string(s.Resource) + " to the host type in farm.yaml"}
	case s.Resource == farm.Disk || s.Resource == farm.Memory:
		row.Forecast = Level(s.Samples, to)
	case s.Peaks:
		row.Forecast = DailyPeaks(s.Samples, to)
	default:
		row.Forecast = Rate(s.Samples, to)
	}
	row.Used = row.Level
	if s.Remark != "" {
		row.Remarks = append([]string{s.Remark}, row.Remarks...)
	}
	if s.Kind == OfHost && s.Resource == farm.Disk {
		row.DeclaredDays = x.on[farm.HostName(s.Name)].days(to)
	}
	return row
}

// urgency is the day to look at first.
func (r Row) urgency() float64 {
	switch {
	case r.Days != nil && r.Days.Mid != nil:
		return *r.Days.Mid
	case r.Days != nil:
		return horizon + r.Days.Low
	case r.DeclaredDays != nil:
		return 2*horizon + *r.DeclaredDays
	}
	return math.Inf(1)
}
