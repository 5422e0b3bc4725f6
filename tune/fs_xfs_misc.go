package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

// xfsOptions are options of tuning pages, with what is true today
// (Documentation/admin-guide/xfs.rst).
var xfsOptions = []struct {
	option       string
	severity     farm.Severity
	verdict, why string
}{
	{"inode32", farm.Warning, "all inodes are kept in the first TiB: new files fail there with no space while there is plenty", "it is for programs of 32 bits that cannot read larger inode numbers; inode64 is the default since 3.7"},
	{"inode64", farm.Note, "inode64 is the default: it does nothing", "it has been so since kernel 3.7"},
	{"logbufs=8", farm.Note, "logbufs=8 is the default: it does nothing", "8 is also the most there can be"},
	{"logbsize=256k", farm.Note, "logbsize=256k helps work on metadata only", "a database writes few large files; its commits do not go through this buffer. It does no harm either"},
}

var fsXFSMisc = Rule{
	ID: "FS-XFS-MISC", Title: "XFS options of tuning pages", Reads: "/etc/fstab; /proc/mounts for inode32",
	Source: "kernel, xfs: mount options and their defaults",
	Except: "old programs of 32 bits; hosts that create and remove many small files",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, l := range f.Fstab {
			if l.Type != "xfs" {
				continue
			}
			n++
			for _, o := range xfsOptions {
				if _, ok := l.has(o.option); ok {
					out = append(out, Finding{Severity: o.severity, Subject: fmt.Sprintf("/etc/fstab:%d", l.Number), Read: fmt.Sprintf("%s xfs %s", l.Dir, strings.Join(l.Options, ",")),
						Verdict: o.verdict, Why: o.why, Fix: "take " + o.option + " out", Persist: "/etc/fstab is what lasts", Revert: "put it back"})
				}
			}
		}
		return judged(out, n, "no XFS in /etc/fstab")
	},
}
