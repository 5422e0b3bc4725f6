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
		l := &look{}
		say := func(subject, read, verdict string) {
			l.find(Finding{Severity: farm.Blocker, Subject: subject, Read: read, Verdict: verdict,
				Why: "move nothing onto it and measure nothing on it until it is whole", Fix: "replace what failed, and let the rebuild end", Persist: "-", Revert: "-"})
		}
		for _, a := range f.Arrays {
			l.see(a.Name)
			if a.redundant() && (a.Degraded < 0 || a.Action == "") {
				l.lacks(a.Name, fmt.Sprintf("/sys/block/%s/md/degraded or sync_action", a.Name), "mdadm --detail /dev/"+a.Name+" as root")
			}
			if a.Degraded > 0 {
				say(a.Name, fmt.Sprintf("/sys/block/%s/md/degraded: %d, %s of %d disks", a.Name, a.Degraded, a.Level, a.Disks), "it runs without all of its disks")
			}
			if a.Action != "" && a.Action != "idle" && a.Action != "frozen" {
				say(a.Name, fmt.Sprintf("/sys/block/%s/md/sync_action: %s", a.Name, a.Action), "md is busy with its disks: "+a.Action)
			}
		}
		l.unanswered(f)
		for _, c := range f.Controllers {
			l.see(c.name())
			c.whole(l, say)
		}
		return l.outcome("no md array and no RAID controller")
	},
}

// redundant: arrays of the other levels lose data with their first disk, and md
// keeps no count of what they miss.
func (a Array) redundant() bool {
	return a.Level != "raid0" && a.Level != "linear"
}

// whole judges a controller's volumes and drives.
func (c Controller) whole(l *look, say func(subject, read, verdict string)) {
	if c.VolumesMissing != "" {
		l.lacks(c.name(), "its volumes and their states: "+c.VolumesMissing, c.askVolumes())
	}
	if c.DrivesMissing != "" {
		l.lacks(c.name(), "its drives and their states: "+c.DrivesMissing, c.askDrives())
	}
	for _, v := range c.Volumes {
		l.see(c.name() + " volume " + v.ID)
		switch {
		case v.State == "":
			l.lacks(c.name()+" volume "+v.ID, "its state", c.askVolumes())
		case !v.Optimal:
			say(c.name()+" volume "+v.ID, fmt.Sprintf("%s: %s", v.Level, v.State), "the volume is not optimal")
		}
	}
	for _, d := range c.Drives {
		l.see(c.name() + " drive " + d.ID)
		switch {
		case d.State == "":
			l.lacks(c.name()+" drive "+d.ID, "its state", c.askDrives())
		case d.Failed:
			say(c.name()+" drive "+d.ID, d.Model+": "+d.State, "the drive has failed")
		case d.Unsupported:
			l.find(Finding{Severity: farm.Warning, Subject: c.name() + " drive " + d.ID, Read: d.Model + ": " + d.State, Verdict: "the controller does not support this drive, and will not use it",
				Why: "a spare that cannot be used is noticed when it is needed", Fix: "replace it by a drive that the controller's maker lists", Persist: "-", Revert: "-"})
		case d.Rebuilding:
			say(c.name()+" drive "+d.ID, d.Model+": "+d.State, "a rebuild is running")
		case !d.Sound:
			l.lacks(c.name()+" drive "+d.ID, fmt.Sprintf("what its state %q means", d.State), c.askDrives())
		}
	}
	if c.Ailing != "" {
		say(c.name(), c.Ailing, "the controller says itself that something is wrong with it")
	}
	if c.Busy != "" {
		say(c.name(), c.Busy, "the controller is reading all its disks now")
	}
}
