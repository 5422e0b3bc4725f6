package bench

import (
	"strconv"
	"strings"
	"time"

	"stowage/bench/result"
)

// pressure is for how long, since boot, some task waited.
type pressure struct{ cpu, io time.Duration }

func (m machine) pressure() pressure {
	total := func(what string) time.Duration {
		for line := range strings.Lines(m.read("/proc/pressure/" + what)) {
			if !strings.HasPrefix(line, "some ") {
				continue
			}
			_, text, _ := strings.Cut(strings.TrimSpace(line), "total=")
			us, _ := strconv.ParseInt(text, 10, 64) // the kernel writes numbers
			return time.Duration(us) * time.Microsecond
		}
		return 0
	}
	return pressure{cpu: total("cpu"), io: total("io")}
}

// processors is what the processors did since boot, in ticks: all of it, and what the hypervisor took.
type processors struct{ all, steal float64 }

func (m machine) processors() processors {
	var p processors
	for line := range strings.Lines(m.read("/proc/stat")) {
		f := strings.Fields(line)
		if len(f) < 9 || f[0] != "cpu" {
			continue
		}
		for i, text := range f[1:9] { // user nice system idle iowait irq softirq steal
			n, _ := strconv.ParseFloat(text, 64) // the kernel writes numbers
			p.all += n
			if i == 7 {
				p.steal = n
			}
		}
		break
	}
	return p
}

// pause is how long others are listened to before each run, when we do nothing ourselves: while fio works, it is fio that waits.
const pause = 300 * time.Millisecond

// listen measures the pause. wait is time.Sleep, cut short by an interruption.
func (m machine) listen(wait func(time.Duration)) result.Disturbance {
	from, began := m.pressure(), time.Now()
	wait(pause)
	to, took := m.pressure(), time.Since(began)
	part := func(d time.Duration) float64 { return min(1, float64(d)/float64(max(took, time.Millisecond))) }
	return result.Disturbance{CPU: part(to.cpu - from.cpu), IO: part(to.io - from.io)}
}

// stealBetween is the part of the processors' time that the hypervisor took.
func stealBetween(from, to processors) float64 {
	if to.all <= from.all {
		return 0
	}
	return (to.steal - from.steal) / (to.all - from.all)
}

// slack is what the device may have read or written besides without being called a disturbance: a journal's own blocks.
const slack = mib

// compareCounts holds what the kernel counted at the device against what fio says.
func compareCounts(c *result.Check, from, to counters, seconds float64) {
	c.Read, c.Written, c.Flushes = to.read-from.read, to.written-from.written, to.flushes-from.flushes
	ours, device := c.FioRead+c.FioWritten, c.Read+c.Written
	// Each direction by itself: what others write must not be in for what we read.
	short := func(device, fio int64) bool { return float64(device) < 0.95*float64(fio) && fio-device > slack }
	c.Short = short(c.Read, c.FioRead) || short(c.Written, c.FioWritten)
	if beyond := device - ours; beyond > slack && device > 0 {
		c.Foreign = float64(beyond) / float64(device)
	}
	if seconds > 0 {
		c.Utilisation = min(1, float64(to.busy-from.busy)/1000/seconds)
	}
}
