package transcript

import (
	"fmt"
	"slices"
	"strings"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// load is what was asked for. Pattern is empty where the file does not say: then name is all there is.
type load struct {
	name    string // what the file calls it
	pattern string // RND or SEQ
	op      string // R, W, RW70
	block   int64
	q, t    int
	durable bool    // fdatasync or fsync after every write
	through bool    // O_SYNC, O_DSYNC, FILE_FLAG_WRITE_THROUGH: each write is durable by itself
	rate    float64 // requests a second it was held to
}

// id is the name that bench run has for the load; the file's own where there is none: a part of what was asked for is not known, or it was held to a rate.
func (l load) id() string {
	if l.pattern == "" || l.op == "" || l.block <= 0 || l.q <= 0 || l.t <= 0 || l.rate > 0 || l.block%1024 != 0 {
		if l.name == "" {
			return "unnamed"
		}
		return l.name
	}
	size := fmt.Sprintf("%dK", l.block>>10)
	if l.block%(1<<20) == 0 {
		size = fmt.Sprintf("%dM", l.block>>20)
	}
	depth := fmt.Sprintf("Q%dT%d", l.q, l.t)
	switch {
	case l.durable && l.pattern == "SEQ" && l.op == "W":
		return "LOG" + size + "-FDS-" + depth // a log is written from its beginning to its end, again and again
	case l.durable:
		return l.pattern + size + "-" + l.op + "-FDS-" + depth
	case l.through && l.op != "R":
		return l.pattern + size + "-" + l.op + "-WT-" + depth
	}
	return l.pattern + size + "-" + l.op + "-" + depth
}

// operation is R, W or RW and the percentage of reads.
func operation(readPercent float64) string {
	switch {
	case readPercent >= 100:
		return "R"
	case readPercent <= 0:
		return "W"
	}
	return fmt.Sprintf("RW%.0f", readPercent)
}

// take adds a run to the step of its load.
func take(r *result.Result, file string, x run) {
	id := x.id()
	at := slices.IndexFunc(r.Steps, func(s *result.Step) bool { return s.ID == id })
	if at < 0 {
		at = len(r.Steps)
		r.Steps = append(r.Steps, &result.Step{ID: id, Pattern: x.pattern, Op: x.op, Block: x.block, Outstanding: x.q, Threads: x.t, Durable: x.durable || x.through && x.op != "R", AskedIOPS: x.rate, Valid: true})
	}
	s := r.Steps[at]
	n := 0
	for _, o := range r.Steps {
		n += len(o.Samples)
	}
	s.Samples = append(s.Samples, result.Sample{Seq: n + 1, Round: len(s.Samples) + 1, Seconds: x.seconds, IOPS: x.iops, ReadIOPS: x.reads, MBps: x.mbps, Lat: x.lat, WriteLat: x.writeLat})
	if len(x.times) > 0 {
		s.Histogram = s.Histogram.Add(x.times)
	}
	s.WriteLat = x.writeLat
	if x.on != "" && !strings.Contains(r.Environment.Directory, x.on) {
		r.Environment.Directory = strings.TrimPrefix(r.Environment.Directory+", "+x.on, ", ")
	}
	say := func(text string) {
		if !slices.Contains(r.Labels, text) {
			r.Labels = append(r.Labels, text)
		}
	}
	for _, note := range x.notes {
		say(id + ": " + note)
	}
	one := result.Step{ID: id, IOPS: x.iops, MBps: x.mbps, Block: x.block, Outstanding: x.q, Threads: x.t, Durable: s.Durable, Lat: x.lat}
	for _, text := range one.Contradictions() {
		say(fmt.Sprintf("%s, line %d: %s: one of these figures is wrong", file, x.line, text))
	}
	sum(s, say)
}

// sum makes the figures of a step from its runs, as bench run does where there are histograms of all of them.
func sum(s *result.Step, say func(string)) {
	var iops, mbps []float64
	counted := 0.0
	for _, x := range s.Samples {
		iops, mbps = append(iops, x.IOPS), append(mbps, x.MBps)
		counted += x.IOPS * x.Seconds
	}
	s.Runs = len(s.Samples)
	s.IOPS, s.CI = stat.Mean(iops)
	s.MBps, _ = stat.Mean(mbps)
	mean := func(of func(result.Latency) float64) float64 {
		var all []float64
		for _, x := range s.Samples {
			if v := of(x.Lat); v > 0 {
				all = append(all, v)
			}
		}
		if len(all) < len(s.Samples) {
			return 0 // of one run it is not known
		}
		v, _ := stat.Mean(all)
		return v
	}
	first := s.Samples[0].Lat
	s.Lat = result.Latency{Min: first.Min}
	for _, x := range s.Samples {
		s.Lat.Min, s.Lat.Max = min(s.Lat.Min, x.Lat.Min), max(s.Lat.Max, x.Lat.Max)
	}
	s.Lat.Mean = mean(func(l result.Latency) float64 { return l.Mean })
	if n := float64(s.Histogram.Count()); n > 0 && n > 0.5*counted {
		l := result.LatencyOf(s.Histogram, s.Lat.Min*1000, s.Lat.Mean*1000, s.Lat.Max*1000)
		s.Lat = l
		return
	}
	s.Lat.P50, s.Lat.P95 = mean(func(l result.Latency) float64 { return l.P50 }), mean(func(l result.Latency) float64 { return l.P95 })
	s.Lat.P99, s.Lat.P999 = mean(func(l result.Latency) float64 { return l.P99 }), mean(func(l result.Latency) float64 { return l.P999 })
	if s.Runs > 1 && s.Lat.P95+s.Lat.P99 > 0 {
		say(s.ID + ": percentiles are the geometric means of those of its runs: there are no histograms to add up")
	}
}
