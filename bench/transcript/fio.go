package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/internal/nested"
)

// fioDocument is what is read of fio's JSON. fio 2 counts times in microseconds (lat, clat), fio 3 in nanoseconds (lat_ns, clat_ns).
type fioDocument struct {
	Version string            `json:"fio version"`
	Global  map[string]string `json:"global options"`
	Jobs    []fioJob          `json:"jobs"`
	Clients []json.RawMessage `json:"client_stats"`
}

type fioJob struct {
	Name    string            `json:"jobname"`
	Group   int               `json:"groupid"`
	Error   int               `json:"error"`
	Options map[string]string `json:"job options"`
	Read    fioDirection      `json:"read"`
	Write   fioDirection      `json:"write"`
	Sync    fioDirection      `json:"sync"`
}

type fioDirection struct {
	Bytes     float64  `json:"io_bytes"` // KiB in fio 2
	KBytes    float64  `json:"io_kbytes"`
	BandBytes float64  `json:"bw_bytes"`
	Band      float64  `json:"bw"` // KiB/s
	IOPS      float64  `json:"iops"`
	IOs       float64  `json:"total_ios"`
	Runtime   float64  `json:"runtime"` // milliseconds
	LatNS     *fioTime `json:"lat_ns"`
	ClatNS    *fioTime `json:"clat_ns"`
	Lat       *fioTime `json:"lat"`
	Clat      *fioTime `json:"clat"`
}

type fioTime struct {
	Min         float64            `json:"min"`
	Max         float64            `json:"max"`
	Mean        float64            `json:"mean"`
	Percentiles map[string]float64 `json:"percentile"`
	Bins        map[string]uint64  `json:"bins"`
}

// jsonBegins is where a JSON object begins at the beginning of a line; -1: nowhere.
func jsonBegins(text []byte) int {
	at := 0
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(bytes.TrimLeft(line, " \t\ufeff"), []byte("{")) {
			return at + bytes.IndexByte(line, '{')
		}
		at += len(line)
	}
	return -1
}

// parseFio reads fio's JSON, before which fio may have written warnings.
func parseFio(text []byte) (printed, error) {
	at := int64(jsonBegins(text))
	var d fioDocument
	if err := nested.Unmarshal(text[at:], &d); err != nil {
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			return printed{}, faultAt(lineOf(text, at+syntax.Offset), "it is not JSON: %v; was it cut short?", err)
		case errors.As(err, &kind):
			return printed{}, faultAt(lineOf(text, at+kind.Offset), "%s is %s, and fio writes a number there", kind.Field, kind.Value)
		}
		return printed{}, faultAt(lineOf(text, at), "it is not JSON of fio's: %v", err)
	}
	first := lineOf(text, at)
	switch {
	case len(d.Clients) > 0:
		return printed{}, faultAt(first, "it is of fio --client: import what each of the clients printed")
	case len(d.Jobs) == 0:
		return printed{}, faultAt(first, "it has no jobs: it is not output of fio --output-format=json")
	}
	p := printed{tool: cmp.Or(d.Version, "fio")}
	places := jobLines(text)
	for i := 0; i < len(d.Jobs); {
		n := sameJob(d.Jobs[i:], d.Global)
		line := first
		if i < len(places) {
			line = places[i]
		}
		x, err := fioRun(d.Global, d.Jobs[i:i+n])
		if err != nil {
			return p, faultAt(line, "job %s: %s", d.Jobs[i].Name, err)
		}
		x.line = line
		p.runs = append(p.runs, x)
		i += n
	}
	return p, nil
}

// jobLines are the lines in which jobs say their names.
func jobLines(text []byte) []int {
	var out []int
	line := 0
	for l := range bytes.Lines(text) {
		if line++; bytes.Contains(l, []byte(`"jobname"`)) {
			out = append(out, line)
		}
	}
	return out
}

// sameJob is how many entries from the first on are threads of one job: without group_reporting fio prints one for each.
func sameJob(jobs []fioJob, global map[string]string) int {
	threads, _ := strconv.Atoi(cmp.Or(jobs[0].Options["numjobs"], global["numjobs"]))
	n := 1
	for n < len(jobs) && n < threads && jobs[n].Name == jobs[0].Name && jobs[n].Group == jobs[0].Group {
		n++
	}
	return n
}

