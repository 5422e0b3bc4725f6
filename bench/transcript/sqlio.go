package transcript

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"

	"stowage/internal/lazy"
)

// What SQLIO (v1.5.SG) prints of a run, line by line. Files that hold one run after the other, as its batch scripts made them, are usual.
var (
	sqlioWhat    = lazy.Regexp(`^(\d+) threads? (reading|writing) for (\d+) secs (?:from|to) file (.+)$`)
	sqlioBlock   = lazy.Regexp(`^using (\d+)KB (random|sequential) IOs$`)
	sqlioDepth   = lazy.Regexp(`with (\d+) outstanding$`)
	sqlioBuffers = lazy.Regexp(`^buffering set to (.+)$`)
)

const sqlioLast = 24 // "24+": how much longer nobody counted

// parseSQLIO reads all runs. A run ends with its histogram, or with the next.
func parseSQLIO(text []byte) (printed, error) {
	p := printed{tool: "SQLIO"}
	var now *run
	var bounds []string
	line := 0
	finish := func() error {
		if now == nil {
			return nil
		}
		if now.iops == 0 {
			return faultAt(now.line, "the run that begins here has no IOs/sec: it was cut short")
		}
		p.runs, now = append(p.runs, *now), nil
		return nil
	}
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line++
		said := strings.TrimSpace(in.Text())
		if m := sqlioWhat().FindStringSubmatch(said); m != nil {
			if err := finish(); err != nil {
				return p, err
			}
			now = &run{line: line, on: m[4], load: load{op: map[string]string{"reading": "R", "writing": "W"}[m[2]], q: 1}}
			now.t, now.seconds = count(m[1]), float64(count(m[3]))
			continue
		}
		key, value, isFigure := strings.Cut(said, ":")
		if now == nil {
			if isFigure && key == "IOs/sec" {
				return p, faultAt(line, "figures without a line such as \"2 threads reading for 120 secs from file E:\\test.dat\" before them: what was measured is not known")
			}
			continue
		}
		if m := sqlioBlock().FindStringSubmatch(said); m != nil {
			now.block, now.pattern = int64(count(m[1]))<<10, map[string]string{"random": "RND", "sequential": "SEQ"}[m[2]]
		} else if m := sqlioDepth().FindStringSubmatch(said); m != nil {
			now.q = count(m[1])
		} else if m := sqlioBuffers().FindStringSubmatch(said); m != nil && !strings.Contains(m[1], "but not file cache") && !strings.Contains(m[1], "not use") {
			now.notes = append(now.notes, "buffering was set to "+m[1]+": some cache may have answered")
		}
		if !isFigure {
			continue
		}
		switch key {
		case "IOs/sec", "MBs/sec", "Min_Latency(ms)", "Avg_Latency(ms)", "Max_Latency(ms)":
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || v < 0 {
				return p, faultAt(line, "%s wants a number, not %q", key, strings.TrimSpace(value))
			}
			switch key {
			case "IOs/sec":
				now.iops = v
				if now.op == "R" {
					now.reads = v
				}
			case "MBs/sec":
				now.mbps = v * (1 << 20) / 1e6
			case "Avg_Latency(ms)":
				now.lat.Mean = v * 1000
			case "Max_Latency(ms)":
				now.lat.Max = v * 1000
			}
		case "ms":
			bounds = strings.Fields(value)
		case "%":
			if err := now.percentiles(bounds, strings.Fields(value)); err != nil {
				return p, faultAt(line, "%s", err.Error())
			}
			if err := finish(); err != nil {
				return p, err
			}
		}
	}
	if err := in.Err(); err != nil {
		return p, faultAt(line+1, "a line is too long: %v", err)
	}
	if err := finish(); err != nil {
		return p, err
	}
	if len(p.runs) == 0 {
		return p, faultAt(line, "there is no run in it")
	}
	return p, nil
}

// percentiles reads the histogram, whose buckets are whole milliseconds and whose counts are whole percents: p50 and p95 are the upper end of the millisecond
// that they fell into. p99 cannot be had from whole percents.
func (x *run) percentiles(bounds, shares []string) error {
	if len(bounds) == 0 || len(bounds) != len(shares) {
		return faultAt(0, "the histogram has %d bounds and %d shares", len(bounds), len(shares))
	}
	upper := func(part int) float64 {
		seen := 0
		for i, text := range shares {
			if seen += count(text); seen >= part {
				if i >= sqlioLast || strings.HasSuffix(bounds[i], "+") {
					return 0 // longer than anybody counted
				}
				return float64(count(bounds[i])+1) * 1000
			}
		}
		return 0
	}
	x.lat.P50, x.lat.P95 = upper(50), upper(95)
	for _, v := range []*float64{&x.lat.P50, &x.lat.P95} {
		if x.lat.Max > 0 {
			*v = min(*v, x.lat.Max)
		}
	}
	x.notes = append(x.notes, "SQLIO counts in whole milliseconds and whole percents: p50 and p95 are the end of the millisecond that they fell into")
	return nil
}

// count is a number of digits; 0 of anything else.
func count(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}
