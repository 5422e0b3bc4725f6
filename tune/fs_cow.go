package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

var fsCopyOnWrite = Rule{
	ID: "FS-COW", Title: "data directories on copy-on-write filesystems", Reads: "/proc/mounts below each data directory",
	Source: "btrfs(5): nodatacow implies no checksums; measured: btrfs 237 and 380 durable writes a second with and without, inconclusive",
	Except: "snapshots that are wanted; ZFS with recordsize=16k and its own log device",
	Prove:  "RND16K-W-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, i := range f.Instances {
			m, ok := f.mountOf(i.Datadir)
			if i.Datadir == "" || !ok {
				continue
			}
			n++
			if m.Type != "btrfs" && m.Type != "zfs" {
				continue
			}
			x := Finding{Severity: farm.Warning, Subject: i.Name, Read: fmt.Sprintf("%s is on %s: %s %s", i.Datadir, m.Type, m.Dir, strings.Join(m.Options, ",")),
				Verdict: "every page that is changed goes to a new place: files fall to pieces, and writes grow",
				Why:     "InnoDB overwrites in place and keeps its own copies; a filesystem that never does pays for both",
				Fix:     "chattr +C on the empty data directory before it is filled, or XFS", Persist: "the attribute lasts for files made after it", Revert: "-"}
			if m.Type == "zfs" {
				x.Fix, x.Persist, x.Revert = "recordsize=16k, logbias=throughput, primarycache=metadata on an empty dataset, or XFS", "properties last", "zfs inherit"
			}
			if _, ok := m.has("nodatacow"); ok {
				x.Severity, x.Verdict = farm.Note, "nodatacow: in place again, and without checksums"
				x.Why = "the option switches the checksums of data off, too; InnoDB has its own for pages"
				x.Fix, x.Persist, x.Revert = "nothing, if you know it", "-", "-"
			}
			out = append(out, x)
		}
		return judged(out, n, "no instance with a known data directory")
	},
}
