package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

var fsNoBarrier = Rule{
	ID: "FS-NOBARRIER", Title: "filesystems that do not flush", Reads: "/proc/mounts and /etc/fstab: nobarrier, barrier=0 on ext3, ext4 and btrfs",
	Source: "kernel, ext4: barriers may be disabled only where all caches are battery-backed; measured: 17 times as many durable writes without, because they are not durable",
	Except: "every device below keeps its cache over a power cut; then there is little to gain either",
	Prove:  "LOG4K-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		look := func(m Mount, where string) {
			if m.Type != "ext3" && m.Type != "ext4" && m.Type != "btrfs" {
				return
			}
			n++
			option, ok := m.has("nobarrier", "barrier=0")
			if !ok {
				return
			}
			x := Finding{Severity: farm.Blocker, Subject: m.Dir, Read: fmt.Sprintf("%s: %s %s %s", where, m.Dir, m.Type, strings.Join(m.Options, ",")),
				Verdict: "fsync flushes nothing here: a power cut loses acknowledged commits, and may break the filesystem",
				Why:     "the speed that nobarrier brings is the flush that it leaves out"}
			if f.protected(m.Device) {
				x.Severity, x.Verdict = farm.Note, "fsync does not flush; the RAID controller's battery makes that safe, until it is bad"
				x.Why = "with a healthy battery a flush costs next to nothing, so there is nothing to gain by leaving it out"
			}
			on := "barrier=1"
			if m.Type == "btrfs" {
				on = "barrier"
			}
			fixMount(&x, m.Dir, on, "take "+option+" out", option)
			out = append(out, x)
		}
		mounted := map[string]bool{}
		for _, m := range f.kept() {
			mounted[m.Dir] = true
			look(m, "/proc/mounts")
		}
		for _, l := range f.Fstab {
			if !mounted[l.Dir] {
				look(l.Mount, fmt.Sprintf("/etc/fstab:%d", l.Number))
			}
		}
		return judged(out, n, "no ext3, ext4 or btrfs")
	},
}

// protected reports whether all disks below a device are a RAID controller's
// and all its caches are guarded by a healthy battery.
func (f *Facts) protected(device string) bool {
	below := f.below(device)
	for _, d := range below {
		if !d.RAID() {
			return false
		}
	}
	for _, c := range f.Controllers {
		if !c.guarded() {
			return false
		}
	}
	return len(below) > 0 && len(f.Controllers) > 0
}
