package tune

import (
	"fmt"

	"stowage/farm"
)

var raidDriveCache = Rule{
	ID: "RAID-DISK", Title: "the drives' own caches behind a RAID controller", Reads: "storcli, perccli (/cALL/vALL show all J), MegaCli, ssacli or arcconf: disk cache policy; write_cache of the drives (smartctl)",
	Source: "the controllers' manuals: the battery keeps the controller's memory, and a drive's own memory is lost with the power",
	Except: "drives with power-loss protection; throw-away data",
	Check: func(f *Facts) Outcome {
		l := &look{}
		l.unanswered(f)
		for _, c := range f.Controllers {
			if c.VolumesMissing != "" {
				l.lacks(c.name(), "its volumes and what becomes of their drives' caches: "+c.VolumesMissing, c.askVolumes())
			}
			for _, v := range c.Volumes {
				name := c.name() + " volume " + v.ID
				l.see(name)
				is, from := c.driveCache(v)
				switch is {
				case DriveCacheOff:
				case DriveCacheOn:
					l.find(Finding{Severity: farm.Warning, Subject: name, Read: fmt.Sprintf("%s, %s: cache of its drives: on (%s)", c.Model, v.Level, from),
						Verdict: "a power cut loses what is in the drives' own caches, unless the drives protect it",
						Why:     "the battery keeps the controller's memory, not the drives'; for the controller, what a drive has taken is written",
						Fix:     c.fill(c.words().drivesOff, lastPart(v.ID)), Persist: "the controller keeps it", Revert: "the same with on, or enable"})
				case DriveCacheDefault:
					l.lacks(name, "whether its drives' own caches are on: the controller leaves that to the drives", c.askDriveCaches())
				default:
					l.lacks(name, "whether its drives' own caches are on", c.askDiskCachePolicy())
				}
			}
		}
		return l.outcome("no RAID controller answered")
	},
}

// driveCache is what is known of the caches of a volume's drives, and who says so. What a controller leaves to the drives, these may tell: all of
// them, for which of them are the volume's is not known of every controller.
func (c Controller) driveCache(v Volume) (DriveCache, string) {
	is, from := v.DriveCache, "set for the volume"
	if is == DriveCacheHidden {
		is, from = c.DriveCache, "set for the controller"
	}
	if is == DriveCacheOn || is == DriveCacheOff {
		return is, from
	}
	off := len(c.Drives) > 0 && c.DrivesMissing == ""
	for _, d := range c.Drives {
		if d.Cache == DriveCacheOn {
			return DriveCacheOn, "drive " + d.ID
		}
		off = off && d.Cache == DriveCacheOff
	}
	if off {
		return DriveCacheOff, "all drives"
	}
	return is, from
}

// askDriveCaches is the command that tells what a drive's default has come to.
func (c Controller) askDriveCaches() string {
	if device := c.SmartDevice(0); device != "" {
		return "smartctl -x -d " + device + " on a disk of this controller, for each drive"
	}
	return c.askDrives()
}