// fioRun is one job, of one entry or of one for each thread.
func fioRun(global map[string]string, entries []fioJob) (run, error) {
	options := maps.Clone(global)
	if options == nil {
		options = map[string]string{}
	}
	maps.Copy(options, entries[0].Options)
	x := run{load: fioLoad(entries[0].Name, options), on: cmp.Or(options["filename"], options["directory"])}
	var reads, writes, syncs direction
	for _, j := range entries {
		if j.Error != 0 {
			return x, fmt.Errorf("it ended with error %d", j.Error)
		}
		for _, d := range []struct {
			to   *direction
			from fioDirection
		}{{&reads, j.Read}, {&writes, j.Write}, {&syncs, j.Sync}} {
			if err := d.to.add(d.from); err != nil {
				return x, err
			}
		}
	}
	x.seconds, x.iops, x.reads, x.mbps = max(reads.seconds, writes.seconds), reads.iops+writes.iops, reads.iops, reads.mbps+writes.mbps
	if x.op == "" {
		x.op = operation(100 * reads.iops / max(x.iops, 1e-9))
	}
	if x.block == 0 {
		x.block = blockOf(x.mbps*1e6, x.iops)
	}
	switch {
	case x.durable:
		w := writes.lat
		x.writeLat, x.lat, x.times = &w, syncs.lat, syncs.times
		if syncs.lat == (result.Latency{}) {
			x.notes = append(x.notes, "this fio did not print the time of the fdatasync: the latency of a commit is not known")
		}
	case reads.iops == 0:
		x.lat, x.times = writes.lat, writes.times
	case writes.iops == 0:
		x.lat, x.times = reads.lat, reads.times
	default:
		x.lat, x.times = both(reads, writes)
		if len(x.times) == 0 {
			x.notes = append(x.notes, "reads and writes have separate percentiles, which cannot be added up; with --output-format=json+ they can")
		}
	}
	if len(entries) > 1 && len(x.times) == 0 {
		x.lat = result.Latency{Min: x.lat.Min, Mean: x.lat.Mean, Max: x.lat.Max}
		x.notes = append(x.notes, "its threads have separate percentiles, which cannot be added up; group_reporting=1 makes fio do so")
	}
	if len(x.times) > 0 {
		x.lat = result.LatencyOf(x.times, x.lat.Min*1000, x.lat.Mean*1000, x.lat.Max*1000)
	}
	x.notes = append(x.notes, x.caveats(options)...)
	return x, nil
}

// caveats are what fio's options say against its figures.
func (x run) caveats(options map[string]string) []string {
	var out []string
	if v, ok := options["direct"]; !(ok && v != "0") && len(options) > 0 {
		out = append(out, "direct=1 was not given: the page cache may have answered")
	}
	if isSynchronous(options) && count(options["iodepth"]) > 1 {
		out = append(out, "iodepth was "+options["iodepth"]+" with the engine "+cmp.Or(options["ioengine"], "psync")+", which does one request at a time")
	}
	if options["zero_buffers"] == "1" {
		out = append(out, "zeros were written: a device or a file system that compresses them writes nothing")
	}
	return out
}

func isSynchronous(options map[string]string) bool {
	return slices.Contains([]string{"", "psync", "sync", "pvsync", "pvsync2", "vsync", "mmap"}, options["ioengine"]) && len(options) > 0
}

// fioLoad is what the options ask for.
func fioLoad(name string, o map[string]string) load {
	l := load{name: name, q: max(count(o["iodepth"]), 1), t: max(count(o["numjobs"]), 1)}
	if isSynchronous(o) {
		l.q = 1
	}
	switch rw := cmp.Or(o["rw"], o["readwrite"]); strings.SplitN(rw, ":", 2)[0] {
	case "read":
		l.pattern, l.op = "SEQ", "R"
	case "write":
		l.pattern, l.op = "SEQ", "W"
	case "randread":
		l.pattern, l.op = "RND", "R"
	case "randwrite":
		l.pattern, l.op = "RND", "W"
	case "rw", "readwrite", "randrw":
		l.pattern, l.op = "SEQ", "RW50"
		if strings.HasPrefix(rw, "rand") {
			l.pattern = "RND"
		}
		if v := count(o["rwmixread"]); v > 0 {
			l.op = operation(float64(v))
		} else if v := count(o["rwmixwrite"]); v > 0 {
			l.op = operation(float64(100 - v))
		}
	}
	l.block = fioSize(cmp.Or(o["bs"], o["blocksize"]))
	l.durable = (o["fdatasync"] == "1" || o["fsync"] == "1") && l.op != "R"
	l.through = o["sync"] != "" && o["sync"] != "0" && o["sync"] != "none"
	for _, key := range []string{"rate_iops", "rate"} {
		if o[key] != "" {
			l.rate = max(float64(count(strings.SplitN(o[key], ",", 2)[0])), 1)
		}
	}
	if _, ok := o["bssplit"]; ok {
		l.pattern = "" // no one block
	}
	if _, ok := o["bsrange"]; ok {
		l.pattern = ""
	}
	return l
}

