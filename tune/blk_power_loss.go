package tune

import (
	"fmt"

	"stowage/farm"
)

var blkPowerLoss = Rule{
	ID: "BLK-PLP", Title: "what a commit costs on the device", Reads: "measured LOG4K-FDS; /sys/block/D/queue/write_cache and fua",
	Source: "Percona 2018: a consumer drive gives about 300 fsync a second; smalldatum 2026-01: drives with protection may still report a volatile cache, so measure",
	Except: "replicas with relaxed flushing",
	Prove:  "LOG4K-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, d := range f.storage() {
			id, s, ok := f.Measured[d.Name].step("LOG4K-FDS")
			if !ok || s.Lat.P50 <= 0 {
				continue
			}
			n++
			x := Finding{Severity: farm.Warning, Subject: d.Name, Read: fmt.Sprintf("%s: p50 %.0f us, p99 %.0f us; write_cache: %s", id, s.Lat.P50, s.Lat.P99, d.Queue["write_cache"]),
				Persist: "-", Revert: "-"}
			is, _, _ := f.flash(d)
			switch {
			case is && s.Lat.P50 > 1000:
				x.Verdict = fmt.Sprintf("no power-loss protection: a durable commit takes %.1f ms here", s.Lat.P50/1000)
				x.Why = "without protected memory a flush waits for the flash itself; the log is flushed at every commit, and all other figures of this disk matter less"
				x.Fix = "a drive with power-loss protection, or a controller with a battery; until then group commit is what helps (more clients at once)"
			case d.Queue["write_cache"] == "write back" && s.Lat.P50 < 20:
				x.Verdict = "a flush is faster than any flash: verify that it happens at all"
				x.Why = "a volatile cache is reported, and a flush of it costs next to nothing; some drives and hypervisors answer before the data is safe"
				x.Fix = "pull the plug while a test writes, and compare afterwards; until then count on losing what was acknowledged in the last seconds"
			default:
				continue
			}
			out = append(out, x)
		}
		return judged(out, n, "not measured: give a benchmark with --measured DISK=FILE")
	},
}
