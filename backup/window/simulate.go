package window

import (
	"cmp"
	"math"
	"slices"

	"stowage/farm"
)

// stream is a backup that runs.
type stream struct {
	job   *job
	path  []int
	begin float64
	left  float64 // bytes, at the moment since
	since float64
	rate  float64
}

// run is the window as it goes by.
type run struct {
	*atlas
	now     float64
	live    map[int][]*stream // by resource
	streams []*stream
	placed  []Backup
}

// queue are the backups of a host that have not begun, the largest first.
type queue struct {
	jobs []*job
	left float64 // how long they take through the narrowest of what they pass
}

// takes is the least that a queue takes: all through its narrowest place, or the first one by itself.
func (q *queue) takes() float64 {
	j := q.jobs[0]
	return max(q.left, j.bytes/j.sides[j.chose].rate)
}

// simulate lets the chosen backups run: each begins as soon as none of its resources is at its limit, those of the hosts with most left to do first. Streams that share
// a resource share it evenly, and who cannot use its part leaves it to the others. end is when the last one is done.
func (a *atlas) simulate(jobs []*job) (placed []Backup, end float64) {
	r := &run{atlas: a, live: map[int][]*stream{}}
	of := map[farm.HostName]*queue{}
	var waiting []*queue
	for _, j := range jobs { // the largest first, as they are
		o := j.sides[j.chose]
		if of[o.host] == nil {
			of[o.host] = &queue{}
			waiting = append(waiting, of[o.host])
		}
		q := of[o.host]
		q.jobs, q.left = append(q.jobs, j), q.left+j.bytes/o.most
	}
	for {
		r.admit(waiting)
		waiting = slices.DeleteFunc(waiting, func(q *queue) bool { return len(q.jobs) == 0 })
		if len(r.streams) == 0 {
			break
		}
		r.next()
	}
	slices.SortStableFunc(r.placed, func(x, y Backup) int {
		return cmp.Or(cmp.Compare(x.Begin, y.Begin), cmp.Compare(x.Pair, y.Pair))
	})
	return r.placed, r.now
}

// admit begins what may begin.
func (r *run) admit(waiting []*queue) {
	slices.SortStableFunc(waiting, func(x, y *queue) int { return cmp.Compare(y.takes(), x.takes()) })
	for _, q := range waiting {
		for len(q.jobs) > 0 && r.begin(q.jobs[0]) {
			j := q.jobs[0]
			q.jobs, q.left = q.jobs[1:], q.left-j.bytes/j.sides[j.chose].most
		}
	}
}

// begin starts a backup, if it may.
func (r *run) begin(j *job) bool {
	o := j.sides[j.chose]
	for _, at := range o.path {
		x := r.all[at]
		if x.slots > 0 && len(r.live[at]) >= x.slots {
			return false
		}
		used := 0.0
		for _, s := range r.live[at] {
			used += s.rate
		}
		if used >= x.rate*(1-1e-9) {
			return false
		}
	}
	s := &stream{job: j, path: o.path, begin: r.now, left: j.bytes, since: r.now}
	r.streams = append(r.streams, s)
	for _, at := range o.path {
		r.live[at] = append(r.live[at], s)
	}
	r.share(o.path, s)
	return true
}

// next goes to the moment at which the next backup ends.
func (r *run) next() {
	var first *stream
	at := math.Inf(1)
	for _, s := range r.streams {
		if end := s.since + s.left/s.rate; end < at {
			first, at = s, end
		}
	}
	r.now = at
	r.streams = slices.DeleteFunc(r.streams, func(s *stream) bool { return s == first })
	for _, x := range first.path {
		r.live[x] = slices.DeleteFunc(r.live[x], func(s *stream) bool { return s == first })
	}
	j := first.job
	o := j.sides[j.chose]
	r.placed = append(r.placed, Backup{Pair: j.pair.Name, Side: o.side, Instance: j.pair.Instance(o.side), Host: o.host, Bytes: j.bytes, Begin: first.begin, Seconds: at - first.begin})
	r.share(first.path, nil)
}

// share gives all streams their rates anew that have to do with these resources, directly or through others, and one that begins: the most even
// shares (max-min).
func (r *run) share(path []int, begins *stream) {
	touched, streams := r.together(path)
	if begins != nil && !slices.Contains(streams, begins) { // it shares nothing that has a limit
		streams = append(streams, begins)
	}
	spare, open := map[int]float64{}, map[int]int{}
	for _, x := range touched {
		spare[x], open[x] = r.all[x].rate, len(r.live[x])
	}
	settled := map[*stream]bool{}
	settle := func(s *stream, rate float64) {
		s.left = max(0, s.left-s.rate*(r.now-s.since))
		s.since, s.rate = r.now, rate
		settled[s] = true
		for _, x := range s.path {
			if !math.IsInf(spare[x], 1) {
				spare[x] = max(0, spare[x]-rate)
			}
			open[x]--
		}
	}
	for len(settled) < len(streams) {
		tight, part := -1, r.limits.Stream
		for _, x := range touched {
			if open[x] > 0 && spare[x]/float64(open[x]) < part {
				tight, part = x, spare[x]/float64(open[x])
			}
		}
		if tight < 0 { // nothing is shared short any more
			for _, s := range streams {
				if !settled[s] {
					settle(s, part)
				}
			}
			return
		}
		for _, s := range slices.Clone(r.live[tight]) {
			if !settled[s] {
				settle(s, part)
			}
		}
	}
}

// together are the resources with a rate that streams join to those of a path, and the streams, in a fixed order.
func (r *run) together(path []int) (touched []int, streams []*stream) {
	seen, has := map[int]bool{}, map[*stream]bool{}
	queue := slices.Clone(path)
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		if seen[x] || math.IsInf(r.all[x].rate, 1) {
			continue
		}
		seen[x] = true
		touched = append(touched, x)
		for _, s := range r.live[x] {
			if !has[s] {
				has[s] = true
				streams = append(streams, s)
				queue = append(queue, s.path...)
			}
		}
	}
	return touched, streams
}
