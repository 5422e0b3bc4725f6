package tune

import (
	"fmt"

	"stowage/farm"
)

var blkRotational = Rule{
	ID: "BLK-ROT", Title: "what the kernel takes a disk for", Reads: "/sys/block/D/queue/rotational, smartctl rotation_rate, media of the RAID controller's drives, measured random reads",
	Source: "MariaDB reads this file (fil0fil: neighbors && is_rotational) and lets it decide about flush_neighbors; MySQLTuner #957: SSD behind MegaRAID taken for a hard disk",
	Except: "a real hard disk",
	Prove:  "RND16K-R-Q1T1",
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, d := range f.storage() {
			kernel := d.Queue["rotational"]
			is, known, says := f.flashWithoutKernel(d)
			if d.guest() && !known {
				continue
			}
			if l.see(d.Name); kernel != "0" && kernel != "1" || !known {
				l.lacks(d.Name, "whether it spins, from the kernel and from a second source", "cat "+d.attribute("rotational")+"; "+d.askMedium())
				continue
			}
			if kernel != "1" || !is {
				continue
			}
			x := Finding{Severity: farm.Warning, Subject: d.Name, Read: fmt.Sprintf("%s: 1; %s", d.attribute("rotational"), says),
				Verdict: "the kernel takes a disk without moving parts for a spinning one",
				Why:     "MariaDB and tuning programs believe it: neighbours are flushed, read-ahead and schedulers are chosen for a moving head"}
			fixFile(&x, d.set("rotational", "0"), udev(d, "rotational", "0"))
			l.find(x)
		}
		return l.outcome("nothing here knows better than the kernel what the disks are made of: no SMART, no RAID controller, no measurement")
	},
}
