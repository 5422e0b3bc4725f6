package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

var fsExt4Data = Rule{
	ID: "FS-EXT4-DATA", Title: "ext4 and the journal", Reads: "/proc/mounts and /etc/fstab: data=",
	Source: "kernel, ext4: data=journal disables delayed allocation and O_DIRECT; data=writeback may show old data after a crash",
	Except: "throw-away data",
	Prove:  "RND16K-W-Q8T4",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		look := func(m Mount, where string) {
			if m.Type != "ext3" && m.Type != "ext4" {
				return
			}
			n++
			x := Finding{Severity: farm.Warning, Subject: m.Dir, Read: fmt.Sprintf("%s: %s %s", where, m.Dir, strings.Join(m.Options, ",")),
				Fix: "take data= out of /etc/fstab and mount anew; it cannot be remounted", Persist: "/etc/fstab is what lasts", Revert: "put it back, mount anew"}
			if _, ok := m.has("data=journal"); ok {
				x.Verdict = "every page is written twice by the filesystem, on top of InnoDB's doublewrite"
				x.Why = "data=journal sends all data through the journal; O_DIRECT is silently not direct any more, so pages are cached twice as well"
			} else if _, ok := m.has("data=writeback"); ok {
				x.Verdict = "after a crash a file may hold what was on the disk before it"
				x.Why = "data=writeback writes the length of a file before its content. For InnoDB, which preallocates, the gain is near nothing"
			} else {
				return
			}
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
		return judged(out, n, "no ext3 or ext4")
	},
}
