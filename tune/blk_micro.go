package tune

import (
	"fmt"

	"stowage/farm"
)

// queueDefaults are settings that tuning pages touch, with the values of
// kernels 5.x and 6.x for multi-queue devices. sysfs-block has what they mean.
var queueDefaults = []struct{ name, want, why string }{
	{"iostats", "1", "with it off the counters in /sys/block/D/stat stand still: iostat, this program and every cross-check of a benchmark are blind, for some nanoseconds a request"},
	{"nomerges", "0", "merging adjacent requests costs little and saves whole requests for logs and scans"},
	{"rq_affinity", "1", "the default completes a request on the group of processors that asked for it; 2 forces the very same one, which matters above a million requests a second"},
	{"add_random", "0", "it feeds each completion's time into the entropy pool; kernels set it to 0 for anything but spinning disks"},
}

var blkMicro = Rule{
	ID: "BLK-MICRO", Title: "small switches of the queue", Reads: "/sys/block/D/queue/{iostats,nomerges,rq_affinity,add_random}",
	Source: "kernel, sysfs-block; measured: add_random is 0 already on current kernels",
	Except: "hosts with more than a million requests a second; add_random on spinning disks",
	Prove:  "RND16K-R-Q32T4",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, d := range f.storage() {
			is, _, _ := f.flash(d)
			for _, s := range queueDefaults {
				now := d.Queue[s.name]
				if now == "" {
					continue
				}
				n++
				if now == s.want || s.name == "add_random" && !is || s.name == "rq_affinity" && d.guest() {
					continue
				}
				x := Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("%s: %s", d.attribute(s.name), now),
					Verdict: fmt.Sprintf("%s is not at its default, and nothing here says why", s.name), Why: s.why}
				if s.name == "iostats" {
					x.Severity, x.Verdict = farm.Warning, "the disk is not counted: nobody can see what it does"
				}
				fixFile(&x, d.set(s.name, s.want), udev(d, s.name, s.want))
				out = append(out, x)
			}
		}
		return judged(out, n, "no disk with these settings")
	},
}
