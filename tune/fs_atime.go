package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

var fsAtime = Rule{
	ID: "FS-ATIME", Title: "times of last access", Reads: "/proc/mounts",
	Source: "mount(8): relatime is the default since Linux 2.6.30",
	Except: "programs that need exact times of access",
	Prove:  "FILES4K-R",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, m := range f.kept() {
			if m.Type == "zfs" {
				continue // a property of the dataset
			}
			n++
			x := Finding{Severity: farm.Warning, Subject: m.Dir, Read: fmt.Sprintf("/proc/mounts: %s %s", m.Dir, strings.Join(m.Options, ","))}
			_, relaxed := m.has("relatime", "noatime", "ro")
			_, redundant := m.has("nodiratime")
			_, none := m.has("noatime", "ro")
			switch {
			case !relaxed:
				x.Verdict = "every read of a file is a write of its time"
				x.Why = "strictatime was asked for. The default, relatime, is as good as noatime for a database: at most one write a file a day"
				fixMount(&x, m.Dir, "noatime", "noatime in the options of "+m.Dir, "strictatime")
				x.Change = &Change{Mount: m.Dir, From: "strictatime", To: "noatime"}
			case redundant && none:
				x.Severity = farm.Note
				x.Verdict = "nodiratime beside noatime does nothing"
				x.Why = "noatime includes directories. Both were advice once; relatime, the default, has made the difference too small to measure"
				x.Fix, x.Persist, x.Revert = "nothing needs to be done", "-", "-"
			case !none && f.asked(m):
				x.Severity = farm.Note
				x.Verdict = "relatime writes a file's time at most once a day; whether noatime is felt here is to be measured"
				x.Why = "it is the default since 2009 and cheap; on a directory of many small files the one write a day is all there is to save"
				fixMount(&x, m.Dir, "noatime", "noatime in the options of "+m.Dir, "relatime")
				x.Change = &Change{Mount: m.Dir, From: "relatime", To: "noatime"}
			default:
				continue
			}
			out = append(out, x)
		}
		return judged(out, n, "no filesystem on a disk is mounted")
	},
}

// asked reports whether somebody wants to measure on what is mounted.
func (f *Facts) asked(m Mount) bool {
	for _, d := range f.below(m.Device) {
		if d.Asked {
			return true
		}
	}
	return false
}
