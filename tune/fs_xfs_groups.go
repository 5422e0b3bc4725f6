package tune

import (
	"fmt"

	"stowage/farm"
)

var fsXFSGroups = Rule{
	ID: "FS-XFS-AG", Title: "XFS allocation groups", Reads: "xfs_info agcount",
	Source: "mkfs.xfs(8): the number is scaled by itself; RHEL 6, Performance tuning: the default is optimal for most workloads",
	Except: "filesystems that were grown: their groups keep the size of before",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, fs := range f.Filesystems {
			if fs.Type != "xfs" || fs.Groups == 0 {
				continue
			}
			n++
			x := Finding{Subject: fs.Dir, Read: fmt.Sprintf("xfs_info: agcount=%d on %s", fs.Groups, bytes(fs.Size)), Persist: "it is in the superblock", Revert: "-"}
			switch {
			case fs.Groups > 1000:
				x.Severity = farm.Warning
				x.Verdict = "grown from something small: a search for space goes through many small groups"
				x.Why = "groups keep the size they were made with; mounting reads all of them, and large files are cut at their borders"
				x.Fix = "make it anew when the machine is emptied the next time"
			case fs.Size > 0 && fs.Size < 4<<40 && fs.Stripe == 0 && fs.Groups != 4:
				x.Severity = farm.Note
				x.Verdict = "agcount was chosen by hand, or the filesystem was grown: the default would be 4"
				x.Why = "old advice sets agcount to the number of processors. Four groups carry a database's few large files as well, and on a spinning disk more of them means more movement"
				x.Fix = "leave agcount out the next time; nothing needs to be done now"
			default:
				continue
			}
			out = append(out, x)
		}
		return judged(out, n, "no XFS whose geometry is known")
	},
}
