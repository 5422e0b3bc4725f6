package check

import (
	"maps"
	"slices"

	"stowage/farm"
)

// load is what is on one host: an amount for each resource and hour.
type load struct {
	needs     []float64
	instances map[farm.InstanceName]bool
	shards    map[farm.ShardName]bool
	moving    bool // something on it is not frozen
}

func (j *judge) newLoad() *load {
	return &load{needs: make([]float64, len(j.resources)*j.hours), instances: map[farm.InstanceName]bool{}, shards: map[farm.ShardName]bool{}}
}

// plain adds what is there all day.
func (j *judge) plain(l *load, r farm.Resources, sign float64) {
	for n, v := range r {
		at := j.resources[n] * j.hours
		for h := range j.hours {
			l.needs[at+h] += sign * v
		}
	}
}

// peak is the most of a resource in any hour.
func (j *judge) peak(l *load, n farm.ResourceName) float64 {
	at, known := j.resources[n]
	if !known {
		return 0
	}
	most := 0.0
	for _, v := range l.needs[at*j.hours : (at+1)*j.hours] {
		most = max(most, v)
	}
	return most
}

// moment is when needs are counted: now, or at the end of the runway.
type moment struct {
	days   float64
	growth float64
}

func (j *judge) now() moment { return moment{growth: 1} }
func (j *judge) end() moment {
	m := moment{j.plan.Goals.RunwayDays, j.plan.Goals.Growth}
	if m.growth == 0 {
		m.growth = 1
	}
	return m
}

// add adds a shard: disk grows a day at a time, everything by the factor, and
// cpu, iops and network follow the hours of the shard's profile.
func (j *judge) add(l *load, s *farm.Shard, at moment, sign float64) {
	grown := max(0, s.Growth*at.days)
	for n, v := range s.Needs {
		if n != farm.Disk {
			j.addOne(l, s, n, sign*v*at.growth)
		}
	}
	if v := s.Needs[farm.Disk] + grown; v > 0 {
		j.addOne(l, s, farm.Disk, sign*v*at.growth)
	}
}

func (j *judge) addOne(l *load, s *farm.Shard, n farm.ResourceName, v float64) {
	at := j.resources[n] * j.hours
	profile, has := j.profiles[s.Profile]
	if !has || !follows(n) {
		for h := range j.hours {
			l.needs[at+h] += v
		}
		return
	}
	for h := range j.hours {
		l.needs[at+h] += v * profile.Hours[h]
	}
}

// follows says whether a resource is used as the profile of the day says.
func follows(n farm.ResourceName) bool {
	return n == farm.CPU || n == farm.IOPS || n == farm.Network
}

// loads is what is on every host after the plan, at the end of the runway.
func (j *judge) loads() map[farm.HostName]*load {
	loads := map[farm.HostName]*load{}
	end := j.end()
	for _, a := range j.plan.Assignments {
		l := loads[a.Host]
		if l == nil {
			l = j.newLoad()
			loads[a.Host] = l
		}
		l.moving = l.moving || !j.isFrozen(j.oldPair(a.Pair, a.Shard))
		if !l.instances[a.Instance] {
			l.instances[a.Instance] = true
			j.plain(l, j.plan.Goals.Overhead, 1)
		}
		if j.byShard {
			if s := j.shards[a.Shard]; s != nil {
				l.shards[s.Name] = true
				j.add(l, s, end, 1)
			}
			continue
		}
		if pair := j.pairs[a.Pair]; pair != nil {
			for k := range pair.Shards {
				l.shards[pair.Shards[k].Name] = true
				j.add(l, &pair.Shards[k], end, 1)
			}
		}
	}
	return loads
}

// hostLoads: at the end of the runway no host carries more than its capacity
// less headroom and what is reserved, in no hour, nor more instances than its
// type and the goals allow. Hosts that frozen pairs overfill take no others.
func (j *judge) hostLoads() {
	for name, l := range j.after {
		if !l.moving {
			continue
		}
		h := j.hosts[name]
		t := j.types[h.Type]
		for n, c := range t.Capacity {
			most := max(0, c*(1-j.plan.Goals.Headroom[n])-h.Reserved[n])
			if peak := j.peak(l, n); peak > most+c*slack {
				j.say("host-load", string(name), "%s is %s of %s after headroom", n, amount(n, peak), amount(n, most))
			}
		}
		if most := j.mostInstances(h); most > 0 && len(l.instances) > most {
			j.say("max-instances", string(name), "%s, at most %d", farm.Counted(len(l.instances), "instance"), most)
		}
	}
}

// optionsFit: the memory that host types give each of their servers is there on
// every host that takes some.
func (j *judge) optionsFit() {
	counts := map[farm.HostName]int{}
	for name, l := range j.after {
		if l.moving {
			counts[name] = len(l.instances)
		}
	}
	over := j.farm.Overfilled(counts)
	for _, name := range slices.Sorted(maps.Keys(over)) {
		j.say("options-fit", string(name), "%s", over[name])
	}
}

func (j *judge) mostInstances(h farm.Host) int {
	most := j.types[h.Type].Most(h.Reserved)
	if g := j.plan.Goals.MaxInstances; g > 0 && (most == 0 || g < most) {
		most = g
	}
	return most
}

func (j *judge) isFrozen(pair farm.PairName) bool { return j.frozen[pair] }
