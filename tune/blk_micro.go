package tune

import (
	"fmt"
	"strconv"

	"stowage/farm"
)

// queueDefaults are settings that tuning pages touch, with the values of
// kernels 5.x and 6.x for multi-queue devices, and the step that shows what they
// do where it is not the rule's own. sysfs-block has what they mean.
var queueDefaults = []struct{ name, want, prove, why string }{
	{"iostats", "1", "", "with it off the counters in /sys/block/D/stat stand still: iostat, Stowage and the cross-check of a benchmark see nothing. It saves some nanoseconds a request"},
	{"nomerges", "0", "SEQ16K-R-Q32T1", "merging adjacent requests costs little and saves whole requests for logs and scans"},
	{"rq_affinity", "1", "", "the default completes a request on the group of processors that asked for it; 2 forces the very same one, which matters above a million requests a second"},
	{"add_random", "0", "", "it feeds each completion's time into the entropy pool; kernels set it to 0 for anything but spinning disks"},
}

var blkMicro = Rule{
	ID: "BLK-MICRO", Title: "small switches of the queue", Reads: "/sys/block/D/queue/{iostats,nomerges,rq_affinity,add_random,max_sectors_kb,max_hw_sectors_kb}",
	Source: "kernel, sysfs-block; measured: add_random is 0 already on current kernels",
	Except: "hosts with more than a million requests a second; add_random on spinning disks; arrays whose vendor asks for a small max_sectors_kb",
	Prove:  "RND16K-R-Q32T4",
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, d := range f.storage() {
			is, _, _ := f.flash(d)
			for _, s := range queueDefaults {
				now, there := d.Queue[s.name]
				if !there {
					continue // kernels differ
				}
				if l.see(d.Name); number(now) < 0 {
					l.lacks(d.Name, "its "+s.name, "cat "+d.attribute(s.name))
					continue
				}
				if now == s.want || s.name == "add_random" && !is || s.name == "rq_affinity" && d.guest() {
					continue
				}
				x := Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("%s: %s", d.attribute(s.name), now), Prove: s.prove,
					Verdict: fmt.Sprintf("%s is not at its default, and nothing here says why", s.name), Why: s.why}
				if s.name == "iostats" {
					x.Severity, x.Verdict = farm.Warning, "the disk is not counted: its work cannot be seen"
				}
				fixFile(&x, d.set(s.name, s.want), udev(d, s.name, s.want))
				l.find(x)
			}
			for _, name := range []string{"max_sectors_kb", "max_hw_sectors_kb"} {
				if now, there := d.Queue[name]; there && number(now) < 0 {
					l.lacks(d.Name, "its "+name, "cat "+d.attribute(name))
				}
			}
			if x, ok := cutSmall(d); ok {
				l.find(x)
			}
		}
		return l.outcome("no disk with these settings")
	},
}

// usualSectors is the largest max_sectors_kb that kernels chose by themselves for twenty years; newer ones go to 4096.
const usualSectors = 1280

// number is -1 where there is none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// cutSmall: the disk takes large requests, and somebody has them cut into small ones.
func cutSmall(d Disk) (Finding, bool) {
	now, err := strconv.Atoi(d.Queue["max_sectors_kb"])
	device, err2 := strconv.Atoi(d.Queue["max_hw_sectors_kb"])
	if err != nil || err2 != nil || now <= 0 || now >= 256 || device < 2*now {
		return Finding{}, false
	}
	x := Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("%s: %d; the device takes %d", d.attribute("max_sectors_kb"), now, device), Prove: "SEQ1M-R-Q8T1",
		Verdict: fmt.Sprintf("scans and backups are cut into pieces of %d KiB", now),
		Why:     "each piece is a request and an interrupt; a small limit only helps devices that handle large requests badly"}
	to := strconv.Itoa(min(device, usualSectors))
	fixFile(&x, d.set("max_sectors_kb", to), udev(d, "max_sectors_kb", to))
	return x, true
}
