package bench

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// measured is what fio says about one load of a run.
type measured struct {
	sample          result.Sample
	latency, writes stat.Histogram
}

// read makes a sample from fio's account of one load, and from the series it left in dir.
func read(l Load, j fioJob, dir, name string, window time.Duration) (measured, error) {
	var m measured
	s := &m.sample
	s.Seconds = max(j.Read.Runtime, j.Write.Runtime) / 1000
	if s.Seconds <= 0 || j.Read.IOs+j.Write.IOs == 0 {
		return m, fmt.Errorf("fio did no I/O in %s: the run is too short for this storage", name)
	}
	s.ReadIOPS = j.Read.IOPS
	s.IOPS = j.Read.IOPS + j.Write.IOPS
	s.MBps = float64(j.Read.Bytes+j.Write.Bytes) / s.Seconds / 1e6
	s.Depth1 = min(1, j.Depths["1"]/100) // synchronous engines count a fdatasync, too
	reads, err := j.Read.histogram()
	writes, err2 := j.Write.histogram()
	syncs, err3 := j.Sync.histogram()
	if err := errors.Join(err, err2, err3); err != nil {
		return m, err
	}
	if m.latency = reads.Add(writes); l.Durable {
		m.latency, m.writes = syncs, writes
		s.Lat = result.LatencyOf(syncs, j.Sync.Lat.Min, j.Sync.Lat.Mean, j.Sync.Lat.Max)
		w := result.LatencyOf(writes, j.Write.Lat.Min, j.Write.Lat.Mean, j.Write.Lat.Max)
		s.WriteLat = &w
	} else {
		ios := float64(j.Read.IOs + j.Write.IOs)
		mean := (j.Read.Lat.Mean*float64(j.Read.IOs) + j.Write.Lat.Mean*float64(j.Write.IOs)) / ios
		least := max(j.Read.Lat.Min, j.Write.Lat.Min)
		if j.Read.IOs > 0 && j.Write.IOs > 0 {
			least = min(j.Read.Lat.Min, j.Write.Lat.Min)
		}
		s.Lat = result.LatencyOf(m.latency, least, mean, max(j.Read.Lat.Max, j.Write.Lat.Max))
	}
	if l.Durable && syncs.Count() == 0 && writes.Count() > 0 {
		return m, fmt.Errorf("no fdatasync completed in %s: the run is too short for this storage", name)
	}
	if m.latency.Count() == 0 {
		return m, fmt.Errorf("fio printed no histogram for %s: is it as old as 3.0?", name)
	}
	if l.Durable {
		s.Check.Syncs = int64(syncs.Count()) // total_ios is 0 in fio 3.33
	}
	s.Check.FioRead, s.Check.FioWritten = j.Read.Bytes, j.Write.Bytes
	s.Series, err = readSeries(filepath.Join(dir, seriesName(name)+"_iops.log"), window, s.Seconds)
	return m, err
}

// histogram reads fio's: nanoseconds as text, and how many.
func (d fioDirection) histogram() (stat.Histogram, error) {
	h := make(stat.Histogram, 0, len(d.Lat.Bins))
	for text, n := range d.Lat.Bins {
		ns, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("fio's histogram has a bucket %q", text)
		}
		if n > 0 {
			h = append(h, stat.Bucket{ns, n})
		}
	}
	slices.SortFunc(h, func(a, b stat.Bucket) int { return cmp.Compare(a[0], b[0]) })
	return h, nil
}

// readSeries reads the speeds of short windows: lines of milliseconds, speed, direction and more; one thread after the other,
// both directions of a thread in turns. An entry counts for the time since the one before it of the same thread and
// direction, for where a request takes longer than a window there is none. The last window of a run is never
// written. The file is removed.
func readSeries(path string, window time.Duration, seconds float64) ([]float64, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("fio wrote no series: %w", err)
	}
	_ = os.Remove(path)
	step := float64(window.Milliseconds())
	series := make([]float64, max(0, int((seconds*1000+step/5)/step)-1))
	done := map[string]int{} // windows that are accounted for, by direction
	for line := range strings.Lines(string(raw)) {
		f := strings.SplitN(line, ",", 4)
		if len(f) < 4 {
			continue // the last line of a run that was cut short
		}
		ms, err := strconv.ParseFloat(strings.TrimSpace(f[0]), 64)
		speed, err2 := strconv.ParseFloat(strings.TrimSpace(f[1]), 64)
		direction := strings.TrimSpace(f[2])
		switch {
		case err != nil || err2 != nil:
			return nil, fmt.Errorf("fio's series has a line %q", strings.TrimSpace(line))
		case direction != "0" && direction != "1":
			continue // trims, and whatever else there will be
		}
		to, from := int(ms/step+0.5), done[direction]
		if to <= from {
			from = 0 // time goes back: the next thread
		}
		for at := from; at < min(to, len(series)); at++ {
			series[at] += speed
		}
		done[direction] = to
	}
	return series, nil
}
