package tune

import (
	"fmt"

	"stowage/farm"
)

var dbNeighbors = Rule{
	ID: "DB-NEIGH", Title: "flushing neighbours", Reads: "innodb_flush_neighbors; what the disk below the data directory is made of, and what the kernel takes it for",
	Source: "MySQL 8.0: default 0 (WL#9631); MariaDB: ignored on SSD since 10.4.4, as far as the kernel knows one (fil0fil: is_rotational)",
	Except: "spinning disks",
	Prove:  "OLTP-W",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, i := range f.Instances {
			value, where, ok := i.setting("innodb_flush_neighbors")
			below := f.under(i.Datadir)
			if !ok || len(below) == 0 {
				continue
			}
			is, known, says := f.flash(below[0])
			if !known {
				continue
			}
			n++
			if value == "0" || !is {
				continue
			}
			x := Finding{Severity: farm.Warning, Subject: i.Name, Read: fmt.Sprintf("%s; %s: flash, says %s", where, below[0].Name, says),
				Verdict: "each page that is written takes its dirty neighbours along: more writes, more wear",
				Why:     "it saves movements of a head, and here is none"}
			if i.MariaDB && below[0].Queue["rotational"] == "0" {
				x.Severity, x.Verdict = farm.Note, "MariaDB ignores it here, because the kernel says that the disk is flash"
				x.Why = "0 says so openly"
			} else if i.MariaDB {
				x.Verdict += "; MariaDB would ignore it, if the kernel did not take the disk for a spinning one (BLK-ROT)"
			}
			fixVariable(&x, i, "innodb_flush_neighbors", "0")
			out = append(out, x)
		}
		return judged(out, n, "no instance with a known setting and a known disk")
	},
}
