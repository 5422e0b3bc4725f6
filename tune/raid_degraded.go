package tune

import (
	"fmt"

	"stowage/farm"
)

var raidDegraded = Rule{
	ID: "RAID-DEGR", Title: "arrays that are not whole", Reads: "/sys/block/mdN/md/{degraded,sync_action}; state of volumes and drives, patrol reads",
	Source: "arithmetic: one more lost device, and the data is gone; a rebuild takes the disks' time, so that nothing can be measured",
	Except: "a study of a degraded array",
	Check: func(f *Facts) Outcome {
		var out []Finding
		say := func(subject, read, verdict string) {
			out = append(out, Finding{Severity: farm.Blocker, Subject: subject, Read: read, Verdict: verdict,
				Why: "move nothing onto it and measure nothing on it until it is whole", Fix: "replace what failed, and let the rebuild end", Persist: "-", Revert: "-"})
		}
		n := 0
		for _, a := range f.Arrays {
			n++
			if a.Degraded > 0 {
				say(a.Name, fmt.Sprintf("/sys/block/%s/md/degraded: %d, %s of %d disks", a.Name, a.Degraded, a.Level, a.Disks), "it runs without all of its disks")
			}
			if a.Action != "" && a.Action != "idle" && a.Action != "frozen" {
				say(a.Name, fmt.Sprintf("/sys/block/%s/md/sync_action: %s", a.Name, a.Action), "md is busy with its disks: "+a.Action)
			}
		}
		for _, c := range f.Controllers {
			n++
			name := fmt.Sprintf("%s %d", c.Tool, c.Number)
			for _, v := range c.Volumes {
				if !v.Optimal {
					say(name+" volume "+v.ID, fmt.Sprintf("%s: %s", v.Level, v.State), "the volume is not optimal")
				}
			}
			for _, d := range c.Drives {
				switch {
				case d.Failed:
					say(name+" drive "+d.ID, d.Model+": "+d.State, "the drive has failed")
				case d.Rebuilding:
					say(name+" drive "+d.ID, d.Model+": "+d.State, "a rebuild is running")
				}
			}
			if c.Busy != "" {
				say(name, c.Busy, "the controller reads all its disks just now")
			}
		}
		return judged(out, n, "no md array and no RAID controller")
	},
}