// fioSize reads 16k, 64KiB, 1m or 4096; 0 of several.
func fioSize(text string) int64 {
	digits := strings.TrimRight(strings.ToLower(text), "kmib")
	n := int64(count(digits))
	if n > 1<<30 {
		return 0
	}
	switch unit := strings.ToLower(text[len(digits):]); {
	case unit == "" || unit == "b":
		return n
	case unit[0] == 'k':
		return n << 10
	case unit[0] == 'm':
		return min(n, 1<<20) << 20
	}
	return 0
}

// blockOf is the size of a request by what was done, where that is a power of two within a hundredth.
func blockOf(bytes, iops float64) int64 {
	if iops <= 0 || bytes <= 0 || bytes/iops > 1<<40 {
		return 0
	}
	each := uint64(bytes/iops + 0.5)
	if each < 512 {
		return 0
	}
	near := uint64(1) << (bits.Len64(each+each/3) - 1)
	if d := float64(each) / float64(near); d < 0.99 || d > 1.01 {
		return 0
	}
	return int64(near)
}

// direction is reads, writes or syncs of all entries of a job.
type direction struct {
	seconds, iops, mbps float64
	ios                 float64
	lat                 result.Latency
	times               stat.Histogram
}

// add takes in an entry.
func (d *direction) add(f fioDirection) error {
	t, unit := f.LatNS, 1000.0
	clat := f.ClatNS
	if t == nil && clat == nil {
		t, clat, unit = f.Lat, f.Clat, 1
	}
	if t == nil {
		t = clat
	}
	ios := max(f.IOs, f.IOPS*f.Runtime/1000)
	if t != nil && ios == 0 && t.Mean > 0 {
		ios = 1 // syncs: fio counts none, and times them
	}
	if ios <= 0 {
		return nil
	}
	band := f.BandBytes
	if band == 0 {
		band = f.Band * 1024
	}
	d.seconds, d.iops, d.mbps = max(d.seconds, f.Runtime/1000), d.iops+f.IOPS, d.mbps+band/1e6
	if t == nil {
		d.ios += ios
		return nil
	}
	d.lat.Mean = (d.lat.Mean*d.ios + t.Mean/unit*ios) / (d.ios + ios)
	if least := t.Min / unit; d.ios == 0 || least < d.lat.Min {
		d.lat.Min = least
	}
	d.lat.Max = max(d.lat.Max, t.Max/unit)
	d.ios += ios
	percentiles := t.Percentiles
	if len(percentiles) == 0 && clat != nil {
		percentiles = clat.Percentiles
	}
	for _, p := range []struct {
		to  *float64
		key string
	}{{&d.lat.P50, "50.000000"}, {&d.lat.P95, "95.000000"}, {&d.lat.P99, "99.000000"}, {&d.lat.P999, "99.900000"}} {
		if v := percentiles[p.key] / unit; v > 0 {
			*p.to = v
		}
	}
	bins := t.Bins
	if len(bins) == 0 && clat != nil {
		bins = clat.Bins
	}
	for text, n := range bins {
		ns, err := strconv.ParseUint(text, 10, 63)
		if err != nil || n > 1<<50 {
			return fmt.Errorf("its histogram has a bucket %q of %d", text, n)
		}
		if n > 0 {
			d.times = append(d.times, stat.Bucket{ns * uint64(1000/unit), n})
		}
	}
	d.times = d.times.Add(nil)
	return nil
}

// both is the latency of reads and writes together, with percentiles only where there are histograms of both.
func both(a, b direction) (result.Latency, stat.Histogram) {
	l := result.Latency{Min: min(a.lat.Min, b.lat.Min), Mean: (a.lat.Mean*a.ios + b.lat.Mean*b.ios) / (a.ios + b.ios), Max: max(a.lat.Max, b.lat.Max)}
	if len(a.times) == 0 || len(b.times) == 0 {
		return l, nil
	}
	return l, a.times.Add(b.times)
}
