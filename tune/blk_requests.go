package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

var blkRequests = Rule{
	ID: "BLK-NRQ", Title: "queue depth", Reads: "udev rules, tuned profiles and scripts that set nr_requests; /sys/block/D/queue/scheduler",
	Source: "measured on 6.18: with scheduler none a value above the device's tags gives EINVAL",
	Except: "RAID of spinning disks with mq-deadline, where a deeper queue sorts better",
	Prove:  "RND16K-R-Q32T4",
	Check: func(f *Facts) Outcome {
		var none []string
		for _, d := range f.storage() {
			if d.Scheduler() == "none" {
				none = append(none, d.Name)
			}
		}
		var out []Finding
		n := 0
		for _, l := range f.Lines {
			if !strings.Contains(l.Text, "nr_requests") {
				continue
			}
			n++
			if len(none) == 0 {
				continue
			}
			out = append(out, Finding{Severity: farm.Note, Subject: l.at(), Read: l.Text,
				Verdict: fmt.Sprintf("raising nr_requests does nothing for %s, whose scheduler is none", strings.Join(none, ", ")),
				Why:     "without a scheduler the queue is the device's own, and the kernel refuses more than it has",
				Fix:     "remove the line", Persist: "it is that line that lasts", Revert: "put the line back"})
		}
		return judged(out, n, "nothing sets nr_requests")
	},
}
