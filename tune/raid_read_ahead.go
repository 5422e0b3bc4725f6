package tune

import (
	"fmt"

	"stowage/farm"
)

var raidReadAhead = Rule{
	ID: "RAID-RA", Title: "a RAID controller's read-ahead", Reads: "storcli, perccli, perccli2 or MegaCli: cache policy of each volume; media of the drives",
	Source: "Broadcom, MegaRAID for SSDs: no read ahead, direct I/O; InnoDB reads ahead by itself, by extents",
	Except: "volumes of spinning disks; scans and backups on any",
	Check: func(f *Facts) Outcome {
		l := &look{}
		l.unanswered(f)
		for _, c := range f.Controllers {
			if !c.readsAhead() {
				continue
			}
			if c.VolumesMissing != "" {
				l.lacks(c.name(), "its volumes and their cache policy: "+c.VolumesMissing, c.askVolumes())
			}
			for _, v := range c.Volumes {
				name := c.name() + " volume " + v.ID
				l.see(name)
				switch media := c.media(); {
				case v.ReadAhead == ReadAheadHidden:
					l.lacks(name, "its read policy", c.askVolumes())
				case v.ReadAhead == ReadsNoMore || media == "HDD":
				case media == "":
					l.lacks(name, "whether its drives are flash", c.askDrives())
				default:
					l.find(Finding{Severity: farm.Note, Subject: name, Read: fmt.Sprintf("%s, %s of flash: reads ahead", c.Model, v.Level),
						Verdict: "it reads what nobody has asked for, from drives that lose no time by being asked again",
						Why:     "read-ahead hides the time a head takes to move; flash has none, and a database reads at random",
						Fix:     c.fill(c.words().noAhead, lastPart(v.ID)), Persist: "the controller keeps it", Revert: "the same with ra, or RA"})
				}
			}
		}
		return l.outcome("no RAID controller that reads ahead answered")
	},
}

// readsAhead reports whether controllers of this tool have a policy of reading ahead at all.
func (c Controller) readsAhead() bool { return c.words().noAhead != "" }

// media is what all drives of a controller are made of; "" when they differ, or one does not tell.
func (c Controller) media() string {
	if len(c.Drives) == 0 || c.DrivesMissing != "" {
		return ""
	}
	for _, d := range c.Drives {
		if d.Media != c.Drives[0].Media {
			return ""
		}
	}
	return c.Drives[0].Media
}
