package tune

import (
	"fmt"
	"strconv"

	"stowage/farm"
)

var blkAlign = Rule{
	ID: "BLK-ALIGN", Title: "alignment and sector size", Reads: "/sys/block/D/alignment_offset, D/Dn/start, nvme id-ns",
	Source: "kernel, sysfs-block (alignment_offset); partitioning programs align to 1 MiB since about 2010. That 4K namespaces are faster is vendors' and blogs' word: measure",
	Except: "volumes of a cloud",
	Prove:  "RND16K-W-Q8T4",
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, d := range f.storage() {
			_, err := strconv.Atoi(d.Offset)
			if l.see(d.Name); err != nil {
				l.lacks(d.Name, "its alignment", "cat /sys/block/"+d.Name+"/alignment_offset")
			}
			if err == nil && d.Offset != "0" {
				l.find(misaligned(d.Name, fmt.Sprintf("/sys/block/%s/alignment_offset: %s", d.Name, d.Offset)))
			}
			for _, p := range d.Parts {
				if l.see(p.Name); p.Start < 0 {
					l.lacks(p.Name, "where it begins", fmt.Sprintf("cat /sys/block/%s/%s/start", d.Name, p.Name))
				} else if p.Start%2048 != 0 {
					l.find(misaligned(p.Name, fmt.Sprintf("/sys/block/%s/%s/start: %d, no multiple of 2048 sectors (1 MiB)", d.Name, p.Name, p.Start)))
				}
			}
			if x, ok := betterFormat(d); ok {
				l.find(x)
			}
		}
		return l.outcome("no disk whose alignment can be read")
	},
}

func misaligned(subject, read string) Finding {
	return Finding{Severity: farm.Warning, Subject: subject, Read: read, Verdict: "writes cross the device's own blocks",
		Why: "each 16 KiB page touches one block more, and the two at its ends are read, changed and written back",
		Fix: "partition anew with a start at a multiple of 1 MiB; the data goes elsewhere meanwhile", Persist: "it is on the disk", Revert: "-"}
}

// betterFormat: a namespace with sectors of 512 bytes that could have larger
// ones, and says itself that they are faster.
func betterFormat(d Disk) (Finding, bool) {
	for _, now := range d.NVMe {
		for index, other := range d.NVMe {
			if now.InUse && now.Bytes == 512 && other.Bytes == 4096 && other.Performance < now.Performance {
				return Finding{Severity: farm.Note, Subject: d.Name,
					Read:    fmt.Sprintf("nvme id-ns: sectors of 512 bytes in use (relative performance %d), 4096 offered (%d; lower is better)", now.Performance, other.Performance),
					Verdict: "the drive says that it is faster with sectors of 4096 bytes",
					Why:     "its firmware keeps maps in units of 4096; InnoDB never writes less",
					Fix:     fmt.Sprintf("before the next use, empty: nvme format /dev/%s --lbaf=%d. DESTROYS ALL DATA", d.Name, index), Persist: "it is on the disk", Revert: "format back, empty again"}, true
			}
		}
	}
	return Finding{}, false
}
