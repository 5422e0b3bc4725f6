package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

// xfsGone are options that XFS refuses, with the kernel that removed them
// (Documentation/admin-guide/xfs.rst, "Removed Mount Options").
var xfsGone = []struct {
	options      []string
	major, minor int
}{
	{[]string{"barrier", "nobarrier"}, 4, 19},
	{[]string{"delaylog", "nodelaylog", "ihashsize", "irixsgid", "osyncisdsync", "osyncisosync"}, 4, 0},
}

var fsXFSGone = Rule{
	ID: "FS-XFS-GONE", Title: "mount options that XFS refuses", Reads: "/etc/fstab, not only what is mounted now",
	Source: "kernel, xfs: removed mount options (delaylog and others in 4.0, barrier and nobarrier in 4.19); measured on 6.18: the mount fails, dmesg says: xfs: Unknown parameter 'nobarrier'",
	Except: "kernels before 4.19, or 4.0",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, l := range f.Fstab {
			if l.Type != "xfs" {
				continue
			}
			n++
			for _, g := range xfsGone {
				option, ok := l.has(g.options...)
				if !ok || f.Kernel.Known() && !f.Kernel.AtLeast(g.major, g.minor, 0) {
					continue
				}
				rest := without(l.Options, option)
				out = append(out, Finding{Severity: farm.Blocker, Subject: fmt.Sprintf("/etc/fstab:%d", l.Number),
					Read:    fmt.Sprintf("%s %s xfs %s; kernel %s", l.Device, l.Dir, strings.Join(l.Options, ","), f.Kernel.Text),
					Verdict: fmt.Sprintf("%s will not be mounted after the next restart: XFS refuses %s", l.Dir, option),
					Why:     fmt.Sprintf("kernel %d.%d removed the option, and an unknown option is an error. Pages that recommend it are still read today; nobarrier never made sense where a flush is cheap, and lost data where it was not", g.major, g.minor),
					Fix:     fmt.Sprintf("/etc/fstab, line %d: write %s instead of %s", l.Number, rest, strings.Join(l.Options, ",")),
					Persist: "/etc/fstab is what lasts", Revert: "put the option back"})
			}
		}
		return judged(out, n, "no XFS in /etc/fstab")
	},
}

// without is a list of options without one, never empty.
func without(options []string, gone string) string {
	var rest []string
	for _, o := range options {
		if o != gone {
			rest = append(rest, o)
		}
	}
	if len(rest) == 0 {
		return "defaults"
	}
	return strings.Join(rest, ",")
}
