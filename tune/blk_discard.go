package tune

import (
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
)

var blkDiscard = Rule{
	ID: "BLK-DISCARD", Title: "telling flash what is free", Reads: "/proc/mounts, fstrim.timer, /sys/block/D/queue/discard_max_bytes",
	Source: "kernel, xfs: the impact of discard on performance is severe, fstrim is recommended; ext4 by analogy",
	Except: "thin volumes under pressure for space; btrfs, where discard=async is the default",
	Prove:  "RND16K-W-Q8T4",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, m := range f.kept() {
			if !trims(f.below(m.Device)) || m.Type == "btrfs" || m.Type == "zfs" {
				continue
			}
			n++
			at := fmt.Sprintf("/proc/mounts: %s %s %s", m.Dir, m.Type, strings.Join(m.Options, ","))
			if _, ok := m.has("discard"); ok {
				x := Finding{Severity: farm.Note, Subject: m.Dir, Read: at, Verdict: "every file that is removed is discarded at once: DROP TABLE waits for it",
					Why: "discards go to the device one by one, in the middle of the work; fstrim does the same in one go, at night"}
				if m.Type == "xfs" {
					x.Severity = farm.Warning
				}
				fixMount(&x, m.Dir, "nodiscard", "take discard out; systemctl enable --now fstrim.timer", "discard")
				out = append(out, x)
				continue
			}
			if f.Systemd && !f.TrimTimer {
				out = append(out, Finding{Severity: farm.Warning, Subject: m.Dir, Read: at + "; no fstrim.timer in timers.target.wants", Verdict: "the flash never learns what is free",
					Why: "a drive that takes all of itself for used has nothing to move its blocks to, and writes get slower and wear more",
					Fix: "systemctl enable --now fstrim.timer", Persist: "enabling lasts", Revert: "systemctl disable --now fstrim.timer"})
			}
		}
		return judged(out, n, "no ext4 or XFS on a disk that can discard")
	},
}

func trims(disks []Disk) bool {
	return slices.ContainsFunc(disks, func(d Disk) bool { n := d.Queue["discard_max_bytes"]; return n != "" && n != "0" })
}
