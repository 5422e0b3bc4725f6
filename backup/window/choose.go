package window

import (
	"cmp"
	"slices"

	"stowage/farm"
)

// desk knows which pairs are read from which host.
type desk struct {
	on    map[farm.HostName][]*job
	slots int // streams of one host at once; 0: no limit
}

// choose gives each pair the side whose host has least to do, the largest pairs first; then pairs go from the host that ends last to others as long as that helps.
// Of equal hosts that of a replica is taken, before that of the server that takes all writes.
func choose(jobs []*job, slots int) {
	d := &desk{on: map[farm.HostName][]*job{}, slots: slots}
	for _, j := range jobs {
		best, bestTime := 0, -1.0
		for i := range j.sides {
			if j.pair.Topology == farm.PrimaryReplica { // its replicas first
				i = len(j.sides) - 1 - i
			}
			d.put(j, i)
			if t := d.takes(j.sides[i].host); bestTime < 0 || t < bestTime {
				best, bestTime = i, t
			}
			d.take(j)
		}
		d.put(j, best)
	}
	for range 4 * len(jobs) {
		host, last := d.busiest(jobs)
		if last <= 0 || !d.relieve(host, last*(1-1e-9), chain, map[farm.HostName]bool{}) {
			return
		}
	}
}

// chain is how many hosts may hand a pair on, one to the next, so that the one that ends last has less to do.
const chain = 4

func (d *desk) put(j *job, side int) {
	j.chose = side
	h := j.sides[side].host
	at, _ := slices.BinarySearchFunc(d.on[h], j, func(x, y *job) int { return cmp.Compare(y.bytes, x.bytes) })
	d.on[h] = slices.Insert(d.on[h], at, j) // the largest first
}

func (d *desk) take(j *job) {
	h := j.sides[j.chose].host
	d.on[h] = slices.DeleteFunc(slices.Clone(d.on[h]), func(x *job) bool { return x == j })
}

// takes is when a host has done: its bytes through the narrowest of what they pass, or its backups through the streams that it may have at once.
func (d *desk) takes(h farm.HostName) float64 {
	bytes, most := 0.0, 0.0
	var streams []float64
	for _, j := range d.on[h] {
		o := j.sides[j.chose]
		bytes += j.bytes
		most = o.most
		if d.slots == 0 || len(streams) < d.slots {
			streams = append(streams, j.bytes/o.rate)
		} else {
			streams[slices.Index(streams, slices.Min(streams))] += j.bytes / o.rate
		}
	}
	if bytes == 0 {
		return 0
	}
	return max(bytes/most, slices.Max(streams))
}

// busiest is the host that ends last.
func (d *desk) busiest(jobs []*job) (host farm.HostName, last float64) {
	last = -1
	seen := map[farm.HostName]bool{}
	for _, j := range jobs {
		h := j.sides[j.chose].host
		if seen[h] {
			continue
		}
		seen[h] = true
		if t := d.takes(h); t > last {
			host, last = h, t
		}
	}
	return host, last
}

// relieve has pairs of a host read elsewhere until it ends within a time, as do all that get one: they hand on one of theirs where they must. When that cannot be, nothing
// is changed.
func (d *desk) relieve(host farm.HostName, within float64, depth int, passed map[farm.HostName]bool) bool {
	passed[host] = true
	defer delete(passed, host)
	for _, j := range slices.Clone(d.on[host]) {
		was := j.chose
		for i, o := range j.sides {
			if i == was || j.bytes == 0 || passed[o.host] {
				continue
			}
			d.take(j)
			if d.takes(host) <= within {
				d.put(j, i)
				if d.takes(o.host) <= within || depth > 1 && d.relieve(o.host, within, depth-1, passed) {
					return true
				}
				d.take(j)
			}
			d.put(j, was)
		}
	}
	return false
}
